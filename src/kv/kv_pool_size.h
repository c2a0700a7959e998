#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace weir {

enum class KvDevice { kCpu, kGpu };

/// What decides how many KV blocks one device can hold. Memory is measured before the model is
/// loaded, so that a refusal comes first.
struct KvPoolInput {
    KvDevice device = KvDevice::kCpu;
    int64_t memory_bytes = 0;        // The whole device, or the memory of the NUMA node.
    int64_t memory_free_bytes = 0;   // Of that, what is free now.
    int64_t weight_bytes = 0;        // This device's share of the model.
    int64_t activation_bytes = 0;    // Peak of a step of max_num_batched_tokens, and other use.
    int64_t block_bytes = 0;         // 2 * layers * kv_heads * head_dim * block_size * dtype bytes.
    int32_t block_size = 16;         // Tokens in a block.
    int32_t max_model_len = 0;       // Tokens of the longest request that is admitted.
    bool fit_max_model_len = false;  // --max-model-len auto or -1: may shrink to what fits.
    int32_t max_num_seqs = 0;

    // Flags, empty if not given; the last one that is given wins.
    std::optional<double> gpu_memory_utilization = {};  // 0 < x <= 1. GPU default: 0.92.
    std::optional<int64_t> kv_cache_memory_bytes = {};  // Exactly so much.
    std::optional<int32_t> num_gpu_blocks_override =
        {};  // Exactly so many, the null block included.
};

struct KvPoolSize {
    int64_t num_blocks = 0;  // The null block included.
    int64_t kv_bytes = 0;    // Of all blocks.
    int32_t max_model_len = 0;
    /// Requests of max_model_len tokens that fit at once, and their tokens: vLLM's figures, which
    /// count the null block. Labels of vllm:cache_config_info.
    double max_concurrency = 0;
    int64_t num_tokens = 0;
};

constexpr double kGpuMemoryUtilizationDefault = 0.92;

/// Sizes the pool as reference 2.6 says; serve, tune and sim all size theirs here, so a prediction
/// cannot drift from the node. On a CPU without flags: what max_num_seqs requests of max_model_len
/// can use, at most half of the free memory (design.md 2). Pure; O(1).
/// Fails with kOutOfMemory if a flag asks for more memory than is free, with kKvPoolTooSmall if not
/// one request of max_model_len tokens fits beside the null block; the text names what would fit.
Result<KvPoolSize> size_kv_pool(const KvPoolInput& input);

/// "CPU KV cache size: 46,592 tokens, Maximum concurrency for 4,096 tokens per request: 11.38x".
std::string kv_capacity_text(KvDevice device, const KvPoolSize& size);
/// "Auto-fit max_model_len: reduced from 8192 to 4096 to fit in ..."; empty if nothing was reduced.
std::string auto_fit_text(const KvPoolInput& input, const KvPoolSize& size);

}  // namespace weir
