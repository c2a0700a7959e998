#include <algorithm>

#include "api/errors.h"
#include "api/fields.h"
#include "api/sampling_fields.h"
#include "base/text.h"

namespace weir {

namespace {

constexpr int64_t kSaltCharactersMax = 128;

/// max_logprobs as a bound; -1: none.
Result<void> check_logprobs_count(std::string_view name, int64_t count, const ApiOptions& options,
                                  std::string_view what) {
    if (count < -1) {
        return tl::unexpected(parameter_error(
            name, concat("`", name, "` must be a positive value or -1."), concat(count)));
    }
    const bool all = count == -1;
    if (options.max_logprobs >= 0 && (all || count > options.max_logprobs)) {
        const std::string shown = all ? "-1 (the whole vocabulary)" : concat(count);
        return tl::unexpected(
            parameter_error(name,
                            concat("Requested ", what, " of ", shown,
                                   ", which is greater than max allowed: ", options.max_logprobs),
                            concat(count)));
    }
    return {};
}

Result<void> read_stream_options(const Json& body, const ApiOptions& options, RequestShape& shape) {
    shape.stream = bool_field(body, "stream", false);
    const Json* wishes = body.find("stream_options");
    if (wishes && !shape.stream) {
        return tl::unexpected(parameter_error(
            "stream_options", "Stream options can only be defined when `stream=True`."));
    }
    const auto wish = [&](std::string_view name) -> Result<bool> {
        const Json* value = wishes ? wishes->find(name) : nullptr;
        if (!value || value->is_null()) return false;
        if (value->is_bool()) return value->as_bool();
        return tl::unexpected(
            schema_error({{concat("body.stream_options.", name), "Input should be a valid boolean",
                           show_input(*value)}}));
    };
    TRY(shape.include_usage, wish("include_usage"));
    TRY(const bool continuous, wish("continuous_usage_stats"));
    shape.continuous_usage = shape.include_usage && continuous;
    if (options.enable_force_include_usage) shape.include_usage = shape.continuous_usage = true;
    shape.stream_interval = options.stream_interval;
    if (const auto interval = int_field(body, "stream_interval")) {
        if (*interval < 1) {
            return tl::unexpected(
                parameter_error("stream_interval",
                                concat("stream_interval must be at least 1, got ", *interval, "."),
                                concat(*interval)));
        }
        const int64_t sane = std::min<int64_t>(*interval, INT32_MAX);
        shape.stream_interval = std::max(shape.stream_interval, static_cast<int32_t>(sane));
    }
    return {};
}

Result<void> read_logprobs(const Json& body, const ApiOptions& options, RequestShape& shape) {
    if (const auto count = int_field(body, "prompt_logprobs")) {
        if (shape.stream && (*count > 0 || *count == -1)) {
            return tl::unexpected(parameter_error(
                "prompt_logprobs", "`prompt_logprobs` are not available when `stream=True`."));
        }
        TRY_VOID(check_logprobs_count("prompt_logprobs", *count, options, "prompt logprobs"));
        shape.prompt_logprobs = static_cast<int32_t>(*count);
    }
    if (!shape.is_chat) {
        const auto count = int_field(body, "logprobs");
        if (count) {
            TRY_VOID(check_logprobs_count("logprobs", *count, options, "sample logprobs"));
            shape.logprobs = static_cast<int32_t>(*count);
        }
        return {};
    }
    const bool wanted = bool_field(body, "logprobs", false);
    const int64_t top = int_field(body, "top_logprobs").value_or(0);
    if (top != 0 && !wanted) {
        return tl::unexpected(parameter_error(
            "top_logprobs", "when using `top_logprobs`, `logprobs` must be set to true."));
    }
    TRY_VOID(check_logprobs_count("top_logprobs", top, options, "sample logprobs"));
    if (wanted) shape.logprobs = static_cast<int32_t>(top);
    return {};
}

int64_t count_characters(std::string_view text) {
    return std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; });
}

Result<void> read_salt(const Json& body, RequestShape& shape) {
    const std::string* salt = string_field(body, "cache_salt");
    if (!salt) return {};
    if (salt->empty()) {
        return tl::unexpected(parameter_error(
            "cache_salt", "Parameter 'cache_salt' must be a non-empty string if provided."));
    }
    if (count_characters(*salt) > kSaltCharactersMax) {
        return tl::unexpected(parameter_error(
            "cache_salt", concat("cache_salt must have at most ", kSaltCharactersMax,
                                 " characters, got ", count_characters(*salt), ".")));
    }
    if (salt->find_first_of(std::string_view("@/\\\0", 4)) != std::string::npos) {
        return tl::unexpected(
            parameter_error("cache_salt", "cache_salt must not contain any of @ / \\ or NUL."));
    }
    shape.cache_salt = *salt;
    return {};
}

/// response_format and structured_outputs: what vLLM would refuse is refused alike; what needs a
/// grammar is not supported yet and says so, rather than answering without the constraint.
Result<void> check_constraints(const Json& body) {
    if (const Json* format = body.find("response_format")) {
        const Json& type = (*format)["type"];
        if (!type.is_string()) {
            return tl::unexpected(schema_error(
                {{"body.response_format.type", "Field required", show_input(*format)}}));
        }
        if (type.as_string() == "json_schema" && (*format)["json_schema"].is_null()) {
            return tl::unexpected(
                parameter_error("response_format",
                                "When response_format type is 'json_schema', the 'json_schema' "
                                "field must be provided."));
        }
        if (type.as_string() != "text") {
            return fail(ErrorCode::kNotImplemented,
                        concat("response_format of type '", shorten(type.as_string(), 40),
                               "' is not supported yet; only 'text' is"),
                        "response_format");
        }
    }
    const Json* wanted = body.find("structured_outputs");
    if (!wanted) return {};
    int count = 0;
    for (const char* kind :
         {"json", "regex", "choice", "grammar", "json_object", "structural_tag"}) {
        const Json& value = (*wanted)[kind];
        if (!value.is_null() && !(value.is_bool() && !value.as_bool())) ++count;
    }
    if (count > 1) {
        return tl::unexpected(
            parameter_error("structured_outputs",
                            "You can only use one kind of constraints for structured outputs "
                            "('json', 'regex' or 'choice')."));
    }
    return fail(ErrorCode::kNotImplemented, "structured_outputs is not supported yet",
                "structured_outputs");
}

}  // namespace

Result<RequestShape> read_shape(const Json& body, bool is_chat, const ApiOptions& options) {
    RequestShape shape;
    shape.is_chat = is_chat;
    const int64_t n = int_field(body, "n").value_or(1);
    if (n < 1) {
        return fail(ErrorCode::kBadRequest, concat("n must be at least 1, got ", n, "."));
    }
    if (n > options.limits.max_n_sequences) {
        return fail(ErrorCode::kBadRequest,
                    concat("n must be at most ", options.limits.max_n_sequences, ", got ", n, "."));
    }
    shape.n = static_cast<int32_t>(n);
    TRY_VOID(read_stream_options(body, options, shape));
    shape.echo = bool_field(body, "echo", false);
    TRY_VOID(read_logprobs(body, options, shape));
    TRY_VOID(check_constraints(body));
    TRY_VOID(read_salt(body, shape));
    shape.return_token_ids = bool_field(body, "return_token_ids", false);
    shape.tokens_as_ids =
        bool_field(body, "return_tokens_as_token_ids", options.return_tokens_as_token_ids);
    shape.skip_special_tokens = bool_field(body, "skip_special_tokens", true);
    shape.priority = int_field(body, "priority").value_or(0);
    if (const std::string* id = string_field(body, "request_id")) shape.request_id = *id;
    if (!is_chat && shape.echo && shape.logprobs && !shape.prompt_logprobs) {
        shape.prompt_logprobs = shape.logprobs;
    }
    return shape;
}

}  // namespace weir
