#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/engine_core.h"
#include "sched/scheduler.h"
#include "sim/script_executor.h"
#include "sim/sim_plan.h"

namespace weir {

/// What must hold after every step, whatever the plan. It recounts by simple means what the core
/// keeps by clever ones, and remembers what the reference's rules need of the step before.
class InvariantChecker {
   public:
    explicit InvariantChecker(const SimPlan& plan);

    /// After reset_prefix_cache(): preemptions up to here belong to no step.
    void note_reset(const Scheduler& scheduler);
    /// Empty, or the first broken invariant.
    std::string check(const Scheduler& scheduler, std::span<const ScriptExecutor::Scheduled> step,
                      const StepStats& stats);

   private:
    struct Seen {  // Of a request, by id.
        int32_t num_preemptions = 0;
        int32_t num_admissions = 0;
        size_t num_hashes = 0;
    };
    Seen& seen(RequestId id);
    std::string check_blocks(const Scheduler& scheduler);
    std::string check_prefixes(const Scheduler& scheduler);
    std::string check_tables(const Scheduler& scheduler) const;
    std::string check_budgets(std::span<const ScriptExecutor::Scheduled> step) const;
    std::string check_order(const Scheduler& scheduler,
                            std::span<const ScriptExecutor::Scheduled> step);
    std::string check_fcfs(const Scheduler& scheduler) const;
    std::string check_priority(const Scheduler& scheduler,
                               std::span<const ScriptExecutor::Scheduled> step) const;
    std::string check_stats(const Scheduler& scheduler,
                            std::span<const ScriptExecutor::Scheduled> step,
                            const StepStats& stats);

    const SimPlan& plan_;
    std::vector<Seen> seen_;
    std::vector<int32_t> num_holders_;              // By block.
    std::unordered_map<uint64_t, BlockHash> parents_;  // Of a hash, by its first word.
    std::vector<const RequestState*> preempted_;    // In this step.
    bool reset_ = false;
};

}  // namespace weir
