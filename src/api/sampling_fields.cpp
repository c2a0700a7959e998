#include "api/sampling_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "api/errors.h"
#include "api/fields.h"
#include "base/text.h"

namespace weir {

namespace {

constexpr double kSmallestTemperature = 0.01;  // vLLM raises what lies between 0 and this.
constexpr double kGreedyBelow = 1e-5;
constexpr double kBiasMax = 100;

/// A number as Python's repr shows it in vLLM's texts: 3.0, not 3.
std::string shown(double value) { return Json(value).dump(); }

tl::unexpected<Error> out_of_range(std::string text) {
    return fail(ErrorCode::kBadRequest, std::move(text));
}

Result<void> read_temperature(double value, SamplingParams& params) {
    if (value < 0) {
        return tl::unexpected(parameter_error(
            "temperature", concat("temperature must be non-negative, got ", shown(value), "."),
            shown(value)));
    }
    if (!(value <= 2)) {
        return tl::unexpected(parameter_error(
            "temperature", concat("temperature must be in [0, 2], got ", shown(value), "."),
            shown(value)));
    }
    if (value >= kGreedyBelow) value = std::max(value, kSmallestTemperature);
    params.temperature = static_cast<float>(value);
    return {};
}

Result<void> read_nucleus(const Json& body, const GenerationDefaults& defaults,
                          SamplingParams& params) {
    const double top_p = float_field(body, "top_p").value_or(defaults.top_p.value_or(1));
    if (!(top_p > 0 && top_p <= 1)) {
        return tl::unexpected(parameter_error(
            "top_p", concat("top_p must be in (0, 1], got ", shown(top_p), "."), shown(top_p)));
    }
    const int64_t top_k = int_field(body, "top_k").value_or(defaults.top_k.value_or(0));
    if (top_k < -1) {
        return out_of_range(concat("top_k must be 0 (disable), or at least 1, got ", top_k, "."));
    }
    const double min_p = float_field(body, "min_p").value_or(defaults.min_p.value_or(0));
    if (!(min_p >= 0 && min_p <= 1)) {
        return out_of_range(concat("min_p must be in [0, 1], got ", shown(min_p), "."));
    }
    params.top_p = static_cast<float>(top_p);
    params.top_k = static_cast<int32_t>(std::min<int64_t>(top_k, INT32_MAX));
    params.min_p = static_cast<float>(min_p);
    return {};
}

Result<void> read_penalties(const Json& body, const GenerationDefaults& defaults,
                            SamplingParams& params) {
    const auto two_sided = [&](std::string_view name, std::optional<double> fallback,
                               float& out) -> Result<void> {
        const double value = float_field(body, name).value_or(fallback.value_or(0));
        if (!(value >= -2 && value <= 2)) {
            return out_of_range(concat(name, " must be in [-2, 2], got ", shown(value), "."));
        }
        out = static_cast<float>(value);
        return {};
    };
    TRY_VOID(two_sided("presence_penalty", defaults.presence_penalty, params.presence_penalty));
    TRY_VOID(two_sided("frequency_penalty", defaults.frequency_penalty, params.frequency_penalty));
    const double repetition =
        float_field(body, "repetition_penalty").value_or(defaults.repetition_penalty.value_or(1));
    if (!(repetition > 0) || !std::isfinite(repetition)) {
        return out_of_range(concat("repetition_penalty must be greater than zero and finite, got ",
                                   shown(repetition), "."));
    }
    params.repetition_penalty = static_cast<float>(repetition);
    return {};
}

/// Ids of a list field; each must be in the vocabulary.
Result<std::vector<TokenId>> read_ids(const Json& list, std::string_view name, int32_t vocab_size) {
    std::vector<TokenId> ids;
    ids.reserve(list.size());
    for (const Json& item : list.items()) {
        const int64_t id = item.as_int();
        if (id < 0 || id >= vocab_size) {
            return tl::unexpected(
                parameter_error(name,
                                concat(name, " contains out-of-vocab token id ", id,
                                       "; the vocabulary has ", vocab_size, " tokens"),
                                concat(id)));
        }
        ids.push_back(static_cast<TokenId>(id));
    }
    return ids;
}

Result<void> read_bias(const Json& body, int32_t vocab_size, SamplingParams& params) {
    const Json* map = body.find("logit_bias");
    if (!map) return {};
    for (const JsonMember& member : map->members()) {
        int64_t id = -1;
        const char* end = member.name.data() + member.name.size();
        const auto parsed = std::from_chars(member.name.data(), end, id);
        if (parsed.ec != std::errc() || parsed.ptr != end) {
            const std::string keys = concat("['", shorten(member.name, 40), "']");
            return tl::unexpected(
                parameter_error("logit_bias",
                                concat("logit_bias contains key(s) that cannot be converted to "
                                       "integer token IDs: ",
                                       keys),
                                keys));
        }
        if (id < 0 || id >= vocab_size) {
            return tl::unexpected(parameter_error("logit_bias",
                                                  concat("token_id(s) [", id,
                                                         "] in logit_bias contain out-of-vocab "
                                                         "token ids. Vocabulary size: ",
                                                         vocab_size),
                                                  concat(id)));
        }
        if (!member.value.is_number()) {
            return tl::unexpected(
                schema_error({{"body.logit_bias." + member.name, "Input should be a valid number",
                               show_input(member.value)}}));
        }
        const double bias = std::clamp(member.value.as_double(), -kBiasMax, kBiasMax);
        params.logit_bias.emplace_back(static_cast<TokenId>(id), static_cast<float>(bias));
    }
    std::ranges::stable_sort(params.logit_bias, {}, [](const auto& pair) { return pair.first; });
    // "7" and "07" are one id: the later one counts, as in a map.
    auto& pairs = params.logit_bias;
    for (size_t i = 0; i + 1 < pairs.size();) {
        if (pairs[i].first == pairs[i + 1].first) {
            pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
            ++i;
        }
    }
    return {};
}

/// Each bad word is forbidden at the begin of a text and after a blank (reference 6, step 3).
Result<void> read_bad_words(const Json& body, const ApiOptions& options, const Tokenizer& tokenizer,
                            SamplingParams& params) {
    const Json* words = body.find("bad_words");
    if (!words) return {};
    EncodeOptions plain;
    plain.add_special_tokens = false;
    for (const Json& item : words->items()) {
        const std::string& word = item.as_string();
        if (word.empty()) {
            return tl::unexpected(
                parameter_error("bad_words", "bad_words cannot contain an empty string."));
        }
        const std::string_view stripped =
            std::string_view(word).substr(std::min(word.find_first_not_of(' '), word.size()));
        std::vector<TokenId> bare = tokenizer.encode(stripped, plain);
        std::vector<TokenId> spaced = tokenizer.encode(concat(" ", stripped), plain);
        // The form with a blank counts only if the blank became part of another first token.
        const bool distinct =
            !spaced.empty() && spaced.size() == bare.size() && spaced.front() != bare.front();
        if (!bare.empty()) params.bad_words.push_back(std::move(bare));
        if (distinct) params.bad_words.push_back(std::move(spaced));
    }
    if (static_cast<int64_t>(params.bad_words.size()) > options.limits.max_num_bad_words) {
        return tl::unexpected(parameter_error(
            "bad_words",
            concat("at most ", options.limits.max_num_bad_words,
                   " token sequences are allowed in bad_words, got ", params.bad_words.size())));
    }
    return {};
}

Result<void> read_token_lists(const Json& body, const RequestShape& shape,
                              const ApiOptions& options, int32_t vocab_size,
                              SamplingParams& params) {
    if (const Json* list = body.find("stop_token_ids")) {
        TRY(params.stop_token_ids, read_ids(*list, "stop_token_ids", vocab_size));
    }
    if (!params.ignore_eos) {
        params.stop_token_ids.insert(params.stop_token_ids.end(), options.extra_eos_ids.begin(),
                                     options.extra_eos_ids.end());
    }
    if (const Json* list = body.find("allowed_token_ids")) {
        if (list->size() == 0) {
            return tl::unexpected(parameter_error(
                "allowed_token_ids", "allowed_token_ids is not None and empty!", "[]"));
        }
        TRY(params.allowed_token_ids, read_ids(*list, "allowed_token_ids", vocab_size));
        std::ranges::sort(params.allowed_token_ids);
    }
    if (const Json* list = body.find("logprob_token_ids")) {
        TRY(params.logprob_token_ids, read_ids(*list, "logprob_token_ids", vocab_size));
        if (!shape.logprobs) {
            return tl::unexpected(parameter_error(
                "logprob_token_ids", "when using `logprob_token_ids`, `logprobs` must be set."));
        }
        if (static_cast<int64_t>(list->size()) > options.limits.max_logprob_token_ids) {
            return tl::unexpected(parameter_error(
                "logprob_token_ids", concat("at most ", options.limits.max_logprob_token_ids,
                                            " ids are allowed, got ", list->size())));
        }
    }
    return {};
}

}  // namespace

Result<int32_t> effective_max_tokens(const Json& body, const RequestShape& shape,
                                     const ApiOptions& options, int32_t num_prompt_tokens) {
    const int32_t length_max = options.max_model_len;
    std::optional<int64_t> wish = int_field(body, "max_tokens");
    if (shape.is_chat) {
        if (const auto newer = int_field(body, "max_completion_tokens")) wish = newer;
    }
    const int64_t least = !shape.is_chat && shape.echo ? 0 : 1;
    if (wish && *wish < least) {
        return tl::unexpected(parameter_error(
            "max_tokens", concat("max_tokens must be at least ", least, ", got ", *wish, "."),
            concat(*wish)));
    }
    if (wish && *wish > length_max) {
        return tl::unexpected(parameter_error(
            "max_tokens",
            concat("max_tokens=", *wish, " cannot be greater than max_model_len=", length_max,
                   ". Please request fewer output tokens."),
            concat(*wish)));
    }
    if (num_prompt_tokens >= length_max) {
        const bool over = num_prompt_tokens > length_max;
        return tl::unexpected(parameter_error(
            "input_tokens",
            concat("This model's maximum context length is ", length_max,
                   " tokens. However, your prompt contains ", num_prompt_tokens, " input tokens, ",
                   over ? "which exceeds this limit even without any output tokens"
                        : "which leaves no room for output tokens",
                   ". Please reduce the length of the input prompt."),
            concat(num_prompt_tokens)));
    }
    const GenerationDefaults& defaults = options.generation;
    int64_t most = length_max - num_prompt_tokens;
    if (defaults.max_new_tokens_is_limit && defaults.max_new_tokens) {
        most = std::min(most, *defaults.max_new_tokens);
    }
    if (!wish) wish = defaults.max_new_tokens;
    if (!wish && !shape.is_chat) wish = 16;
    return static_cast<int32_t>(std::min(most, wish.value_or(most)));
}

Result<SamplingParams> read_sampling(const Json& body, const RequestShape& shape,
                                     const ApiOptions& options, const Tokenizer& tokenizer,
                                     int32_t max_tokens) {
    const GenerationDefaults& defaults = options.generation;
    SamplingParams params;
    params.max_tokens = max_tokens;
    const double temperature =
        float_field(body, "temperature").value_or(defaults.temperature.value_or(1));
    TRY_VOID(read_temperature(temperature, params));
    TRY_VOID(read_nucleus(body, defaults, params));
    TRY_VOID(read_penalties(body, defaults, params));
    const auto seed = int_field(body, "seed");
    if (seed && *seed != -1) params.seed = *seed;
    params.ignore_eos = bool_field(body, "ignore_eos", false);
    params.include_stop_str_in_output = bool_field(body, "include_stop_str_in_output", false);

    const int64_t min_tokens = int_field(body, "min_tokens").value_or(0);
    if (min_tokens < 0) {
        return out_of_range(
            concat("min_tokens must be greater than or equal to 0, got ", min_tokens, "."));
    }
    if (min_tokens > max_tokens) {
        return out_of_range(concat("min_tokens must be less than or equal to max_tokens=",
                                   max_tokens, ", got ", min_tokens, "."));
    }
    params.min_tokens = static_cast<int32_t>(min_tokens);

    if (const Json* stops = body.find("stop")) {
        for (const Json& stop : stops->items()) {
            if (stop.as_string().empty())
                return out_of_range("stop cannot contain an empty string.");
            params.stop.push_back(stop.as_string());
        }
    }
    TRY_VOID(read_token_lists(body, shape, options, tokenizer.vocab_size(), params));
    TRY_VOID(read_bias(body, tokenizer.vocab_size(), params));
    TRY_VOID(read_bad_words(body, options, tokenizer, params));
    params.logprobs = shape.logprobs;
    params.prompt_logprobs = shape.prompt_logprobs;
    if (params.greedy()) {
        params.temperature = 0;
        params.top_p = 1;
        params.top_k = 0;
        params.min_p = 0;
        if (shape.n > 1) {
            return out_of_range(
                concat("n must be 1 when using greedy sampling, got ", shape.n, "."));
        }
    }
    return params;
}

}  // namespace weir
