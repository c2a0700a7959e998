#include "tokenizer/bpe_merger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/testing.h"

namespace weir {
namespace {

using Ids = std::vector<TokenId>;

/// Too simple to be wrong: looks at all pairs before each merge.
Ids merge_slowly(const std::vector<BpeMerge>& merges, Ids word) {
    std::map<std::pair<TokenId, TokenId>, size_t> ranks;
    for (size_t i = 0; i < merges.size(); ++i)
        ranks.emplace(std::pair(merges[i].left, merges[i].right), i);
    while (true) {
        size_t best_rank = merges.size();
        size_t best = 0;
        for (size_t i = 0; i + 1 < word.size(); ++i) {
            const auto found = ranks.find({word[i], word[i + 1]});
            if (found == ranks.end() || found->second >= best_rank) continue;
            best_rank = found->second;
            best = i;
        }
        if (best_rank == merges.size()) return word;
        word[best] = merges[best_rank].merged;
        word.erase(word.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
}

TEST(BpeMerger, EqualsTheSlowOne) {
    for (Random random : test_seeds()) {
        SCOPED_TRACE(random.replay());
        for (int round = 0; round < 30; ++round) {
            // Few symbols, so that pairs overlap; merged ids may be the parts of later merges.
            std::vector<BpeMerge> merges;
            TokenId num_ids = static_cast<TokenId>(random.between(1, 4));
            const TokenId num_symbols = num_ids;
            for (int64_t n = random.below(30); n > 0; --n) {
                merges.push_back({static_cast<TokenId>(random.below(num_ids)),
                                  static_cast<TokenId>(random.below(num_ids)), num_ids});
                ++num_ids;
            }
            for (size_t i = merges.size(); i > 1; --i) {
                std::swap(merges[i - 1],
                          merges[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
            }
            const BpeMerger merger(merges);
            BpeScratch scratch;
            // Lengths around the switch from scanning to the heap.
            for (const int64_t length : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{31},
                                         int64_t{32}, int64_t{33}, random.between(3, 300)}) {
                Ids word;
                for (int64_t i = 0; i < length; ++i) {
                    word.push_back(static_cast<TokenId>(random.below(num_symbols)));
                }
                const Ids want = merge_slowly(merges, word);
                Ids got;
                scratch.symbols = word;
                merger.merge(scratch, got);
                EXPECT_EQ(got, want) << "length " << length;
                scratch.symbols = word;
                EXPECT_EQ(merger.merge_to_one(scratch), want.size() == 1 ? want[0] : kNoToken);
            }
        }
    }
}

TEST(BpeMerger, AppendsAndKeepsTheFirstOfARepeatedPair) {
    const BpeMerger merger({{0, 1, 2}, {0, 1, 3}});
    BpeScratch scratch;
    scratch.symbols = {0, 1, 0};
    Ids out = {7};
    merger.merge(scratch, out);
    EXPECT_EQ(out, (Ids{7, 2, 0}));
}

}  // namespace
}  // namespace weir
