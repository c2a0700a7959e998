#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "sampling/params.h"
#include "sampling/sampler.h"

namespace weir {

/// Which tokens a request has seen, and how often it generated them: what the penalties need. One
/// per slot; costs O(new tokens) a step and as much memory as the request has different tokens.
class PenaltyCounts {
 public:
    struct Entry {
        TokenId token = kNoToken;
        int32_t output_count = 0;
    };

    /// Brings the counts up to input.token_ids; begins anew for a request that is new in the slot.
    void update(const SamplingInput& input, int32_t vocab_size);
    std::span<const Entry> entries() const { return entries_; }

 private:
    void reset(const SamplingInput& input, int32_t vocab_size);
    void add(TokenId token, int32_t output_count);
    void rebuild_index(size_t size);

    std::vector<Entry> entries_;
    std::vector<int32_t> index_;  // Open addressing, size a power of two; -1 is free.
    size_t num_counted_ = 0;
    int32_t num_prompt_tokens_ = -1;
    uint64_t sampling_seed_ = 0;
};

/// True if steps 2 to 6 of reference 6 change this request's row.
bool has_edits(const SamplingInput& input);

/// Steps 2 to 6 of reference 6, in that order: allowed_token_ids, bad_words, min_tokens,
/// logit_bias, penalties. `saved` is scratch.
void edit_logits(std::span<float> logits, const SamplingInput& input, PenaltyCounts& counts,
                 std::vector<float>& saved);

}  // namespace weir
