#include "api/api_server.h"

#include <algorithm>
#include <utility>

#include "api/context.h"
#include "api/cors.h"
#include "api/dev_routes.h"
#include "api/errors.h"
#include "api/generation_routes.h"
#include "api/info_routes.h"
#include "api/response_shell.h"
#include "api/routes.h"
#include "base/check.h"
#include "base/text.h"
#include "os/clock.h"

namespace weir {

struct ApiServer::Impl {
    Impl(ApiOptions options, ApiParts parts);

    std::shared_ptr<ResponseShell> wrap(const HttpRequest& request,
                                        std::shared_ptr<HttpResponder> responder,
                                        std::string_view handler, bool counted);
    /// The route of this path that takes the method; null with `allow` filled: a wrong method.
    const RouteSpec* find_route(std::string_view path, std::string_view method,
                                std::string& allow) const;
    void dispatch(const RouteSpec& route, Exchange exchange);
    HttpResponse answer_now(RouteId route);

    std::shared_ptr<ApiContext> context;
    Cors cors;
    std::string openapi, docs;  // Rendered on first use.
};

namespace {

bool takes_method(std::string_view methods, std::string_view method) {
    if (methods.empty()) return true;
    const auto words = split(methods, ' ');
    return std::ranges::find(words, method) != words.end();
}

/// "GET POST" to "GET, POST".
std::string join_words(std::string_view words) {
    std::string text;
    for (const std::string_view word : split(words, ' ')) {
        if (!text.empty()) text += ", ";
        text += word;
    }
    return text;
}

/// A static name for the metrics' label: clients may send any word.
std::string_view known_method(std::string_view method) {
    for (const char* known : {"GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"}) {
        if (method == known) return known;
    }
    return "other";
}

std::shared_ptr<ApiContext> make_context(ApiOptions options, ApiParts parts) {
    CHECK(parts.engine && parts.tokenizer && parts.offload && parts.post);
    CHECK(!options.served_model_names.empty());
    std::erase(options.api_keys, "");
    auto context = std::make_shared<ApiContext>();
    context->ids = Random(parts.id_seed);
    size_t longest = 1;
    for (TokenId id = 0; id < parts.tokenizer->vocab_size(); ++id) {
        longest = std::max(longest, parts.tokenizer->token_bytes(id).size());
    }
    context->token_bytes_max = static_cast<int32_t>(longest);
    context->options = std::move(options);
    context->parts = std::move(parts);
    return context;
}

HttpResponse html_response(std::string_view text) {
    return {200, {{"Content-Type", "text/html; charset=utf-8"}}, std::string(text)};
}

}  // namespace

ApiServer::Impl::Impl(ApiOptions options, ApiParts parts)
    : context(make_context(std::move(options), std::move(parts))), cors(context->options) {}

std::shared_ptr<ResponseShell> ApiServer::Impl::wrap(const HttpRequest& request,
                                                     std::shared_ptr<HttpResponder> responder,
                                                     std::string_view handler, bool counted) {
    ResponseShell::Facts facts;
    facts.headers = cors.headers(request);
    if (context->options.enable_request_id_headers) {
        const std::string* given = request.header("x-request-id");
        facts.headers.emplace_back("X-Request-Id",
                                   given ? *given : context->random_id() + context->random_id());
    }
    facts.observation.handler = handler;
    facts.observation.method = known_method(request.method);
    facts.observation.counted = counted;
    facts.observation.request_bytes = static_cast<int64_t>(request.body.size());
    facts.begin_us = request.received_us > 0 ? request.received_us : monotonic_us();
    facts.observe = context->parts.observe_http;
    auto shell = std::make_shared<ResponseShell>(std::move(responder), std::move(facts));
    shell->listen();
    return shell;
}

const RouteSpec* ApiServer::Impl::find_route(std::string_view path, std::string_view method,
                                             std::string& allow) const {
    for (const RouteSpec& route : route_specs()) {
        if (route.path != path) continue;
        if (!route_exists(route, context->options, !context->parts.chat_page.empty())) continue;
        if (takes_method(route.methods, method)) return &route;
        allow = join_words(route.methods);
    }
    return nullptr;
}

/// Routes that are answered at once.
HttpResponse ApiServer::Impl::answer_now(RouteId route) {
    const ApiOptions& options = context->options;
    const ApiParts& parts = context->parts;
    switch (route) {
        case RouteId::kModels:
            return json_response(200, models_json(options, wall_seconds(), context->random_id()));
        case RouteId::kHealth:
        case RouteId::kPing: return {parts.engine->healthy() ? 200 : 503, {}, ""};
        case RouteId::kLive: return {200, {}, ""};
        case RouteId::kVersion: {
            std::string body = "{\"version\":";
            append_json_string(body, options.version);
            return json_response(200, body + "}");
        }
        case RouteId::kLoad: {
            const bool tracked = options.enable_server_load_tracking;
            return json_response(
                200, concat("{\"server_load\":", tracked ? context->num_generations : 0, "}"));
        }
        case RouteId::kMetrics:
            return {200,
                    {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
                    parts.metrics ? parts.metrics() : ""};
        case RouteId::kOpenapi:
            if (openapi.empty()) openapi = openapi_json(options);
            return json_response(200, openapi);
        case RouteId::kDocs:
            if (docs.empty()) docs = docs_html(options);
            return html_response(docs);
        case RouteId::kPage: return html_response(parts.chat_page);
        default: CHECK(false);
    }
}

void ApiServer::Impl::dispatch(const RouteSpec& route, Exchange exchange) {
    switch (route.id) {
        case RouteId::kCompletions: handle_completions(context, std::move(exchange)); return;
        case RouteId::kChat: handle_chat(context, std::move(exchange)); return;
        case RouteId::kTokenize:
            answer_offloaded(context, std::move(exchange), &answer_tokenize);
            return;
        case RouteId::kDetokenize:
            answer_offloaded(context, std::move(exchange), &answer_detokenize);
            return;
        default: break;
    }
    if (route.when == RouteWhen::kDev) {
        handle_dev(context, route.id, std::move(exchange));
    } else {
        exchange.responder->send(answer_now(route.id));
    }
}

ApiServer::ApiServer(ApiOptions options, ApiParts parts)
    : impl_(std::make_shared<Impl>(std::move(options), std::move(parts))) {}

ApiServer::~ApiServer() = default;

int64_t ApiServer::num_generations() const { return impl_->context->num_generations; }

// The order is vLLM's: key, cross-origin rules, route (reference 4.4).
void ApiServer::handle(HttpRequest&& request, std::shared_ptr<HttpResponder> responder) {
    const ApiOptions& options = impl_->context->options;
    const std::string_view path = strip_root(request.path, options.root_path);
    const bool open = options.api_keys.empty() || request.method == "OPTIONS" || !is_guarded(path);
    if (!open && !has_key(request.header("authorization"), options.api_keys)) {
        responder->send(json_response(401, "{\"error\":\"Unauthorized\"}"));
        return;
    }
    if (auto preflight = impl_->cors.preflight(request)) {
        responder->send(std::move(*preflight));
        return;
    }
    std::string allow;
    const RouteSpec* route = impl_->find_route(path, request.method, allow);
    const bool counted = !route || route->counted;
    auto shell = impl_->wrap(request, std::move(responder),
                             route ? route->path : std::string_view("none"), counted);
    if (!route) {
        HttpResponse refusal = allow.empty() ? detail_response(404, "Not Found")
                                             : detail_response(405, "Method Not Allowed");
        if (!allow.empty()) refusal.headers.emplace_back("Allow", allow);
        shell->send(std::move(refusal));
        return;
    }
    impl_->dispatch(*route, {std::move(request), std::move(shell), route->path});
}

}  // namespace weir
