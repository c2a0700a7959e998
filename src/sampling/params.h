#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"

namespace weir {

/// vLLM's SamplingParams, validated by api/ (reference 5.3); the ranges are promises here.
struct SamplingParams {
    float temperature = 1.0F;  // 0 means greedy; (0, 0.01) was raised to 0.01 by the parser.
    float top_p = 1.0F;        // (0, 1].
    int32_t top_k = 0;         // 0 or -1: off.
    float min_p = 0.0F;        // [0, 1].
    float presence_penalty = 0.0F;
    float frequency_penalty = 0.0F;
    float repetition_penalty = 1.0F;
    std::optional<int64_t> seed;  // Already seed + i for child i of n.

    int32_t max_tokens = 16;  // Effective: cut to what max_model_len leaves. 0 only with echo.
    int32_t min_tokens = 0;
    bool ignore_eos = false;
    std::vector<TokenId> stop_token_ids;  // The request's and the model's extra EOS ids.
    std::vector<std::string> stop;        // Matched on text, in api/; not by the core.
    bool include_stop_str_in_output = false;

    std::vector<std::pair<TokenId, float>> logit_bias;  // Sorted by id, values in [-100, 100].
    std::vector<TokenId> allowed_token_ids;             // Empty: all. Sorted.
    std::vector<std::vector<TokenId>> bad_words;        // Token sequences.

    std::optional<int32_t> logprobs;  // Top alternatives beside the sampled; -1: all of them.
    std::optional<int32_t> prompt_logprobs;  // The same for each prompt token.
    std::vector<TokenId> logprob_token_ids;  // Log-probabilities of these ids as well.

    bool greedy() const { return temperature < 1e-5F; }
    bool has_penalties() const {
        return presence_penalty != 0 || frequency_penalty != 0 || repetition_penalty != 1;
    }
};

}  // namespace weir
