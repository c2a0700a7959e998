#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "config/engine_config.h"
#include "exec/executor.h"
#include "sched/pause_state.h"
#include "sched/request.h"

namespace weir {

class Scheduler;

/// What happens to the engine before a step. Time is an input: the core has no clock.
struct StepInput {
    int64_t now_us = 0;              // Monotonic.
    std::span<NewRequest> arrivals;  // Moved from.
    std::span<const RequestId> aborts;
};

struct OutputPromptLogprobs {
    int32_t position = 0;
    std::vector<TokenLogprob> logprobs;
};

/// News of one request after a step.
struct RequestOutput {
    RequestId id = 0;
    TokenId token = kNoToken;  // kNoToken: only a finish (an abort by the core), or only prompt
                               // log-probabilities.
    std::vector<TokenLogprob> logprobs;                 // Of this token.
    std::vector<OutputPromptLogprobs> prompt_logprobs;  // With the first token.
    FinishReason finish_reason = FinishReason::kNone;
    std::optional<TokenId> stop_token_id;  // The stop_token_ids member that ended it; EOS: none.

    // Facts for metrics and usage; times on the core's clock.
    int32_t num_cached_tokens = 0;  // Prefix hits of the first admission.
    int32_t num_preemptions = 0;
    int64_t queued_us = 0;
    int64_t scheduled_us = 0;  // First time it was scheduled.
    int64_t token_us = 0;      // Time of this step's result.
};

/// Facts of one step, for the metrics (reference 3.1); all totals are of this step only.
struct StepStats {
    int32_t num_running = 0;
    int32_t num_waiting = 0;
    int32_t num_waiting_deferred = 0;
    double kv_cache_usage = 0;
    int32_t num_scheduled_tokens = 0;
    int32_t num_scheduled_prompt_tokens = 0;
    int32_t num_scheduled_requests = 0;
    int32_t num_partial_prefills = 0;  // Prompt chunks that leave a rest of the prompt.
    int32_t num_last_prefills = 0;     // Prompts computed to their end.
    int32_t num_preempted = 0;
    int64_t prefix_cache_queries = 0;
    int64_t prefix_cache_hits = 0;
    int32_t num_aborted = 0;
    bool idle = false;  // Nothing was scheduled.
};

struct StepOutput {
    std::vector<RequestOutput> outputs;
    StepStats stats;
    void clear() {
        outputs.clear();
        stats = {};
    }
};

/// The whole engine without clock, thread or I/O: scheduler, KV cache and output processing around
/// an Executor. Deterministic: same inputs, same outputs. Owned and called by one thread.
class EngineCore {
 public:
    /// `now_us`: called after the executor to stamp tokens; simulators return virtual time. `seed`
    /// (--seed) seeds requests without a seed of their own.
    EngineCore(const SchedulerConfig& scheduler, const CacheConfig& cache, uint64_t seed,
               Executor& executor, int64_t (*now_us)(void* clock), void* clock);
    ~EngineCore();

    /// Takes arrivals and aborts, schedules, executes, applies results. Appends nothing for a
    /// request that has no news. Fails only if the executor fails.
    Result<void> step(const StepInput& input, StepOutput& output);

    bool has_work() const;  // Anything running or waiting that a step could advance.

    /// Forgets all cached prefixes; false if any block is in use. With `preempt_running` running
    /// requests are preempted first (reference 2.9).
    bool reset_prefix_cache(bool preempt_running);
    void set_pause(PauseState state);
    PauseState pause() const;
    /// Ends every request with FinishReason::kAbort at the next step and reports them.
    void abort_all();

    /// For the simulation's invariants (sim/), which look inside.
    const Scheduler& scheduler() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace weir
