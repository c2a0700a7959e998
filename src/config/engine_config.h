#pragma once

#include <cstdint>
#include <string>

namespace weir {

enum class SchedulingPolicy { kFcfs, kPriority };

/// What the scheduler and the KV cache need to know; resolved and validated (reference 1.10, 1.11)
/// by config/, frozen at start. Names are the flags'.
struct SchedulerConfig {
    int32_t max_num_batched_tokens = 2048;
    int32_t max_num_scheduled_tokens = 0;  // 0: max_num_batched_tokens.
    int32_t max_num_seqs = 128;
    int32_t max_num_active_seqs = 0;  // 0: max_num_seqs.
    int32_t max_model_len = 2048;
    bool enable_chunked_prefill = true;
    int32_t long_prefill_token_threshold = 0;
    bool long_prefill_token_threshold_adaptive = false;
    SchedulingPolicy scheduling_policy = SchedulingPolicy::kFcfs;
    bool scheduler_reserve_full_isl = true;
    double watermark = 0.0;
    int32_t stream_interval = 1;
};

struct CacheConfig {
    int32_t block_size = 16;
    int32_t num_gpu_blocks = 0;  // Block 0, the null block, included.
    bool enable_prefix_caching = true;
    std::string prefix_caching_hash_algo = "sha256";
};

}  // namespace weir
