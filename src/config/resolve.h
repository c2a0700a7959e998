#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/engine_config.h"
#include "config/serve_config.h"

namespace weir {

struct ResolvedScheduler {
    SchedulerConfig scheduler;
    std::vector<std::string> warnings;
};

/// Defaults of reference 1.10 (the CPU backend's row) and the checks of 1.11. `max_model_len` is
/// the final one (the flag, or the model's length, or what auto found). Fails with kBadConfig,
/// naming the flags and numbers.
Result<ResolvedScheduler> resolve_scheduler(const ServeConfig& config, int64_t max_model_len);

/// The longest request that is admitted, before any fit to the KV cache: the flag, else the model's
/// own length. Above the model's length: refused unless `allow_longer`
/// (VLLM_ALLOW_LONG_MAX_MODEL_LEN).
Result<int64_t> resolve_max_model_len(const ServeConfig& config, int64_t model_length,
                                      bool allow_longer);

}  // namespace weir
