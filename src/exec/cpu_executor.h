#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "config/engine_config.h"
#include "exec/executor.h"
#include "kernels/kernel_table.h"
#include "model/model_files.h"
#include "sampling/sampler.h"

namespace weir {

struct CpuExecutorOptions {
    SchedulerConfig scheduler;
    CacheConfig cache;
    int32_t num_threads = 1;
    LogprobsMode logprobs_mode = LogprobsMode::kRawLogprobs;
    const KernelTable* kernels = nullptr;  // kernels::select().
};

/// Memory that a model needs on this CPU, known before anything is loaded.
struct CpuMemoryNeed {
    int64_t weight_bytes = 0;      // Repacked weights.
    int64_t activation_bytes = 0;  // Buffers of a step of max_num_batched_tokens.
    int64_t block_bytes = 0;       // One KV block over all layers.
};
Result<CpuMemoryNeed> cpu_memory_need(const ModelFiles& files, const KernelTable& kernels,
                                      int32_t max_num_batched_tokens, int32_t block_size);

/// Computes steps on this machine's CPU. Loads and repacks the weights, reserves the KV cache and
/// runs one small step, so that the first request meets warm buffers.
Result<std::unique_ptr<Executor>> make_cpu_executor(std::shared_ptr<ModelFiles> files,
                                                    const CpuExecutorOptions& options);

}  // namespace weir
