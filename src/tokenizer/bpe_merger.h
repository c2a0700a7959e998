#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types.h"
#include "tokenizer/pair_table.h"

namespace weir {

/// One merge of byte pair encoding: left and right become merged. Best first in a list of merges.
struct BpeMerge {
    TokenId left;
    TokenId right;
    TokenId merged;
};

/// Working memory of BpeMerger::merge(), kept between calls so that a word allocates nothing. One
/// per thread.
struct BpeScratch {
    struct Node {
        TokenId id;
        uint32_t previous;
        uint32_t next;
    };
    struct Candidate {
        uint64_t order;  // Rank, then position: what is merged first is smallest.
        TokenId left;
        TokenId right;
    };
    std::vector<TokenId> symbols;  // The word's characters (or bytes), filled by the caller.
    std::vector<Node> nodes;
    std::vector<Candidate> heap;
};

/// Applies merges to a word: always the one of the best rank, the leftmost of equals (Sennrich et
/// al. 2016, as Hugging Face's tokenizers do it).
class BpeMerger {
 public:
    explicit BpeMerger(const std::vector<BpeMerge>& merges);

    /// Appends the tokens of the word in scratch.symbols. O(n log n) in its length.
    void merge(BpeScratch& scratch, std::vector<TokenId>& out) const;
    /// The only token of the word in scratch.symbols, or kNoToken.
    TokenId merge_to_one(BpeScratch& scratch) const;

 private:
    size_t merge_short(TokenId* symbols, size_t num_symbols) const;
    void merge_long(BpeScratch& scratch, std::vector<TokenId>& out) const;
    void push_candidate(BpeScratch& scratch, uint32_t position) const;

    PairTable ranks_;
    std::vector<TokenId> merged_;  // By rank.
};

}  // namespace weir
