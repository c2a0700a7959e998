#include "api/chat_prompt.h"

#include <ctime>

#include "api/chat_messages.h"
#include "api/fields.h"
#include "base/text.h"
#include "os/clock.h"

namespace weir {

namespace {

std::string today(int64_t unix_seconds) {
    const auto time = static_cast<std::time_t>(unix_seconds);
    std::tm parts{};
    gmtime_r(&time, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%d %b %Y", &parts)};
}

void merge(Json& into, const Json* members) {
    if (!members || !members->is_object()) return;
    for (const JsonMember& member : members->members()) into.set(member.name, member.value);
}

/// Server defaults, then the request's, then what reasoning_effort implies.
Json template_kwargs(const Json& body, const ApiOptions& options) {
    Json kwargs = Json::object();
    merge(kwargs, &options.default_chat_template_kwargs);
    if (const std::string* effort = string_field(body, "reasoning_effort")) {
        kwargs.set("reasoning_effort", Json(*effort));
        kwargs.set("enable_thinking", Json(*effort != "none"));
    }
    merge(kwargs, body.find("chat_template_kwargs"));
    return kwargs;
}

Json copy_or_null(const Json* value) { return value ? *value : Json(); }

/// The request's own template if it may have one, else the model's.
Result<const ChatTemplate*> choose_template(const Json& body, const ApiContext& context,
                                            std::unique_ptr<ChatTemplate>& own) {
    if (const std::string* source = string_field(body, "chat_template")) {
        if (!context.options.trust_request_chat_template) {
            return fail(
                ErrorCode::kBadRequest,
                "Chat template is passed with request, but --trust-request-chat-template is "
                "not set. Refused request with untrusted chat template.");
        }
        TRY(own, parse_chat_template(*source));
        return own.get();
    }
    if (!context.parts.chat_template) {
        return fail(
            ErrorCode::kBadRequest,
            "this model has no chat template: start the server with --chat-template FILE, or "
            "use /v1/completions");
    }
    return context.parts.chat_template;
}

std::string content_text(const Json& content) {
    if (content.is_string()) return content.as_string();
    std::string text;
    for (const Json& part : content.items()) text += part["text"].as_string();
    return text;
}

}  // namespace

Result<ChatPrompt> render_chat(const Json& body, const ApiContext& context) {
    const ApiOptions& options = context.options;
    const bool prompt_wanted = bool_field(body, "add_generation_prompt", true);
    const bool continued = bool_field(body, "continue_final_message", false);
    if (prompt_wanted && continued) {
        return fail(
            ErrorCode::kBadRequest,
            "continue_final_message and add_generation_prompt are not compatible. Use "
            "continue_final_message when you want the model to continue the final message, "
            "and add_generation_prompt when you want to add a header that will prompt it to "
            "start a new assistant message instead.");
    }
    std::unique_ptr<ChatTemplate> own;
    TRY(const ChatTemplate* chosen, choose_template(body, context, own));
    MessageOptions shape;
    shape.model_name = context.model_name();
    shape.knows_developer = chosen->mentions("developer");
    shape.content_parts = options.chat_template_content_format == ContentFormat::kAuto
                              ? chosen->wants_content_parts()
                              : options.chat_template_content_format == ContentFormat::kOpenai;
    ChatRenderInput input;
    TRY(input.messages, normalise_messages(body["messages"], shape));
    if (input.messages.size() == 0) {
        return fail(ErrorCode::kBadRequest,
                    "Cannot apply chat template to an empty conversation. "
                    "Provide at least one message.");
    }
    input.tools = copy_or_null(body.find("tools"));
    input.documents = copy_or_null(body.find("documents"));
    input.add_generation_prompt = prompt_wanted;
    input.continue_final_message = continued;
    input.kwargs = template_kwargs(body, options);
    input.bos_token = options.bos_token;
    input.eos_token = options.eos_token;
    input.now_unix = wall_seconds();
    input.date_string = today(input.now_unix);

    ChatPrompt prompt;
    const Json& last = input.messages.items().back();
    prompt.last_role = last["role"].as_string();
    prompt.last_text = content_text(last["content"]);
    TRY(const std::vector<TextSegment> segments, chosen->render(input));
    for (const TextSegment& segment : segments) prompt.text += segment.text;
    EncodeOptions encoding;
    encoding.add_special_tokens = bool_field(body, "add_special_tokens", false);
    prompt.ids = context.parts.tokenizer->encode_segments(segments, encoding);
    if (prompt.ids.empty()) {
        return fail(ErrorCode::kBadRequest, "The decoder prompt cannot be empty");
    }
    return prompt;
}

}  // namespace weir
