#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "config/engine_config.h"
#include "kv/kv_cache_manager.h"
#include "sched/pause_state.h"
#include "sched/request_state.h"
#include "sched/scheduler_output.h"
#include "sched/waiting_queue.h"

namespace weir {

/// What one schedule() did, for StepStats.
struct ScheduleFacts {
    int32_t num_prompt_tokens = 0;  // Scheduled rows whose position is below the prompt's end.
    int32_t num_preempted = 0;
    int64_t prefix_cache_queries = 0;
    int64_t prefix_cache_hits = 0;
};

/// Who computes how many tokens in the next step (reference 1.2 to 1.4). There is no prefill or
/// decode phase: each step lets every request's computed tokens catch up with its tokens, running
/// requests first, then waiting ones. Deterministic; owned by one thread. A step costs
/// O(running + admitted); nothing allocates while the set of running requests stays the same.
class Scheduler {
 public:
    Scheduler(const SchedulerConfig& config, const CacheConfig& cache, uint64_t seed);

    void add(NewRequest&& request, int64_t now_us);
    /// Null if it has finished, was aborted or never came.
    RequestState* find(RequestId id);
    const RequestState* find(RequestId id) const;
    /// Ends a request, whatever its status: its blocks and its slot are free at once.
    void remove(RequestState& request);

    /// Valid until the next call. The executor must compute all of it: num_computed_tokens has
    /// moved on already.
    const SchedulerOutput& schedule(int64_t now_us);
    const ScheduleFacts& facts() const { return facts_; }
    /// The requests of the last schedule(), by index into its output; null once removed.
    RequestState* scheduled(size_t index) { return scheduled_states_[index]; }
    /// A sampled token joins the request.
    void append_token(RequestState& request, TokenId token);

    bool has_work() const;
    void set_pause(PauseState state) { pause_ = state; }
    PauseState pause() const { return pause_; }
    /// Reference 2.9.
    bool reset_prefix_cache(bool preempt_running);

    // For statistics and for the simulation's invariants.
    std::span<RequestState* const> running() const { return running_; }
    const WaitingQueue& waiting() const { return waiting_; }
    const KvCacheManager& kv() const { return kv_; }

 private:
    void clear_step();
    void begin_step();
    int32_t long_prefill_cap() const;
    void schedule_running();
    void schedule_waiting(int64_t now_us);
    bool admit(RequestState& request, int64_t now_us);
    void enter_step(RequestState& request, int32_t num_new_tokens, bool is_new_in_slot);
    void leave_step(RequestState& request);
    size_t victim_index() const;
    void preempt(size_t running_index);
    void start(RequestState& request, int64_t now_us);
    void take_out_of_running(size_t running_index);

    const SchedulerConfig config_;
    const uint64_t seed_;
    const int32_t max_num_running_;  // max_num_active_seqs.
    const int32_t tokens_per_step_;  // The smaller of both token budgets.
    const int32_t watermark_blocks_;
    PauseState pause_ = PauseState::kRunning;
    KvCacheManager kv_;

    std::unordered_map<RequestId, std::unique_ptr<RequestState>> requests_;  // Never iterated.
    WaitingQueue waiting_;
    std::vector<RequestState*> running_;  // In order of admission.
    std::vector<int32_t> free_slots_;
    int32_t num_preempted_between_steps_ = 0;  // By reset_prefix_cache(); told by the next step.

    // The current step.
    int32_t token_budget_ = 0;
    int32_t prefill_cap_ = 0;
    ScheduleFacts facts_;
    std::vector<ScheduledRequest> scheduled_;
    std::vector<RequestState*> scheduled_states_;
    SchedulerOutput output_;
};

}  // namespace weir
