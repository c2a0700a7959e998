#include "api/prompts.h"

#include <algorithm>

#include "api/errors.h"
#include "api/fields.h"
#include "base/text.h"

namespace weir {

namespace {

Error no_prompt() {
    return parameter_error("prompt",
                           "Either prompt or prompt_embeds must be provided and non-empty.");
}

/// A text with more bytes than max_model_len of the longest tokens holds cannot fit.
Result<void> check_text_size(std::string_view text, const Json& body, const ApiOptions& options,
                             int32_t token_bytes_max) {
    if (body.find("truncate_prompt_tokens")) return {};
    const int64_t least = static_cast<int64_t>(text.size()) / std::max(token_bytes_max, 1);
    if (least <= options.max_model_len) return {};
    return tl::unexpected(parameter_error(
        "input_tokens",
        concat("This model's maximum context length is ", options.max_model_len,
               " tokens. However, your prompt contains at least ", least,
               " input tokens, which exceeds this limit even without any output tokens. Please "
               "reduce the length of the input prompt."),
        concat(least)));
}

Result<std::vector<TokenId>> read_id_list(const Json& list, int32_t vocab_size) {
    std::vector<TokenId> ids;
    ids.reserve(list.size());
    for (const Json& item : list.items()) {
        const int64_t id = item.as_int();
        if (id < 0 || id >= vocab_size) {
            return fail(ErrorCode::kBadRequest, concat("Token id ", id, " is out of vocabulary"));
        }
        ids.push_back(static_cast<TokenId>(id));
    }
    return ids;
}

}  // namespace

Result<void> truncate_prompt(const Json& body, const ApiOptions& options,
                             std::vector<TokenId>& ids) {
    const auto wish = int_field(body, "truncate_prompt_tokens");
    if (!wish) return {};
    if (*wish < -1 || *wish == 0) {
        return tl::unexpected(parameter_error(
            "truncate_prompt_tokens",
            concat("truncate_prompt_tokens must be -1 or at least 1, got ", *wish, "."),
            concat(*wish)));
    }
    if (*wish > options.max_model_len) {
        return tl::unexpected(parameter_error(
            "truncate_prompt_tokens",
            concat("truncate_prompt_tokens value (", *wish, ") is greater than max_model_len (",
                   options.max_model_len, "). Please request a smaller truncation size."),
            concat(*wish)));
    }
    bool keep_end = *wish == -1;
    if (const std::string* side = string_field(body, "truncation_side")) {
        if (*side != "left" && *side != "right") {
            return tl::unexpected(
                schema_error({{"body.truncation_side", "Input should be 'left' or 'right'",
                               show_input(Json(*side))}}));
        }
        keep_end = *side == "left";  // The side that is cut away.
    }
    const auto keep = static_cast<size_t>(*wish == -1 ? options.max_model_len - 1 : *wish);
    if (ids.size() <= keep) return {};
    if (keep_end) {
        ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(keep));
    } else {
        ids.resize(keep);
    }
    return {};
}

Result<std::vector<PromptInput>> read_prompts(const Json& body, const ApiOptions& options,
                                              const Tokenizer& tokenizer, int32_t token_bytes_max,
                                              bool want_text) {
    const Json* prompt = body.find("prompt");
    if (!prompt) return tl::unexpected(no_prompt());
    if (prompt->is_string() && prompt->as_string().empty()) return tl::unexpected(no_prompt());
    if (prompt->is_array() && prompt->size() == 0) {
        return fail(ErrorCode::kBadRequest, "You must pass at least one prompt");
    }
    // One prompt is a list of one.
    std::vector<const Json*> parts;
    if (prompt->is_string() || prompt->items().front().is_int()) {
        parts.push_back(prompt);
    } else {
        for (const Json& part : prompt->items()) parts.push_back(&part);
    }
    if (static_cast<int64_t>(parts.size()) > options.limits.max_completion_prompts) {
        return tl::unexpected(parameter_error(
            "prompt", concat("at most ", options.limits.max_completion_prompts,
                             " prompts are allowed in a request, got ", parts.size())));
    }
    EncodeOptions encoding;
    encoding.add_special_tokens = bool_field(body, "add_special_tokens", true);
    std::vector<PromptInput> prompts;
    for (const Json* part : parts) {
        PromptInput input;
        if (part->is_string()) {
            TRY_VOID(check_text_size(part->as_string(), body, options, token_bytes_max));
            input.ids = tokenizer.encode(part->as_string(), encoding);
            if (want_text) input.text = part->as_string();
        } else {
            TRY(input.ids, read_id_list(*part, tokenizer.vocab_size()));
            if (want_text) input.text = tokenizer.decode(input.ids, false);
        }
        TRY_VOID(truncate_prompt(body, options, input.ids));
        if (input.ids.empty()) {
            return fail(ErrorCode::kBadRequest, "The decoder prompt cannot be empty");
        }
        prompts.push_back(std::move(input));
    }
    return prompts;
}

}  // namespace weir
