#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/options.h"
#include "engine/engine_client.h"
#include "net/http_server.h"
#include "os/log.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace weir {

/// One answered HTTP request, for the http_* metrics (reference 3.4).
struct HttpObservation {
    std::string_view handler;  // Route template; "none" when unmatched.
    std::string_view method;
    int status = 0;
    bool counted = true;  // False for /metrics, /health and the like.
    int64_t duration_us = 0;
    int64_t request_bytes = 0;
    int64_t response_bytes = 0;  // 0 for streams: no declared length.
};

/// One finished API request, for the log: no content.
struct RequestSummary {
    std::string_view id;
    std::string_view route;
    bool stream = false;
    int32_t num_prompts = 1;
    int32_t n = 1;
    int64_t prompt_tokens = 0;
    int64_t cached_tokens = 0;
    int64_t completion_tokens = 0;
    int32_t num_preemptions = 0;
    int64_t queue_us = 0;    // Arrival to first scheduling.
    int64_t prefill_us = 0;  // First scheduling to first token.
    int64_t decode_us = 0;   // First to last token.
    int64_t total_us = 0;
    std::string_view reason;  // Finish reason; "abort" when the client has gone.
};

/// What the ORCA header and /load-like answers show.
struct EngineLoad {
    double kv_cache_usage = 0;
    int64_t num_waiting = 0;
};

/// The objects and functions the front end works with. All outlive it. Functions may be empty where
/// "optional" is said.
struct ApiParts {
    EngineClient* engine = nullptr;
    const Tokenizer* tokenizer = nullptr;
    const ChatTemplate* chat_template = nullptr;  // Null: the model has none.
    /// Runs work on the front-end pool; false if its queue is full (the request gets a 503).
    std::function<bool(std::function<void()>)> offload;
    /// Runs work on the IO thread; from any thread.
    std::function<void(std::function<void()>)> post;
    /// HttpServer::after.
    std::function<std::shared_ptr<void>(std::chrono::milliseconds, std::function<void()>)> after;
    std::function<std::string()> metrics;                        // Exposition text.
    std::function<EngineLoad()> load;                            // Optional.
    std::function<void(const HttpObservation&)> observe_http;    // Optional.
    std::function<void(const RequestSummary&)> observe_request;  // Optional.
    std::function<std::string(bool as_json)> server_info;        // Optional; dev route.
    Logger* log = nullptr;                                       // Optional.
    std::string_view chat_page;                                  // HTML of "/"; empty: 404.
    uint64_t id_seed = 0;  // Seeds the ids of answers; random in production.
};

/// Wire JSON to requests and back: all routes. handle() and everything it starts run on the IO
/// thread, but for parsing, rendering and tokenising, which go through `offload`.
class ApiServer {
 public:
    ApiServer(ApiOptions options, ApiParts parts);
    ~ApiServer();
    ApiServer(const ApiServer&) = delete;
    ApiServer& operator=(const ApiServer&) = delete;

    /// The HttpServer's handler.
    void handle(HttpRequest&& request, std::shared_ptr<HttpResponder> responder);
    /// API requests (generations) that have not been answered in full.
    int64_t num_generations() const;

    struct Impl;

 private:
    std::shared_ptr<Impl> impl_;
};

/// The OpenAPI document of all routes, from routes.def and fields.def; for /openapi.json and `weir
/// docs`.
std::string openapi_json(const ApiOptions& options);
/// A readable page of the same without outside files.
std::string docs_html(const ApiOptions& options);
/// Routes and fields as Markdown tables, for docs/reference.
std::string api_reference_markdown();

}  // namespace weir
