#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "kv/kv_cache_manager.h"
#include "sampling/params.h"
#include "sched/request.h"

namespace weir {

enum class RequestStatus { kWaiting, kRunning, kPreempted };

/// A request inside the engine, from its arrival to its finish. Owned by the Scheduler.
struct RequestState {
    RequestId id = 0;
    SamplingParams params;
    int64_t arrival_us = 0;
    int32_t priority = 0;
    std::string cache_salt;
    TokenId eos_token_id = kNoToken;
    uint64_t sampling_seed = 0;

    std::vector<TokenId> token_ids;  // Prompt, then output.
    int32_t num_prompt_tokens = 0;
    int32_t num_computed_tokens = 0;  // KV exists, or is scheduled in the current step.
    KvSequence kv;

    RequestStatus status = RequestStatus::kWaiting;
    int32_t slot = -1;  // While running.
    // Of the current step; -1: not in it.
    int32_t scheduled_index = -1;

    // Facts for metrics and usage.
    int32_t num_cached_tokens = -1;  // Prefix hits of the first admission; -1 before it.
    int32_t num_preemptions = 0;
    int64_t queued_us = 0;
    int64_t scheduled_us = -1;  // First time; -1 before.

    // WaitingQueue's own.
    RequestState* queue_prev = nullptr;
    RequestState* queue_next = nullptr;
    int32_t heap_index = -1;

    int32_t num_tokens() const { return static_cast<int32_t>(token_ids.size()); }
    int32_t num_output_tokens() const { return num_tokens() - num_prompt_tokens; }
};

struct FinishCheck {
    FinishReason reason = FinishReason::kNone;
    std::optional<TokenId> stop_token_id;
};

/// Does the request end with its last token? Reference 1.5, in its order.
FinishCheck check_finish(const RequestState& request, int32_t max_model_len);

}  // namespace weir
