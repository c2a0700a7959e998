#include "kv/kv_pool_size.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/testing.h"
#include "base/text.h"
#include "base/units.h"

namespace weir {
namespace {

/// 1000 MiB of GPU, half of it allowed; 100 MiB are left for blocks of 10 MiB.
KvPoolInput gpu_node() {
    return {.device = KvDevice::kGpu,
            .memory_bytes = 1000 * kMiB,
            .memory_free_bytes = 900 * kMiB,
            .weight_bytes = 300 * kMiB,
            .activation_bytes = 100 * kMiB,
            .block_bytes = 10 * kMiB,
            .block_size = 16,
            .max_model_len = 80,
            .max_num_seqs = 4,
            .gpu_memory_utilization = 0.5};
}

KvPoolInput cpu_node() {
    KvPoolInput input = gpu_node();
    input.device = KvDevice::kCpu;
    input.gpu_memory_utilization.reset();
    return input;
}

std::string refusal(const KvPoolInput& input) {
    const Result<KvPoolSize> size = size_kv_pool(input);
    return size ? "accepted" : size.error().text;
}

}  // namespace

TEST(SizeKvPool, RefusalSaysWhatWouldFit) {
    KvPoolInput input = gpu_node();
    EXPECT_EQ(size_kv_pool(input)->max_concurrency, 2.0);

    input.max_model_len = 145;  // One more than nine blocks hold; the tenth is the null block.
    EXPECT_EQ(refusal(input),
              "To serve at least one request with the model's max seq len (145), 110 MiB KV cache "
              "is needed, which is larger than the available KV cache memory (100 MiB). The "
              "estimated maximum model length is 144: increase --gpu-memory-utilization or "
              "decrease --max-model-len");
    EXPECT_EQ(size_kv_pool(input).error().code, ErrorCode::kKvPoolTooSmall);
    input.max_model_len = 144;
    EXPECT_TRUE(size_kv_pool(input).has_value());
}

TEST(SizeKvPool, RefusesMoreThanIsFree) {
    KvPoolInput input = gpu_node();
    input.gpu_memory_utilization = 0.95;
    EXPECT_EQ(refusal(input),
              "Free memory on device (900 MiB of 1000 MiB) on startup is less than desired GPU "
              "memory utilization (0.95, 950 MiB): decrease --gpu-memory-utilization to 0.9 or "
              "free memory used by other processes");
    input.device = KvDevice::kCpu;
    EXPECT_NE(refusal(input).find("Free memory on node (900 MiB"), std::string::npos);
    EXPECT_NE(refusal(input).find("despite its name"), std::string::npos);
    input.gpu_memory_utilization = 0.9;
    EXPECT_EQ(refusal(input), "accepted");

    input = cpu_node();
    input.kv_cache_memory_bytes = 501 * kMiB;
    EXPECT_EQ(refusal(input),
              "Available memory on node (500 MiB besides the model's 400 MiB) is less than "
              "requested memory for kv (501 MiB): decrease --kv-cache-memory-bytes; 50 blocks "
              "(524288000 bytes) would fit");
    EXPECT_EQ(size_kv_pool(input).error().code, ErrorCode::kOutOfMemory);
    EXPECT_EQ(size_kv_pool(input).error().param, "kv_cache_memory_bytes");
    input.num_gpu_blocks_override = 51;
    EXPECT_NE(refusal(input).find("decrease --num-gpu-blocks-override; 50 blocks"),
              std::string::npos);
}

TEST(SizeKvPool, RefusesAPoolWithoutBlocks) {
    KvPoolInput input = gpu_node();
    input.gpu_memory_utilization = 0.41;
    EXPECT_EQ(refusal(input),
              "No available memory for the cache blocks: the KV cache gets 10 MiB, and its two "
              "smallest blocks need 20 MiB: increase --gpu-memory-utilization");
    input.gpu_memory_utilization = 0.3;  // Less than the weights.
    EXPECT_NE(refusal(input).find("gets 0 KiB"), std::string::npos);
    input = cpu_node();
    input.memory_free_bytes = 400 * kMiB;
    EXPECT_NE(refusal(input).find("free memory, or give the pool's size"), std::string::npos);
}

TEST(SizeKvPool, FlagsAreObeyedExactly) {
    KvPoolInput input = cpu_node();
    input.kv_cache_memory_bytes = 79 * kMiB;
    EXPECT_EQ(size_kv_pool(input)->num_blocks, 7);
    input.num_gpu_blocks_override = 6;
    EXPECT_EQ(size_kv_pool(input)->num_blocks, 6);
    input.num_gpu_blocks_override = 5;
    EXPECT_NE(refusal(input).find("The estimated maximum model length is 64: increase "
                                  "--num-gpu-blocks-override"),
              std::string::npos);
    EXPECT_EQ(size_kv_pool(gpu_node())->num_blocks, 10);
}

TEST(SizeKvPool, CpuDefaultIsWhatTheNodeCanUseOrHalfOfTheFreeMemory) {
    KvPoolInput input = cpu_node();
    EXPECT_EQ(size_kv_pool(input)->num_blocks, 4 * 5 + 1);
    input.max_num_seqs = 100;
    EXPECT_EQ(size_kv_pool(input)->num_blocks, 45);
    input.weight_bytes = 700 * kMiB;  // Less than half is left beside the model.
    EXPECT_EQ(size_kv_pool(input)->num_blocks, 10);
}

TEST(SizeKvPool, AutoFitsTheModelLength) {
    KvPoolInput input = gpu_node();
    input.max_model_len = 8192;
    input.fit_max_model_len = true;
    const Result<KvPoolSize> size = size_kv_pool(input);
    ASSERT_TRUE(size.has_value()) << size.error().text;
    EXPECT_EQ(size->max_model_len, 144);
    EXPECT_EQ(auto_fit_text(input, *size),
              "Auto-fit max_model_len: reduced from 8192 to 144 to fit in the available KV cache "
              "memory (100 MiB)");
    input.max_model_len = 100;
    EXPECT_EQ(size_kv_pool(input)->max_model_len, 100);
    EXPECT_EQ(auto_fit_text(input, *size_kv_pool(input)), "");
}

TEST(SizeKvPool, CapacityInVllmsWords) {
    KvPoolInput input = gpu_node();
    input.memory_free_bytes = input.memory_bytes = 10'000 * kMiB;
    input.block_size = 128;
    input.max_model_len = 4096;
    input.num_gpu_blocks_override = 364;
    const Result<KvPoolSize> size = size_kv_pool(input);
    ASSERT_TRUE(size.has_value()) << size.error().text;
    EXPECT_EQ(size->max_concurrency, 11.375);
    EXPECT_EQ(kv_capacity_text(KvDevice::kCpu, *size),
              "CPU KV cache size: 46,592 tokens, Maximum concurrency for 4,096 tokens per request: "
              "11.38x");
    EXPECT_EQ(kv_capacity_text(KvDevice::kGpu, *size).substr(0, 4), "GPU ");
}

TEST(SizeKvPool, FillsTheBudgetAndNeverExceedsIt) {
    for (Random random : test_seeds()) {
        SCOPED_TRACE(random.replay());
        KvPoolInput input = gpu_node();
        input.memory_bytes = 1000 * kMiB + random.below(64'000 * kMiB);
        input.memory_free_bytes = input.memory_bytes;
        const int64_t kv_bytes = (input.memory_bytes + 1) / 2 - 400 * kMiB;
        const int64_t num_blocks = size_kv_pool(input).value().num_blocks;
        EXPECT_LE(num_blocks * input.block_bytes, kv_bytes);
        EXPECT_GT((num_blocks + 1) * input.block_bytes, kv_bytes);
    }
}

/// The "startup" part of the case file; its other parts run on EngineCore.
TEST(SizeKvPool, CaseSchedEdgeLengthsStartup) {
    const Result<Json> file = read_json_file(test_file("cases/sched-edge-lengths.json"));
    ASSERT_TRUE(file.has_value()) << file.error().text;
    const Json& variants = (*file)["input"]["startup"];
    ASSERT_EQ(variants.size(), 3u);
    for (const Json& variant : variants.items()) {
        SCOPED_TRACE(variant.dump());
        KvPoolInput input = cpu_node();
        input.max_model_len = 64;
        const int64_t num_blocks = variant["num_blocks"].as_int();
        input.num_gpu_blocks_override = static_cast<int32_t>(num_blocks);
        if (num_blocks >= 5) {
            EXPECT_NE(kv_capacity_text(KvDevice::kCpu, *size_kv_pool(input)).find(": 1.25x"),
                      std::string::npos);
            continue;
        }
        const char* length = num_blocks == 3 ? "32" : "48";
        EXPECT_NE(variant["expect"].as_string().find(length), std::string::npos);
        EXPECT_NE(refusal(input).find(concat("maximum model length is ", length)),
                  std::string::npos)
            << refusal(input);
    }
}

}  // namespace weir
