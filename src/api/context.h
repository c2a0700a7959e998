#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/api_server.h"
#include "api/live_requests.h"
#include "api/options.h"
#include "base/json.h"
#include "base/random.h"
#include "base/result.h"

namespace weir {

/// What all routes share; one per ApiServer, kept alive by requests in flight. `options` and
/// `parts` are immutable; the rest belongs to the IO thread.
struct ApiContext {
    ApiOptions options;
    ApiParts parts;
    int32_t token_bytes_max = 1;  // Longest token of the vocabulary.

    Random ids{0};
    int64_t num_generations = 0;
    LiveRequests live;                  // Only filled in dev mode.
    std::atomic<bool> sleeping{false};  // Dev route /sleep.
    mutable std::atomic<bool> warned_ignored{
        false};  // One warning about ignored fields per process.

    /// 16 hexadecimal digits. IO thread.
    std::string random_id();
    const std::string& model_name() const { return options.served_model_names.front(); }
};

/// kModelNotFound unless `model` of the body is a served name, missing, or "".
Result<void> check_model(const Json& body, const ApiOptions& options);

/// One HTTP request on its way through the routes.
struct Exchange {
    HttpRequest request;
    std::shared_ptr<HttpResponder> responder;
    std::string_view route;  // Template, static.
};

}  // namespace weir
