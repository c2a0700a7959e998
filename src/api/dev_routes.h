#pragma once

#include <memory>

#include "api/context.h"
#include "api/routes.h"

namespace weir {

/// The routes of VLLM_SERVER_DEV_MODE=1 (reference 5.13). They wait for the engine thread, so they
/// run on the front-end pool.
void handle_dev(const std::shared_ptr<ApiContext>& context, RouteId route, Exchange exchange);

}  // namespace weir
