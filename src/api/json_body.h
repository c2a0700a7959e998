#pragma once

#include <tl/expected.hpp>

#include "base/json.h"
#include "net/http_server.h"

namespace weir {

/// The body of a request as JSON, or the answer that says why it is none (reference 4.4, 5.2):
/// wrong content type, an encoding (415), bytes that are not UTF-8, JSON that does not parse, or
/// nothing. Any thread.
tl::expected<Json, HttpResponse> read_json_body(const HttpRequest& request);

}  // namespace weir
