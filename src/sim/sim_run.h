#pragma once

#include <cstdint>
#include <string>

#include "sim/sim_plan.h"

namespace weir {

/// How a simulated run ended.
struct SimVerdict {
    std::string broken;     // The invariant; empty: none.
    int64_t at_step = -1;   // Where it broke.
    int64_t num_steps = 0;  // Executed.
    uint64_t trace = 0;     // Hash of all that was scheduled and said.
    int64_t num_finished = 0;
    int64_t num_preempted = 0;
    int64_t num_hit_tokens = 0;
    int64_t num_aborted = 0;
};

/// Runs a plan on an EngineCore with a ScriptExecutor and checks after each step: the invariants,
/// that every token is the one that the request gets alone, that nothing is lost or said twice, and
/// that all requests finish within a bound once the faults have stopped. `progress` (may be null)
/// gets the step before it runs: a crash can be told then.
SimVerdict run_plan(const SimPlan& plan, volatile int64_t* progress);

}  // namespace weir
