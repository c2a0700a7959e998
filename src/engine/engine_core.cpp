#include "engine/engine_core.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "kv/planted_bug.h"
#include "sched/scheduler.h"

namespace weir {

struct EngineCore::Impl {
    Impl(const SchedulerConfig& scheduler_config, const CacheConfig& cache, uint64_t seed,
         Executor& used_executor, int64_t (*clock_now_us)(void*), void* used_clock)
        : scheduler(scheduler_config, cache, seed),
          max_model_len(scheduler_config.max_model_len),
          executor(used_executor),
          now_us(clock_now_us),
          clock(used_clock) {
        const auto num_seqs = static_cast<size_t>(scheduler_config.max_num_seqs);
        executed.sampled.reserve(num_seqs);
    }

    void report_aborted(int64_t at_us, StepOutput& output);
    void abort(RequestId id, StepStats& stats);
    void keep_prompt_logprobs(const SchedulerOutput& step);
    void apply(const ScheduledRequest& scheduled, RequestState& request,
               const SampledToken& sampled, int64_t token_us, StepOutput& output);
    void describe(RequestState& request, int64_t token_us, RequestOutput& news);
    void count(StepStats& stats) const;

    Scheduler scheduler;
    const int32_t max_model_len;
    Executor& executor;
    int64_t (*now_us)(void*);
    void* clock;
    ExecutorOutput executed;
    bool abort_all = false;
    // Values of the prompts that are not through yet. Looked up, never iterated.
    std::unordered_map<RequestId, std::vector<OutputPromptLogprobs>> prompt_logprobs;
};

EngineCore::EngineCore(const SchedulerConfig& scheduler, const CacheConfig& cache, uint64_t seed,
                       Executor& executor, int64_t (*now_us)(void* clock), void* clock)
    : impl_(std::make_unique<Impl>(scheduler, cache, seed, executor, now_us, clock)) {}

EngineCore::~EngineCore() = default;

Result<void> EngineCore::step(const StepInput& input, StepOutput& output) {
    Impl& core = *impl_;
    output.clear();
    if (std::exchange(core.abort_all, false)) core.report_aborted(input.now_us, output);
    for (NewRequest& request : input.arrivals) {
        core.scheduler.add(std::move(request), input.now_us);
    }
    for (RequestId id : input.aborts) core.abort(id, output.stats);

    const SchedulerOutput& step = core.scheduler.schedule(input.now_us);
    StepStats& stats = output.stats;
    const ScheduleFacts& facts = core.scheduler.facts();
    stats.num_scheduled_tokens = step.num_tokens;
    stats.num_scheduled_prompt_tokens = facts.num_prompt_tokens;
    stats.num_scheduled_requests = static_cast<int32_t>(step.requests.size());
    stats.num_preempted = facts.num_preempted;
    stats.prefix_cache_queries = facts.prefix_cache_queries;
    stats.prefix_cache_hits = facts.prefix_cache_hits;
    stats.idle = step.requests.empty();
    for (const ScheduledRequest& request : step.requests) {
        if (request.num_computed_tokens >= request.num_prompt_tokens) continue;
        (request.samples ? stats.num_last_prefills : stats.num_partial_prefills) += 1;
    }
    if (!stats.idle) {
        TRY_VOID(core.executor.execute(step, core.executed));
        CHECK(core.executed.sampled.size() == step.requests.size());
        const int64_t token_us = core.now_us(core.clock);
        core.keep_prompt_logprobs(step);
        for (size_t i = 0; i < step.requests.size(); ++i) {
            core.apply(step.requests[i], *core.scheduler.scheduled(i), core.executed.sampled[i],
                       token_us, output);
        }
    }
    core.count(stats);
    return {};
}

/// Ends all requests, in the order in which they run and wait.
void EngineCore::Impl::report_aborted(int64_t at_us, StepOutput& output) {
    std::vector<RequestState*> ended(scheduler.running().begin(), scheduler.running().end());
    scheduler.waiting().for_each([&](RequestState& request) { ended.push_back(&request); });
    for (RequestState* request : ended) {
        RequestOutput& news = output.outputs.emplace_back();
        describe(*request, at_us, news);
        news.finish_reason = FinishReason::kAbort;
        abort(request->id, output.stats);
    }
}

void EngineCore::Impl::abort(RequestId id, StepStats& stats) {
    RequestState* request = scheduler.find(id);
    if (request == nullptr) return;  // It finished before its abort came.
    if (PLANTED(kLostAbort) && request->status == RequestStatus::kPreempted) return;
    stats.num_aborted += 1;
    prompt_logprobs.erase(id);
    scheduler.remove(*request);
}

/// Chunk by chunk, until the first token takes them along. A prompt that is computed again after a
/// preemption gives positions again, which are known already.
void EngineCore::Impl::keep_prompt_logprobs(const SchedulerOutput& step) {
    for (const PromptLogprob& value : executed.prompt_logprobs) {
        const auto index = static_cast<size_t>(value.request_index);
        CHECK(index < step.requests.size());
        const RequestState& request = *scheduler.scheduled(index);
        if (request.num_output_tokens() > 0) continue;
        std::vector<OutputPromptLogprobs>& kept = prompt_logprobs[request.id];
        if (!kept.empty() && kept.back().position >= value.position) continue;
        const auto begin = executed.logprobs.begin() + value.logprobs.begin;
        kept.push_back({value.position, {begin, begin + value.logprobs.count}});
    }
}

void EngineCore::Impl::apply(const ScheduledRequest& scheduled, RequestState& request,
                             const SampledToken& sampled, int64_t token_us, StepOutput& output) {
    CHECK((sampled.token != kNoToken) == scheduled.samples);
    if (!scheduled.samples) return;  // A prompt that is not through yet has no news.
    RequestOutput& news = output.outputs.emplace_back();
    describe(request, token_us, news);
    if (request.params.prompt_logprobs && request.num_output_tokens() == 0) {
        if (const auto kept = prompt_logprobs.find(request.id); kept != prompt_logprobs.end()) {
            news.prompt_logprobs = std::move(kept->second);
            prompt_logprobs.erase(kept);
        }
    }
    if (request.params.max_tokens == 0) {  // Echo: only the prompt was asked for.
        news.finish_reason = FinishReason::kLength;
        return scheduler.remove(request);
    }
    news.token = sampled.token;
    if (sampled.logprobs.count > 0) {
        const auto begin = executed.logprobs.begin() + sampled.logprobs.begin;
        news.logprobs.assign(begin, begin + sampled.logprobs.count);
    }
    scheduler.append_token(request, sampled.token);
    const FinishCheck finish = check_finish(request, max_model_len);
    news.finish_reason = finish.reason;
    news.stop_token_id = finish.stop_token_id;
    if (finish.reason != FinishReason::kNone) scheduler.remove(request);
}

void EngineCore::Impl::describe(RequestState& request, int64_t token_us, RequestOutput& news) {
    news.id = request.id;
    news.num_cached_tokens = std::max(request.num_cached_tokens, 0);
    news.num_preemptions = request.num_preemptions;
    news.queued_us = request.queued_us;
    news.scheduled_us = std::max<int64_t>(request.scheduled_us, 0);
    news.token_us = token_us;
}

void EngineCore::Impl::count(StepStats& stats) const {
    stats.num_running = static_cast<int32_t>(scheduler.running().size());
    stats.num_waiting = scheduler.waiting().size();
    stats.kv_cache_usage = scheduler.kv().pool().usage();
}

bool EngineCore::has_work() const { return impl_->abort_all || impl_->scheduler.has_work(); }

bool EngineCore::reset_prefix_cache(bool preempt_running) {
    return impl_->scheduler.reset_prefix_cache(preempt_running);
}

void EngineCore::set_pause(PauseState state) { impl_->scheduler.set_pause(state); }

PauseState EngineCore::pause() const { return impl_->scheduler.pause(); }

void EngineCore::abort_all() { impl_->abort_all = true; }

const Scheduler& EngineCore::scheduler() const { return impl_->scheduler; }

}  // namespace weir
