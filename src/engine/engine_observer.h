#pragma once

#include <cstdint>

#include "engine/engine_client.h"
#include "engine/engine_core.h"
#include "sched/request.h"

namespace weir {

/// What is known of one request at the moment of an event; times of the engine's monotonic clock.
struct RequestProgress {
    RequestId id = 0;
    RequestFacts facts;
    int32_t num_prompt_tokens = 0;
    int32_t num_cached_tokens = 0;
    int32_t num_output_tokens = 0;  // This event's token included.
    int32_t num_preemptions = 0;
    int64_t queued_us = 0;
    int64_t scheduled_us = 0;    // First time; 0: never.
    int64_t first_token_us = 0;  // 0: none yet.
    int64_t last_token_us = 0;
};

enum class AbortCause { kClient, kShutdown, kApi };
enum class RejectReason { kMaxNumQueuedReqs, kMaxNumQueuedTokens };

/// Told of everything that metrics and logs count (reference 3.1); counts nothing itself. The
/// implementation is in engine_metrics.h; tests have their own.
class EngineObserver {
 public:
    virtual ~EngineObserver() = default;
    /// Engine thread, after each step that was not idle, and once when the engine becomes idle.
    virtual void on_step(const StepStats& stats, int64_t duration_us) = 0;
    /// IO thread: one token came. `gap_us`: since the request's token before; 0 for the first.
    virtual void on_token(const RequestProgress& request, int64_t gap_us, int64_t now_us) = 0;
    /// IO thread: outputs of one step. `tokens`: computed prompt tokens of the requests that got
    /// their first token, and new tokens (vllm:iteration_tokens_total).
    virtual void on_iteration(int64_t tokens) = 0;
    /// IO thread: a request ended, by itself, by a stop string, or aborted by the core.
    virtual void on_finish(const RequestProgress& request, FinishReason reason, int64_t now_us) = 0;
    /// IO thread: the client has gone, or an abort was asked for.
    virtual void on_abort(const RequestProgress& request, AbortCause cause, int64_t now_us) = 0;
    /// Any thread.
    virtual void on_rejected(RejectReason reason) = 0;
};

}  // namespace weir
