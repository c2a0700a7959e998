#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "config/engine_config.h"
#include "sched/request.h"

namespace weir {

/// A request of a plan. Its prompt follows from the numbers here.
struct SimRequest {
    RequestId id = 0;      // From 1, ascending with at_step.
    int32_t at_step = 0;   // It arrives before this step.
    int32_t num_prompt_tokens = 1;
    int32_t prefix_group = 0;     // Requests of a group begin with the same tokens ...
    int32_t num_prefix_tokens = 0;  // ... so many of them.
    uint64_t prompt_seed = 0;     // Of the tokens after them; siblings (n > 1) share it.
    uint64_t seed = 0;
    int32_t salt = 0;             // 0: none.
    int32_t priority = 0;
    int32_t max_tokens = 1;       // 0: echo.
    int32_t min_tokens = 0;
    bool ignore_eos = false;
    bool prompt_logprobs = false;
    int32_t abort_at_step = -1;   // -1: never.
};

/// What goes wrong, or what an operator does, before a step.
struct SimFault {
    enum class Kind {
        kSlow,          // The step takes `value` microseconds more.
        kPauseNew,
        kPauseAll,
        kResume,
        kResetCache,    // Fails while blocks are held.
        kResetRunning,  // Preempts all first.
        kAbortStorm,    // `value` percent of what is alive.
        kAbortAll,      // By the core itself, reported.
        kExecutorFails,  // Final.
    };
    Kind kind = Kind::kSlow;
    int32_t at_step = 0;
    int64_t value = 0;
};

/// One simulated run, complete: the same plan gives the same run on any machine and in any later
/// version, while a seed means something only for the commit that draws it.
struct SimPlan {
    uint64_t seed = 0;  // That it was drawn from.
    SchedulerConfig scheduler;
    CacheConfig cache;
    std::vector<SimRequest> requests;
    std::vector<SimFault> faults;
    int32_t num_fault_steps = 0;  // After them: no faults, no pause; everything must finish.
};

/// Draws everything: which features and faults this run has, then their sizes.
SimPlan draw_plan(uint64_t seed);

NewRequest make_request(const SimRequest& request);

Json plan_to_json(const SimPlan& plan);
Result<SimPlan> plan_from_json(const Json& json);

}  // namespace weir
