#include "api/generation_routes.h"

#include <charconv>
#include <utility>

#include "api/answer_format.h"
#include "api/chat_messages.h"
#include "api/chat_prompt.h"
#include "api/errors.h"
#include "api/fields.h"
#include "api/generation.h"
#include "api/json_body.h"
#include "api/prompts.h"
#include "base/text.h"
#include "os/clock.h"

namespace weir {

namespace {

using Refusal = tl::unexpected<HttpResponse>;
using JobResult = tl::expected<GenerationJob, HttpResponse>;

constexpr const char* kPoolFull = "The front end is overloaded; try again later.";

Refusal refuse(const Error& error) { return Refusal(error_response(error)); }

/// The request's header beats its body (reference 4.4).
void read_headers(const HttpRequest& request, RequestShape& shape) {
    if (const std::string* id = request.header("x-request-id"); id && !id->empty()) {
        shape.request_id = *id;
    }
    if (const std::string* text = request.header("x-vllm-priority")) {
        int64_t value = 0;
        const char* end = text->data() + text->size();
        const auto parsed = std::from_chars(text->data(), end, value);
        if (parsed.ec == std::errc() && parsed.ptr == end) shape.priority = value;
    }
}

int32_t longest_prompt(const std::vector<PromptInput>& prompts) {
    size_t longest = 0;
    for (const PromptInput& prompt : prompts) longest = std::max(longest, prompt.ids.size());
    return static_cast<int32_t>(longest);
}

/// Length, max_tokens and the sampling fields: the last checks (reference 5.2).
Result<void> finish_job(const Json& body, const ApiContext& context, GenerationJob& job) {
    const ApiOptions& options = context.options;
    TRY(const int32_t least,
        effective_max_tokens(body, job.shape, options, longest_prompt(job.prompts)));
    TRY(job.params, read_sampling(body, job.shape, options, *context.parts.tokenizer, least));
    for (const PromptInput& prompt : job.prompts) {
        TRY(const int32_t fits, effective_max_tokens(body, job.shape, options,
                                                     static_cast<int32_t>(prompt.ids.size())));
        job.max_tokens.push_back(fits);
    }
    job.prompt_only = least == 0;
    return {};
}

/// Schema, names and limits of both routes, in vLLM's order; then the queue, before anything is
/// rendered.
Result<GenerationJob> begin_job(Json& body, const HttpRequest& request, bool is_chat,
                                const ApiContext& context) {
    std::vector<std::string_view> warned;
    TRY_VOID(check_fields(body, is_chat ? FieldRoute::kX : FieldRoute::kC, context.options.limits,
                          warned));
    if (!warned.empty() && context.parts.log && !context.warned_ignored.exchange(true)) {
        context.parts.log->warning(concat("field ", warned.front(), " is ignored; ",
                                          find_field(warned.front(), ~0U)->doc));
    }
    GenerationJob job;
    job.arrival_us = request.received_us > 0 ? request.received_us : monotonic_us();
    job.arrival_wall_us = wall_us();
    job.created = wall_seconds();
    if (is_chat && !body.find("messages")) {
        return tl::unexpected(
            schema_error({{"body.messages", "Field required", show_input(body)}}));
    }
    TRY(job.shape, read_shape(body, is_chat, context.options));
    if (is_chat) {
        TRY_VOID(check_tools(body));
    }
    read_headers(request, job.shape);
    TRY_VOID(check_model(body, context.options));
    TRY_VOID(context.parts.engine->check_admission(job.shape.n));
    return job;
}

Result<GenerationJob> completion_job(Json& body, const HttpRequest& request,
                                     const ApiContext& context) {
    TRY(GenerationJob job, begin_job(body, request, false, context));
    if (body.find("suffix")) {
        Error error = {ErrorCode::kBadRequest,
                       "suffix is only supported for models with FIM completion rendering",
                       "suffix"};
        return tl::unexpected(std::move(error));
    }
    TRY(job.prompts, read_prompts(body, context.options, *context.parts.tokenizer,
                                  context.token_bytes_max, job.shape.echo));
    TRY_VOID(finish_job(body, context, job));
    return job;
}

Result<GenerationJob> chat_job(Json& body, const HttpRequest& request, const ApiContext& context) {
    TRY(GenerationJob job, begin_job(body, request, true, context));
    TRY(ChatPrompt prompt, render_chat(body, context));
    TRY_VOID(truncate_prompt(body, context.options, prompt.ids));
    const bool own_turn = bool_field(body, "add_generation_prompt", true);
    job.role = own_turn ? context.options.response_role : prompt.last_role;
    if (job.shape.echo && prompt.last_role == job.role) job.echo_text = std::move(prompt.last_text);
    job.want_prompt_text = bool_field(body, "return_prompt_text", false);
    if (job.want_prompt_text) job.prompt_text = std::move(prompt.text);
    job.prompts.push_back({std::move(prompt.ids), ""});
    TRY_VOID(finish_job(body, context, job));
    return job;
}

JobResult read_job(const HttpRequest& request, bool is_chat, const ApiContext& context) {
    auto body = read_json_body(request);
    if (!body) return Refusal(std::move(body.error()));
    Result<GenerationJob> job =
        is_chat ? chat_job(*body, request, context) : completion_job(*body, request, context);
    if (!job) return refuse(job.error());
    return std::move(*job);
}

void start_generation(const std::shared_ptr<ApiContext>& context, Exchange exchange,
                      JobResult result, bool is_chat) {
    if (!result) {
        exchange.responder->send(std::move(result.error()));
        return;
    }
    if (exchange.responder->closed()) return;  // Gone while its prompt was rendered.
    GenerationJob& job = *result;
    const std::string& tail = job.shape.request_id;
    job.id = (is_chat ? "chatcmpl-" : "cmpl-") + (tail.empty() ? context->random_id() : tail);
    std::make_shared<Generation>(context, std::move(exchange), std::move(job),
                                 is_chat ? &make_chat_format : &make_completion_format)
        ->start();
}

void handle_generation(const std::shared_ptr<ApiContext>& context, Exchange exchange,
                       bool is_chat) {
    const auto responder = exchange.responder;
    auto shared = std::make_shared<Exchange>(std::move(exchange));
    const bool taken = context->parts.offload([context, shared, is_chat] {
        auto result = std::make_shared<JobResult>(read_job(shared->request, is_chat, *context));
        shared->request.body = std::string();
        context->parts.post([context, shared, result, is_chat] {
            start_generation(context, std::move(*shared), std::move(*result), is_chat);
        });
    });
    if (!taken) responder->send(error_response({ErrorCode::kQueueFull, kPoolFull, ""}));
}

}  // namespace

void handle_completions(const std::shared_ptr<ApiContext>& context, Exchange exchange) {
    handle_generation(context, std::move(exchange), false);
}

void handle_chat(const std::shared_ptr<ApiContext>& context, Exchange exchange) {
    handle_generation(context, std::move(exchange), true);
}

void answer_offloaded(const std::shared_ptr<ApiContext>& context, Exchange exchange,
                      HttpResponse (*work)(const HttpRequest&, const ApiContext&)) {
    const auto responder = exchange.responder;
    auto shared = std::make_shared<Exchange>(std::move(exchange));
    const bool taken = context->parts.offload([context, shared, work] {
        auto response = std::make_shared<HttpResponse>(work(shared->request, *context));
        context->parts.post([shared, response] { shared->responder->send(std::move(*response)); });
    });
    if (!taken) responder->send(error_response({ErrorCode::kQueueFull, kPoolFull, ""}));
}

}  // namespace weir
