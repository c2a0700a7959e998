#pragma once

#include <functional>

#include "api/api_server.h"
#include "net/http_server.h"

namespace weir {

/// The `endpoint-load-metrics` header if the request asks for it by `endpoint-load-metrics-format:
/// TEXT` or JSON (reference 3.4), else nothing.
HttpHeaders orca_headers(const HttpRequest& request, const std::function<EngineLoad()>& load);

}  // namespace weir
