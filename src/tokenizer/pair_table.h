#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/types.h"

namespace weir {

/// Merge ranks by pair of token ids: an open-addressing table of 8-byte entries (two ids of 20
/// bits, a rank of 24), so that the table of a 50,000-token model (512 KiB) stays in a core's
/// second-level cache.
class PairTable {
 public:
    static constexpr TokenId kIdEnd = (1 << 20) - 1;
    static constexpr uint32_t kRankEnd = (1 << 24) - 1;
    static constexpr uint32_t kNoRank = kRankEnd;

    explicit PairTable(size_t num_pairs) {
        size_t capacity = 16;
        while (capacity * 3 < num_pairs * 4) capacity *= 2;
        entries_.assign(capacity, kEmpty);
        mask_ = capacity - 1;
    }

    /// Keeps the first rank of a repeated pair. CHECK: ids and rank in range, at most num_pairs
    /// pairs.
    void insert(TokenId left, TokenId right, uint32_t rank) {
        CHECK(0 <= left && left < kIdEnd && 0 <= right && right < kIdEnd && rank < kRankEnd);
        const uint64_t key = key_of(left, right);
        size_t slot = slot_of(key);
        while (entries_[slot] != kEmpty) {
            if (entries_[slot] >> 24 == key) return;
            slot = (slot + 1) & mask_;
        }
        entries_[slot] = key << 24 | rank;
    }

    /// Rank of the merge, or kNoRank.
    uint32_t rank(TokenId left, TokenId right) const {
        const uint64_t key = key_of(left, right);
        for (size_t slot = slot_of(key);; slot = (slot + 1) & mask_) {
            const uint64_t entry = entries_[slot];
            if (entry >> 24 == key) return static_cast<uint32_t>(entry & 0xffffff);
            if (entry == kEmpty) return kNoRank;
        }
    }

 private:
    static constexpr uint64_t kEmpty = ~uint64_t{0};  // No rank is kRankEnd, so no entry is this.

    static uint64_t key_of(TokenId left, TokenId right) {
        return static_cast<uint64_t>(left) << 20 | static_cast<uint64_t>(right);
    }
    size_t slot_of(uint64_t key) const { return (key * 0x9e3779b97f4a7c15ULL >> 40) & mask_; }

    std::vector<uint64_t> entries_;
    size_t mask_;
};

}  // namespace weir
