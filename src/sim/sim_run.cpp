#include "sim/sim_run.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "engine/engine_core.h"
#include "sim/invariants.h"
#include "sim/script_executor.h"

namespace weir {
namespace {

constexpr int64_t kStepUs = 1000;

class SimRun {
   public:
    SimRun(const SimPlan& plan, volatile int64_t* progress);
    SimVerdict run();

   private:
    enum class Status { kToCome, kAlive, kFinished, kAborted };
    struct Record {
        Status status = Status::kToCome;
        NewRequest made;
        std::optional<ScriptText> expected;  // Made at its first output.
        size_t num_tokens = 0;               // Came so far.
        int64_t arrived_us = 0;
    };

    bool calm() const { return step_ >= plan_.num_fault_steps; }
    void collect_events();
    void apply_fault(const SimFault& fault);
    void abort(RequestId id);
    void execute_step();
    void check_output(const RequestOutput& news);
    void check_text(Record& record, const RequestOutput& news);
    void check_prompt_logprobs(const Record& record, const RequestOutput& news);
    void check_aborted();
    bool skip_idle_steps();
    int64_t steps_max() const;
    void broken(std::string what);

    const SimPlan& plan_;
    volatile int64_t* progress_;
    int64_t now_us_ = 1'000'000;
    int64_t extra_us_ = 0;
    ScriptExecutor executor_;
    EngineCore core_;
    InvariantChecker checker_;
    std::vector<Record> records_;  // By id - 1.
    std::vector<NewRequest> arrivals_;
    std::vector<RequestId> aborts_;
    StepOutput output_;
    int64_t step_ = 0;
    size_t next_request_ = 0, next_fault_ = 0;
    int64_t num_calm_steps_ = 0;
    bool failing_ = false, aborting_all_ = false, over_ = false;
    SimVerdict verdict_;
};

SimRun::SimRun(const SimPlan& plan, volatile int64_t* progress)
    : plan_(plan),
      progress_(progress),
      executor_(plan.cache.num_gpu_blocks, plan.cache.block_size, plan.scheduler.max_num_seqs),
      core_(plan.scheduler, plan.cache, plan.seed, executor_,
            [](void* run) {
                SimRun& self = *static_cast<SimRun*>(run);
                return self.now_us_ += kStepUs + self.extra_us_;
            },
            this),
      checker_(plan),
      records_(plan.requests.size()) {
    for (const SimRequest& request : plan.requests) {
        ScriptFacts facts{.salt = mix64(static_cast<uint64_t>(request.salt)),
                          .sampling_seed = mix64(request.seed)};
        executor_.set_facts(request.id, facts);
        records_[request.id - 1].made = make_request(request);
    }
}

SimVerdict SimRun::run() {
    const int64_t num_calm_steps_max = steps_max();
    while (!over_ && verdict_.broken.empty()) {
        if (progress_ != nullptr) *progress_ = step_;
        collect_events();
        execute_step();
        if (calm() && ++num_calm_steps_ > num_calm_steps_max) {
            broken(concat("no end after ", num_calm_steps_max, " steps without faults"));
        }
        if (verdict_.broken.empty() && !skip_idle_steps()) break;
    }
    if (verdict_.broken.empty() && !over_) {
        for (const Record& record : records_) {
            if (record.status == Status::kAlive || record.status == Status::kToCome) {
                broken(concat("request ", record.made.id, " never finished"));
            }
        }
    }
    verdict_.trace = mix64(verdict_.trace ^ executor_.trace());
    return verdict_;
}

/// The first of all unfinished requests computes at least one token in every step, and under fcfs
/// it stays the first. Under priority a late arrival may take its place, each at most once.
int64_t SimRun::steps_max() const {
    int64_t num_tokens = 10;
    for (const SimRequest& request : plan_.requests) {
        num_tokens += request.num_prompt_tokens + request.max_tokens + 2;
    }
    return plan_.scheduler.scheduling_policy == SchedulingPolicy::kFcfs ? num_tokens
                                                                       : 2 * num_tokens;
}

void SimRun::collect_events() {
    arrivals_.clear();
    aborts_.clear();
    extra_us_ = 0;
    aborting_all_ = false;
    for (; next_fault_ < plan_.faults.size() && plan_.faults[next_fault_].at_step <= step_;
         ++next_fault_) {
        if (!calm()) apply_fault(plan_.faults[next_fault_]);
    }
    if (calm()) core_.set_pause(PauseState::kRunning);
    for (; next_request_ < plan_.requests.size() &&
           plan_.requests[next_request_].at_step <= step_;
         ++next_request_) {
        Record& record = records_[plan_.requests[next_request_].id - 1];
        arrivals_.push_back(record.made);
        record.status = Status::kAlive;
        record.arrived_us = now_us_;
    }
    if (calm()) return;
    for (const SimRequest& request : plan_.requests) {
        if (request.abort_at_step == step_) abort(request.id);
    }
}

void SimRun::apply_fault(const SimFault& fault) {
    switch (fault.kind) {
        case SimFault::Kind::kSlow: extra_us_ += fault.value; return;
        case SimFault::Kind::kPauseNew: return core_.set_pause(PauseState::kPausedNew);
        case SimFault::Kind::kPauseAll: return core_.set_pause(PauseState::kPausedAll);
        case SimFault::Kind::kResume: return core_.set_pause(PauseState::kRunning);
        case SimFault::Kind::kExecutorFails:
            failing_ = true;
            return executor_.fail_next();
        case SimFault::Kind::kAbortAll:
            aborting_all_ = true;
            return core_.abort_all();
        case SimFault::Kind::kAbortStorm:
            for (const Record& record : records_) {
                const uint64_t draw = mix64(record.made.id ^ (uint64_t(fault.at_step) << 32)) % 100;
                if (static_cast<int64_t>(draw) < fault.value) abort(record.made.id);
            }
            return;
        case SimFault::Kind::kResetCache:
        case SimFault::Kind::kResetRunning: {
            const bool preempt = fault.kind == SimFault::Kind::kResetRunning;
            const bool was_idle = core_.scheduler().running().empty();
            if (core_.reset_prefix_cache(preempt) != (preempt || was_idle)) {
                broken("reset_prefix_cache: wrong answer");
            }
            return checker_.note_reset(core_.scheduler());
        }
    }
}

/// Also of requests that have finished, or are still to come: nothing may happen then.
void SimRun::abort(RequestId id) {
    Record& record = records_[id - 1];
    aborts_.push_back(id);
    if (record.status != Status::kAlive) return;
    record.status = Status::kAborted;
    verdict_.num_aborted += 1;
}

void SimRun::execute_step() {
    executor_.forget_last_step();
    const StepInput input{.now_us = now_us_, .arrivals = arrivals_, .aborts = aborts_};
    const Result<void> result = core_.step(input, output_);
    verdict_.num_steps += 1;
    if (!result) {
        if (!failing_) broken("the core failed by itself: " + result.error().text);
        over_ = true;
        return;
    }
    if (!executor_.violation().empty()) return broken(executor_.violation());
    std::string wrong = checker_.check(core_.scheduler(), executor_.last_step(), output_.stats);
    if (!wrong.empty()) return broken(std::move(wrong));
    for (const RequestOutput& news : output_.outputs) check_output(news);
    check_aborted();
    verdict_.num_preempted += output_.stats.num_preempted;
    verdict_.num_hit_tokens += output_.stats.prefix_cache_hits;
}

void SimRun::check_output(const RequestOutput& news) {
    verdict_.trace = mix64(verdict_.trace ^ mix64(news.id) ^ static_cast<uint64_t>(news.token));
    Record& record = records_[news.id - 1];
    if (record.status != Status::kAlive) {
        return broken(concat("request ", news.id, " speaks though it has ended"));
    }
    if (news.finish_reason == FinishReason::kAbort) {
        if (!aborting_all_) broken(concat("request ", news.id, " was aborted by nobody"));
        record.status = Status::kAborted;
        return;
    }
    if (news.queued_us != record.arrived_us || news.scheduled_us < news.queued_us ||
        news.token_us < news.scheduled_us + kStepUs || news.token_us > now_us_) {
        broken(concat("request ", news.id, " has times out of order"));
    }
    if (record.num_tokens == 0) check_prompt_logprobs(record, news);
    check_text(record, news);
}

void SimRun::check_text(Record& record, const RequestOutput& news) {
    if (!record.expected) {
        const SimRequest& request = plan_.requests[news.id - 1];
        record.expected = script_text(record.made.token_ids, record.made.params,
                                      record.made.eos_token_id, plan_.scheduler.max_model_len,
                                      {mix64(static_cast<uint64_t>(request.salt)),
                                       mix64(request.seed)});
    }
    const std::vector<TokenId>& want = record.expected->token_ids;
    const size_t index = record.num_tokens;
    const TokenId token = index < want.size() ? want[index] : kNoToken;
    if (news.token != token) {
        return broken(concat("request ", news.id, " token ", index, ": want ", token, ", got ",
                             news.token));
    }
    if (token != kNoToken) record.num_tokens += 1;
    const bool ends = record.num_tokens == want.size();
    if (std::string_view(to_string(news.finish_reason)) !=
        (ends ? record.expected->finish_reason : "")) {
        return broken(concat("request ", news.id, " after token ", index, ": finish reason '",
                             to_string(news.finish_reason), "'"));
    }
    const bool by_stop_id = news.finish_reason == FinishReason::kStop && token == 2;
    if (news.stop_token_id != (by_stop_id ? std::optional<TokenId>(2) : std::nullopt)) {
        return broken(concat("request ", news.id, ": wrong stop_token_id"));
    }
    if (!ends) return;
    record.status = Status::kFinished;
    verdict_.num_finished += 1;
}

void SimRun::check_prompt_logprobs(const Record& record, const RequestOutput& news) {
    const bool wanted = record.made.params.prompt_logprobs.has_value();
    const size_t num_wanted = wanted ? record.made.token_ids.size() - 1 : 0;
    bool right = news.prompt_logprobs.size() == num_wanted;
    for (size_t i = 0; right && i < num_wanted; ++i) {
        const OutputPromptLogprobs& value = news.prompt_logprobs[i];
        right = value.position == static_cast<int32_t>(i) + 1 && value.logprobs.size() == 1 &&
                value.logprobs[0].token == record.made.token_ids[i + 1];
    }
    if (!right) broken(concat("request ", news.id, " has wrong prompt_logprobs"));
}

/// Aborted work stops in the step that hears of it.
void SimRun::check_aborted() {
    for (RequestId id : aborts_) {
        if (records_[id - 1].status != Status::kToCome && core_.scheduler().find(id) != nullptr) {
            broken(concat("request ", id, " lives on after its abort"));
        }
    }
}

/// Moves to the next step in which something happens; false at the end of the run.
bool SimRun::skip_idle_steps() {
    step_ += 1;
    if (core_.has_work()) return true;
    int64_t next = INT64_MAX;
    if (next_request_ < plan_.requests.size()) next = plan_.requests[next_request_].at_step;
    if (next_fault_ < plan_.faults.size()) {
        next = std::min<int64_t>(next, plan_.faults[next_fault_].at_step);
    }
    if (next == INT64_MAX && core_.pause() == PauseState::kRunning) return false;
    if (!calm()) next = std::min<int64_t>(next, plan_.num_fault_steps);
    step_ = std::max(step_, next);
    return true;
}

void SimRun::broken(std::string what) {
    if (!verdict_.broken.empty()) return;
    verdict_.broken = std::move(what);
    verdict_.at_step = step_;
}

}  // namespace

SimVerdict run_plan(const SimPlan& plan, volatile int64_t* progress) {
    return SimRun(plan, progress).run();
}

}  // namespace weir
