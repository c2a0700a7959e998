#include "kv/block_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>

#include "base/testing.h"

namespace weir {
namespace {

BlockHash hash_of(uint64_t name) { return BlockHash{{name, 0, 0, 0}}; }

/// The same promises, kept by the simplest means: lists that are searched.
struct NaivePool {
    std::deque<BlockId> free_ids;
    std::map<BlockId, int> ref_counts;
    std::vector<std::pair<uint64_t, BlockId>> hashes;  // In order of insertion.

    explicit NaivePool(int32_t num_blocks) {
        for (BlockId id = 1; id < num_blocks; ++id) free_ids.push_back(id);
    }
    bool hashed(BlockId id) const {
        return std::any_of(hashes.begin(), hashes.end(), [&](auto& h) { return h.second == id; });
    }
    void clear_hash(BlockId id) {
        std::erase_if(hashes, [&](auto& h) { return h.second == id; });
    }
    BlockId allocate() {
        const BlockId id = free_ids.front();
        free_ids.pop_front();
        clear_hash(id);
        ref_counts[id] = 1;
        return id;
    }
    void acquire(BlockId id) {
        if (ref_counts[id]++ == 0) std::erase(free_ids, id);
    }
    void release(BlockId id) {
        if (--ref_counts[id] > 0) return;
        if (hashed(id)) {
            free_ids.push_back(id);
        } else {
            free_ids.push_front(id);
        }
    }
    std::optional<BlockId> find(uint64_t name) const {
        for (const auto& [hash, id] : hashes) {
            if (hash == name) return id;
        }
        return std::nullopt;
    }
};

}  // namespace

TEST(BlockPool, HandsOutIdsInOrderAndNeverTheNullBlock) {
    BlockPool pool(4);
    EXPECT_EQ(pool.num_free(), 3);
    EXPECT_EQ(pool.free_list(), (std::vector<BlockId>{1, 2, 3}));
    EXPECT_EQ(pool.allocate(), 1);
    EXPECT_EQ(pool.allocate(), 2);
    EXPECT_EQ(pool.allocate(), 3);
    EXPECT_EQ(pool.num_free(), 0);
    EXPECT_EQ(pool.usage(), 1.0);
    EXPECT_EQ(BlockPool(1).usage(), 0.0);
}

TEST(BlockPool, UncachedBlocksGoToTheFrontCachedOnesToTheTail) {
    BlockPool pool(6);
    for (int i = 0; i < 3; ++i) pool.allocate();
    pool.set_hash(1, hash_of(10));
    pool.set_hash(2, hash_of(20));
    for (BlockId id : {3, 2, 1}) pool.release(id);
    EXPECT_EQ(pool.free_list(), (std::vector<BlockId>{3, 4, 5, 2, 1}));
    EXPECT_EQ(pool.usage(), 0.0);  // Cached blocks without a holder are free.
}

TEST(BlockPool, HitsLeaveTheFreeListAndEvictionForgets) {
    BlockPool pool(3);
    pool.allocate();
    pool.set_hash(1, hash_of(10));
    pool.release(1);
    pool.acquire(*pool.find(hash_of(10)));
    EXPECT_EQ(pool.ref_count(1), 1);
    EXPECT_EQ(pool.free_list(), (std::vector<BlockId>{2}));
    pool.acquire(1);
    pool.release(1);
    EXPECT_EQ(pool.num_free(), 1);
    pool.release(1);
    EXPECT_EQ(pool.allocate(), 2);
    EXPECT_TRUE(pool.find(hash_of(10)).has_value());
    EXPECT_EQ(pool.allocate(), 1);
    EXPECT_FALSE(pool.find(hash_of(10)).has_value());
}

TEST(BlockPool, OneHashOnManyBlocksGivesTheFirstInserted) {
    BlockPool pool(5);
    for (int i = 0; i < 4; ++i) pool.allocate();
    for (BlockId id : {3, 1, 4}) pool.set_hash(id, hash_of(7));
    EXPECT_EQ(pool.find(hash_of(7)), 3);
    pool.clear_hash(3);
    EXPECT_EQ(pool.find(hash_of(7)), 1);
    pool.clear_hash(4);
    EXPECT_EQ(pool.find(hash_of(7)), 1);
    pool.clear_hash(1);
    EXPECT_EQ(pool.find(hash_of(7)), std::nullopt);
}

TEST(BlockPool, ResetOnlyWhenNothingIsHeld) {
    BlockPool pool(3);
    pool.allocate();
    pool.set_hash(1, hash_of(1));
    EXPECT_FALSE(pool.reset_cache());
    EXPECT_TRUE(pool.find(hash_of(1)).has_value());
    pool.release(1);
    EXPECT_TRUE(pool.reset_cache());
    EXPECT_FALSE(pool.find(hash_of(1)).has_value());
    EXPECT_EQ(pool.num_free(), 2);
}

TEST(BlockPoolDeath, MisuseStops) {
    BlockPool pool(2);
    pool.allocate();
    EXPECT_DEATH(pool.allocate(), "id != kNullBlock");
    EXPECT_DEATH(pool.acquire(1), "block.hashed");
    pool.release(1);
    EXPECT_DEATH(pool.release(1), "ref_count > 0");
    EXPECT_DEATH(pool.ref_count(2), "CHECK");
}

TEST(BlockPool, BehavesLikeTheNaivePool) {
    for (Random random : test_seeds()) {
        SCOPED_TRACE(random.replay());
        const auto num_blocks = static_cast<int32_t>(random.between(2, 24));
        const int64_t num_names = random.between(1, 12);
        BlockPool pool(num_blocks);
        NaivePool naive(num_blocks);
        std::vector<BlockId> held;  // One entry per holder.
        for (int step = 0; step < 4000; ++step) {
            const uint64_t name = static_cast<uint64_t>(random.below(num_names));
            const auto action = random.below(6);
            if (action == 0 && pool.num_free() > 0) {
                const BlockId id = pool.allocate();
                ASSERT_EQ(id, naive.allocate()) << "step " << step;
                held.push_back(id);
            } else if (action <= 2 && !held.empty()) {
                const size_t i =
                    static_cast<size_t>(random.below(static_cast<int64_t>(held.size())));
                pool.release(held[i]);
                naive.release(held[i]);
                held.erase(held.begin() + static_cast<ptrdiff_t>(i));
            } else if (action == 3 && !held.empty() && !pool.has_hash(held.back())) {
                pool.set_hash(held.back(), hash_of(name));
                naive.hashes.emplace_back(name, held.back());
            } else if (action == 4 && !held.empty() && pool.has_hash(held.front())) {
                pool.clear_hash(held.front());
                naive.clear_hash(held.front());
            } else if (const auto found = pool.find(hash_of(name)); found) {
                pool.acquire(*found);
                naive.acquire(*found);
                held.push_back(*found);
            }
            for (int64_t n = 0; n < num_names; ++n) {
                const uint64_t probe = static_cast<uint64_t>(n);
                ASSERT_EQ(pool.find(hash_of(probe)), naive.find(probe)) << "step " << step;
            }
            const std::vector<BlockId> free_ids = pool.free_list();
            ASSERT_TRUE(std::equal(free_ids.begin(), free_ids.end(), naive.free_ids.begin(),
                                   naive.free_ids.end()))
                << "step " << step;
            ASSERT_EQ(pool.num_free(), static_cast<int32_t>(naive.free_ids.size()));
        }
    }
}

}  // namespace weir
