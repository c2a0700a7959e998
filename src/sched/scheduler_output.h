#pragma once

#include <cstdint>
#include <span>

#include "base/types.h"
#include "sampling/params.h"

namespace weir {

/// One request's part of a step. Spans point into the scheduler's own state: valid until the next
/// schedule().
struct ScheduledRequest {
    int32_t slot = 0;  // Dense index in [0, max_num_seqs): names the executor's per-request state
                       // (penalty counts, buffers) while the request runs.
    bool is_new_in_slot = false;  // First step of this request in this slot: reset that state.
    RequestId id = 0;

    int32_t num_computed_tokens = 0;   // Tokens whose KV exists already; the first row's position.
    int32_t num_scheduled_tokens = 0;  // Rows of this step: [num_computed, num_computed + this).
    int32_t num_prompt_tokens = 0;     // Positions below are prompt, the others were generated.
    std::span<const TokenId> token_ids;  // Prompt and output so far, all of it.
    std::span<const BlockId> block_ids;  // Block table; covers all rows of this step.

    /// True if the last row's logits are to be sampled (the request catches up in this step).
    bool samples = false;
    const SamplingParams* params = nullptr;
    TokenId eos_token_id = kNoToken;
    uint64_t sampling_seed = 0;  // The request's own stream: draw i depends on (seed, i) only.
};

/// What one step computes; at most max_num_batched_tokens rows and max_num_seqs requests.
///
/// A request may share blocks whose rows another request of the same step computes (prefix hits are
/// findable when allocated, reference 2.3): in each layer the keys and values of all rows must be
/// written before any row's attention reads them.
struct SchedulerOutput {
    std::span<const ScheduledRequest> requests;
    int32_t num_tokens = 0;  // Sum of num_scheduled_tokens.
};

}  // namespace weir
