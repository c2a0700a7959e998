#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/types.h"
#include "sampling/params.h"
#include "sampling/sampled_token.h"

namespace weir {

/// --logprobs-mode (reference 4.2, 6).
enum class LogprobsMode { kRawLogprobs, kProcessedLogprobs, kRawLogits, kProcessedLogits };

/// One request's side of sampling one token.
struct SamplingInput {
    int32_t slot = 0;             // [0, max_num_seqs): where penalty counts live.
    bool is_new_in_slot = false;  // Counts are rebuilt from token_ids.
    const SamplingParams* params = nullptr;
    std::span<const TokenId> token_ids;  // Prompt and output so far.
    int32_t num_prompt_tokens = 0;
    TokenId eos_token_id = kNoToken;
    uint64_t sampling_seed = 0;  // Draw i of the request depends on (sampling_seed, i) only, i = output index.
};

/// One logits row and SamplingParams to a token id, in vLLM's order (reference 6). The result depends on the row
/// and the input alone, never on the rest of the batch. Different slots may be sampled by different threads at
/// once. A steady decode allocates nothing.
class Sampler {
   public:
    Sampler(int32_t vocab_size, int32_t max_num_seqs, LogprobsMode mode);
    ~Sampler();

    /// `logits` [vocab_size] is scratch: changed. Log-probabilities that params ask for are appended to `pool`.
    SampledToken sample(std::span<float> logits, const SamplingInput& input,
                        std::vector<TokenLogprob>& pool);

    /// Log-probabilities of a prompt token `actual` given the row before it: the token itself first, then the top
    /// `count` others (-1: all), as reference 5.4 orders them.
    LogprobRange describe(std::span<const float> logits, TokenId actual, int32_t count,
                          std::vector<TokenLogprob>& pool) const;

   private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace weir
