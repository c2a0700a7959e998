#include "api/dev_routes.h"

#include <optional>
#include <utility>

#include "api/errors.h"
#include "api/json_body.h"
#include "base/text.h"

namespace weir {

namespace {

bool is_true(std::string_view word) { return word == "true" || word == "True" || word == "1"; }

/// mode=abort ends everything, wait lets what runs finish, keep freezes it.
Result<void> pause(EngineClient& engine, std::string_view mode, bool clear_cache) {
    if (mode != "abort" && mode != "wait" && mode != "keep" && !mode.empty()) {
        return tl::unexpected(parameter_error(
            "mode", concat("mode must be abort, wait or keep, got '", shorten(mode, 40), "'.")));
    }
    engine.set_pause(mode == "keep" ? PauseState::kPausedAll : PauseState::kPausedNew);
    if (mode == "abort" || mode.empty()) engine.abort_requests({});
    if (clear_cache) engine.reset_prefix_cache(false);
    return {};
}

HttpResponse answer_sleep(const HttpRequest& request, ApiContext& context) {
    const std::string_view level = query_value(request.query, "level");
    if (!level.empty() && level != "0" && level != "1" && level != "2") {
        return error_response(parameter_error("level", "level must be 0, 1 or 2."));
    }
    const auto done = pause(*context.parts.engine, query_value(request.query, "mode"), true);
    if (!done) return error_response(done.error());
    context.sleeping = true;
    return json_response(
        200, concat("{\"status\":\"sleeping\",\"level\":", level.empty() ? "1" : level, "}"));
}

HttpResponse answer_pause(const HttpRequest& request, ApiContext& context) {
    const std::string_view clear = query_value(request.query, "clear_cache");
    const auto done = pause(*context.parts.engine, query_value(request.query, "mode"),
                            clear.empty() || is_true(clear));
    if (!done) return error_response(done.error());
    return json_response(200, "{\"status\":\"paused\"}");
}

/// The engine ids of {"request_ids": [...]}; nothing if the list is missing or empty, which means
/// all.
tl::expected<std::optional<std::vector<RequestId>>, HttpResponse> named_requests(
    const HttpRequest& request, const LiveRequests& live) {
    if (request.body.empty()) return std::nullopt;
    const auto body = read_json_body(request);
    if (!body) return tl::unexpected(body.error());
    const Json* names = body->find("request_ids");
    if (!names || !names->is_array() || names->size() == 0) return std::nullopt;
    std::vector<RequestId> ids;
    for (const Json& name : names->items()) {
        if (name.is_string()) live.append_ids(name.as_string(), ids);
    }
    return ids;
}

HttpResponse answer_abort(const std::optional<std::vector<RequestId>>& ids, EngineClient& engine) {
    int64_t count = 0;
    if (!ids) {
        count = engine.abort_requests({});
    } else if (!ids->empty()) {
        count = engine.abort_requests(*ids);
    }
    return json_response(200, concat("{\"status\":\"aborted\",\"aborted\":", count, "}"));
}

HttpResponse answer_info(const HttpRequest& request, ApiContext& context) {
    if (!context.parts.server_info) return detail_response(404, "Not Found");
    const bool as_json = query_value(request.query, "config_format") == "json";
    return json_response(200, context.parts.server_info(as_json));
}

HttpResponse answer_dev(RouteId route, const HttpRequest& request, ApiContext& context) {
    EngineClient& engine = *context.parts.engine;
    const auto truth = [](bool value) { return value ? "true" : "false"; };
    switch (route) {
        case RouteId::kResetPrefixCache: {
            const bool running = is_true(query_value(request.query, "reset_running_requests"));
            return json_response(
                200, concat("{\"success\":", truth(engine.reset_prefix_cache(running)), "}"));
        }
        case RouteId::kPause: return answer_pause(request, context);
        case RouteId::kSleep: return answer_sleep(request, context);
        case RouteId::kResume:
            engine.set_pause(PauseState::kRunning);
            return json_response(200, "{\"status\":\"resumed\"}");
        case RouteId::kWakeUp:
            engine.set_pause(PauseState::kRunning);
            context.sleeping = false;
            return json_response(200, "{\"status\":\"awake\",\"tags\":null}");
        case RouteId::kIsPaused: {
            const bool paused = engine.pause() != PauseState::kRunning;
            return json_response(200, concat("{\"is_paused\":", truth(paused), "}"));
        }
        case RouteId::kIsSleeping:
            return json_response(200, concat("{\"is_sleeping\":", truth(context.sleeping), "}"));
        case RouteId::kServerInfo: return answer_info(request, context);
        default: return {};  // Caches that weir does not have: 200, empty.
    }
}

void offload(const std::shared_ptr<ApiContext>& context,
             const std::shared_ptr<HttpResponder>& responder, std::function<HttpResponse()> work) {
    const bool taken = context->parts.offload([context, responder, work = std::move(work)] {
        auto answer = std::make_shared<HttpResponse>(work());
        context->parts.post([responder, answer] { responder->send(std::move(*answer)); });
    });
    if (!taken) responder->send(error_response({ErrorCode::kQueueFull, "busy", ""}));
}

}  // namespace

void handle_dev(const std::shared_ptr<ApiContext>& context, RouteId route, Exchange exchange) {
    if (route == RouteId::kAbortRequests) {
        auto ids = named_requests(exchange.request, context->live);
        if (!ids) {
            exchange.responder->send(std::move(ids.error()));
            return;
        }
        offload(context, exchange.responder, [context, wanted = std::move(*ids)] {
            return answer_abort(wanted, *context->parts.engine);
        });
        return;
    }
    const auto request = std::make_shared<HttpRequest>(std::move(exchange.request));
    offload(context, exchange.responder,
            [context, request, route] { return answer_dev(route, *request, *context); });
}

}  // namespace weir
