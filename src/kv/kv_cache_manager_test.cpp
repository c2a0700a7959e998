#include "kv/kv_cache_manager.h"

#include <gtest/gtest.h>

#include <numeric>

namespace weir {
namespace {

constexpr BlockExtraKeys kNoKeys{};
constexpr uint64_t kNoneHashWord = 0x12aa388360fa86f6;

std::vector<TokenId> tokens(int32_t count, TokenId first = 100) {
    std::vector<TokenId> ids(static_cast<size_t>(count));
    std::iota(ids.begin(), ids.end(), first);
    return ids;
}

/// Takes slots for all tokens, prefix hits first; false if they do not fit.
bool take(KvCacheManager& kv, KvSequence& sequence, const std::vector<TokenId>& ids,
          std::string_view salt = "") {
    kv.hash_full_blocks(sequence, ids, salt);
    const auto num_tokens = static_cast<int32_t>(ids.size());
    const std::span<const BlockId> hits = kv.find_prefix(sequence, num_tokens);
    const int32_t num_hit = static_cast<int32_t>(hits.size()) * kv.block_size();
    return kv.allocate_slots(sequence,
                             {.num_computed_tokens = num_hit,
                              .num_new_tokens = num_tokens - num_hit,
                              .num_tokens = num_tokens,
                              .num_reserved_tokens = num_tokens},
                             hits);
}

}  // namespace

class BlockHasherTest : public testing::TestWithParam<BlockHashAlgo> {};

TEST_P(BlockHasherTest, EachInputMattersAndNothingElse) {
    BlockHasher hasher(GetParam());
    const std::vector<TokenId> ids = tokens(16);
    const BlockHash plain = hasher.hash(hasher.none_hash(), ids, kNoKeys);
    EXPECT_EQ(plain, BlockHasher(GetParam()).hash(hasher.none_hash(), ids, kNoKeys));
    EXPECT_NE(plain, hasher.hash(plain, ids, kNoKeys));
    EXPECT_NE(plain, hasher.hash(hasher.none_hash(), tokens(16, 101), kNoKeys));
    EXPECT_NE(plain, hasher.hash(hasher.none_hash(), ids, {.cache_salt = "x"}));
    EXPECT_NE(hasher.hash(hasher.none_hash(), ids, {.cache_salt = "x"}),
              hasher.hash(hasher.none_hash(), ids, {.cache_salt = "y"}));
    std::vector<TokenId> swapped = ids;
    std::swap(swapped[3], swapped[4]);
    EXPECT_NE(plain, hasher.hash(hasher.none_hash(), swapped, kNoKeys));
}

INSTANTIATE_TEST_SUITE_P(Algos, BlockHasherTest,
                         testing::Values(BlockHashAlgo::kSha256, BlockHashAlgo::kFast));

TEST(BlockHasher, Sha256IsTheRealOne) {
    // sha256("vllm-none-hash"), by coreutils' sha256sum.
    EXPECT_EQ(BlockHasher(BlockHashAlgo::kSha256).none_hash().words[0], kNoneHashWord);
}

TEST(BlockHasher, NamesOfTheFlag) {
    EXPECT_EQ(parse_block_hash_algo("sha256"), BlockHashAlgo::kSha256);
    EXPECT_EQ(parse_block_hash_algo("sha256_cbor"), BlockHashAlgo::kSha256);
    EXPECT_EQ(parse_block_hash_algo("xxhash"), BlockHashAlgo::kFast);
    EXPECT_EQ(parse_block_hash_algo("md5"), std::nullopt);
}

TEST(KvCacheManager, WholeBlocksOnlyAndNeverTheLastToken) {
    constexpr std::pair<int, size_t> kCases[] = {{15, 0}, {16, 0}, {17, 1}, {32, 1}, {33, 2}};
    for (const auto& [length, hit_blocks] : kCases) {
        SCOPED_TRACE(length);
        KvCacheManager kv({.num_blocks = 16});
        KvSequence first, second;
        ASSERT_TRUE(take(kv, first, tokens(length)));
        kv.hash_full_blocks(second, tokens(length), "");
        EXPECT_EQ(kv.find_prefix(second, length).size(), hit_blocks);
        kv.free(first);  // Freed blocks stay findable.
        EXPECT_EQ(kv.find_prefix(second, length).size(), hit_blocks);
    }
}

TEST(KvCacheManager, HitsAreSharedAndCountedOnce) {
    KvCacheManager kv({.num_blocks = 8});
    KvSequence first, second;
    ASSERT_TRUE(take(kv, first, tokens(33)));
    ASSERT_TRUE(take(kv, second, tokens(33)));
    EXPECT_EQ(second.block_ids, (std::vector<BlockId>{1, 2, 4}));
    EXPECT_EQ(kv.pool().ref_count(1), 2);
    EXPECT_EQ(kv.pool().num_free(), 3);
    kv.free(first);
    kv.free(second);
    EXPECT_EQ(kv.pool().num_free(), 7);
    // The partly filled ones in front, then the sequence's tail before its head.
    EXPECT_EQ(kv.pool().free_list(), (std::vector<BlockId>{4, 3, 5, 6, 7, 2, 1}));
}

TEST(KvCacheManager, HitsThatAreFreeNeedRoomToo) {
    KvCacheManager kv({.num_blocks = 5});
    KvSequence first, second, third;
    ASSERT_TRUE(take(kv, first, tokens(33)));
    kv.free(first);
    ASSERT_TRUE(take(kv, second, tokens(17, 5000)));
    kv.hash_full_blocks(third, tokens(33), "");
    ASSERT_EQ(kv.find_prefix(third, 33).size(), 2u);
    EXPECT_FALSE(take(kv, third, tokens(33)));  // Two free, both hits; none left for the third.
    EXPECT_TRUE(third.block_ids.empty());
    EXPECT_EQ(kv.pool().num_free(), 2);
}

TEST(KvCacheManager, ReserveAndWatermark) {
    KvCacheManager kv({.num_blocks = 5, .enable_prefix_caching = false});
    KvSequence sequence;
    SlotDemand demand{.num_new_tokens = 16, .num_tokens = 80, .num_reserved_tokens = 80};
    EXPECT_FALSE(kv.allocate_slots(sequence, demand, {}));
    demand.num_reserved_tokens = 64;
    demand.watermark_blocks = 1;
    EXPECT_FALSE(kv.allocate_slots(sequence, demand, {}));
    demand.watermark_blocks = 0;
    EXPECT_TRUE(kv.allocate_slots(sequence, demand, {}));
    EXPECT_EQ(sequence.block_ids.size(), 1u);  // Reserved means checked, not taken.
    EXPECT_TRUE(sequence.block_hashes.empty());
}

TEST(KvCacheManager, UncomputedBlocksAreForgotten) {
    KvCacheManager kv({.num_blocks = 8});
    KvSequence sequence, other;
    ASSERT_TRUE(take(kv, sequence, tokens(48)));
    kv.forget_uncomputed(sequence, 20);
    kv.hash_full_blocks(other, tokens(49), "");
    EXPECT_EQ(kv.find_prefix(other, 49).size(), 1u);
    kv.free(sequence);
    EXPECT_EQ(kv.pool().free_list(), (std::vector<BlockId>{2, 3, 4, 5, 6, 7, 1}));
}

TEST(KvCacheManager, SaltSeparatesWholeChains) {
    KvCacheManager kv({.num_blocks = 20});
    KvSequence first, second, third;
    ASSERT_TRUE(take(kv, first, tokens(33), "x"));
    kv.hash_full_blocks(second, tokens(33), "y");
    EXPECT_TRUE(kv.find_prefix(second, 33).empty());
    EXPECT_NE(first.block_hashes[1], second.block_hashes[1]);
    kv.hash_full_blocks(third, tokens(33), "x");
    EXPECT_EQ(kv.find_prefix(third, 33).size(), 2u);
}

}  // namespace weir
