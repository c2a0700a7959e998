#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "sampling/sampled_token.h"
#include "sched/scheduler_output.h"

namespace weir {

/// Log-probabilities of a prompt token, for requests with prompt_logprobs.
struct PromptLogprob {
    int32_t request_index = 0;  // Into SchedulerOutput::requests.
    int32_t position = 0;       // Of the token described; never 0.
    LogprobRange logprobs;
};

/// Reused from step to step, so that a steady decode allocates nothing.
struct ExecutorOutput {
    std::vector<SampledToken> sampled;  // Same order and size as SchedulerOutput::requests.
    std::vector<PromptLogprob> prompt_logprobs;
    std::vector<TokenLogprob> logprobs;  // Pool that the ranges point into.

    void clear() {
        sampled.clear();
        prompt_logprobs.clear();
        logprobs.clear();
    }
};

/// Computes steps. Implementations: CpuExecutor, the simulator's cost model, scripts in tests.
/// Called by the engine thread only.
class Executor {
 public:
    virtual ~Executor() = default;
    /// Fills `output` (cleared first). An error is final: the engine stops with it.
    virtual Result<void> execute(const SchedulerOutput& step, ExecutorOutput& output) = 0;
};

}  // namespace weir
