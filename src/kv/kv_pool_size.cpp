#include "kv/kv_pool_size.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"

namespace weir {
namespace {

/// Small pools (tests, tiny models) need smaller words than GiB.
std::string memory_text(int64_t bytes) {
    const int64_t shown = std::max<int64_t>(bytes, 0);
    if (shown >= kGiB) return gib(shown);
    return shown >= 10 * kMiB ? mib(shown) : concat(shown / kKiB, " KiB");
}

std::string device_text(const KvPoolInput& input) {
    return input.device == KvDevice::kCpu ? "node" : "device";
}

int64_t blocks_per_request(const KvPoolInput& input) {
    return div_ceil<int64_t>(input.max_model_len, input.block_size);
}

/// What the pool may take at most, if the rest of the node is to fit as well.
int64_t bytes_left(const KvPoolInput& input) {
    return input.memory_free_bytes - input.weight_bytes - input.activation_bytes;
}

Result<int64_t> bytes_by_utilization(const KvPoolInput& input) {
    const double utilization = input.gpu_memory_utilization.value_or(kGpuMemoryUtilizationDefault);
    CHECK(0 < utilization && utilization <= 1);
    const auto requested =
        static_cast<int64_t>(std::ceil(static_cast<double>(input.memory_bytes) * utilization));
    if (input.memory_free_bytes < requested) {
        // Rounded down: the value shown must start.
        const double fits = std::floor(100.0 * static_cast<double>(input.memory_free_bytes) /
                                       static_cast<double>(input.memory_bytes)) /
                            100;
        return fail(
            ErrorCode::kOutOfMemory,
            concat("Free memory on ", device_text(input), " (",
                   memory_text(input.memory_free_bytes), " of ", memory_text(input.memory_bytes),
                   ") on startup is less than desired GPU memory utilization (", utilization, ", ",
                   memory_text(requested), "): decrease --gpu-memory-utilization to ", fits,
                   " or free memory used by other processes",
                   input.device == KvDevice::kCpu
                       ? " (on a CPU this flag governs main memory, despite its name)"
                       : ""),
            "gpu_memory_utilization");
    }
    return requested - input.weight_bytes - input.activation_bytes;
}

/// A size that a flag names is taken exactly, or refused.
Result<int64_t> bytes_by_flag(const KvPoolInput& input, int64_t asked, const char* flag,
                              const char* param) {
    if (asked > bytes_left(input)) {
        const int64_t blocks = std::max<int64_t>(bytes_left(input), 0) / input.block_bytes;
        return fail(ErrorCode::kOutOfMemory,
                    concat("Available memory on ", device_text(input), " (",
                           memory_text(bytes_left(input)), " besides the model's ",
                           memory_text(input.weight_bytes + input.activation_bytes),
                           ") is less than requested memory for kv (", memory_text(asked),
                           "): decrease ", flag, "; ", blocks, " blocks (",
                           blocks * input.block_bytes, " bytes) would fit"),
                    param);
    }
    return asked;
}

/// design.md 2: what the node can use at most, and never more than half of the free memory.
int64_t bytes_by_default(const KvPoolInput& input) {
    const int64_t useful = (input.max_num_seqs * blocks_per_request(input) + 1) * input.block_bytes;
    return std::min({useful, input.memory_free_bytes / 2, bytes_left(input)});
}

Result<int64_t> pool_bytes(const KvPoolInput& input) {
    if (input.num_gpu_blocks_override) {
        return bytes_by_flag(input, *input.num_gpu_blocks_override * input.block_bytes,
                             "--num-gpu-blocks-override", "num_gpu_blocks_override");
    }
    if (input.kv_cache_memory_bytes) {
        return bytes_by_flag(input, *input.kv_cache_memory_bytes, "--kv-cache-memory-bytes",
                             "kv_cache_memory_bytes");
    }
    if (input.gpu_memory_utilization || input.device == KvDevice::kGpu) {
        return bytes_by_utilization(input);
    }
    return bytes_by_default(input);
}

/// The flag that would make the pool larger.
std::string raise_text(const KvPoolInput& input) {
    if (input.num_gpu_blocks_override) return "increase --num-gpu-blocks-override";
    if (input.kv_cache_memory_bytes) return "increase --kv-cache-memory-bytes";
    if (input.gpu_memory_utilization || input.device == KvDevice::kGpu) {
        return "increase --gpu-memory-utilization";
    }
    return "free memory, or give the pool's size with --kv-cache-memory-bytes";
}

}  // namespace

Result<KvPoolSize> size_kv_pool(const KvPoolInput& input) {
    CHECK(input.block_bytes > 0 && input.block_size > 0);
    CHECK(input.max_model_len > 0 && input.max_num_seqs > 0);
    TRY(const int64_t kv_bytes, pool_bytes(input));
    const int64_t num_blocks = std::max<int64_t>(kv_bytes, 0) / input.block_bytes;
    if (num_blocks < 2) {  // Block 0 is the null block: it never holds tokens.
        return fail(ErrorCode::kKvPoolTooSmall,
                    concat("No available memory for the cache blocks: the KV cache gets ",
                           memory_text(kv_bytes), ", and its two smallest blocks need ",
                           memory_text(2 * input.block_bytes), ": ", raise_text(input)));
    }
    // The null block is reserved in this check, though not in the figures below.
    const int64_t tokens_max = (num_blocks - 1) * input.block_size;
    int32_t max_model_len = input.max_model_len;
    if (blocks_per_request(input) > num_blocks - 1) {
        if (!input.fit_max_model_len) {
            return fail(
                ErrorCode::kKvPoolTooSmall,
                concat("To serve at least one request with the model's max seq len (",
                       input.max_model_len, "), ",
                       memory_text((blocks_per_request(input) + 1) * input.block_bytes),
                       " KV cache is needed, which is larger than the available KV cache memory (",
                       memory_text(kv_bytes), "). The estimated maximum model length is ",
                       tokens_max, ": ", raise_text(input), " or decrease --max-model-len"),
                "max_model_len");
        }
        max_model_len = static_cast<int32_t>(tokens_max);
    }
    const double concurrency = static_cast<double>(num_blocks) /
                               static_cast<double>(div_ceil(max_model_len, input.block_size));
    return KvPoolSize{.num_blocks = num_blocks,
                      .kv_bytes = num_blocks * input.block_bytes,
                      .max_model_len = max_model_len,
                      .max_concurrency = concurrency,
                      .num_tokens = static_cast<int64_t>(concurrency * max_model_len)};
}

std::string kv_capacity_text(KvDevice device, const KvPoolSize& size) {
    std::array<char, 32> concurrency;
    std::snprintf(concurrency.data(), concurrency.size(), "%.2f", size.max_concurrency);
    return concat(device == KvDevice::kCpu ? "CPU" : "GPU",
                  " KV cache size: ", with_commas(size.num_tokens),
                  " tokens, Maximum concurrency for ", with_commas(size.max_model_len),
                  " tokens per request: ", concurrency.data(), "x");
}

std::string auto_fit_text(const KvPoolInput& input, const KvPoolSize& size) {
    if (size.max_model_len == input.max_model_len) return "";
    return concat("Auto-fit max_model_len: reduced from ", input.max_model_len, " to ",
                  size.max_model_len, " to fit in the available KV cache memory (",
                  memory_text(size.kv_bytes), ")");
}

}  // namespace weir
