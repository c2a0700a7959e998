#include "tokenizer/bpe_merger.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace weir {
namespace {

// Up to here a scan for the best pair beats a heap.
constexpr size_t kShortMax = 32;
constexpr uint32_t kEnd = UINT32_MAX;

constexpr auto kWorse = [](const BpeScratch::Candidate& a, const BpeScratch::Candidate& b) {
    return a.order > b.order;
};

}  // namespace

BpeMerger::BpeMerger(const std::vector<BpeMerge>& merges) : ranks_(merges.size()) {
    merged_.reserve(merges.size());
    for (const BpeMerge& merge : merges) {
        ranks_.insert(merge.left, merge.right, static_cast<uint32_t>(merged_.size()));
        merged_.push_back(merge.merged);
    }
}

size_t BpeMerger::merge_short(TokenId* symbols, size_t num_symbols) const {
    std::array<uint32_t, kShortMax> ranks;  // ranks[i]: of the pair of symbols i and i + 1.
    size_t n = num_symbols;
    for (size_t i = 0; i + 1 < n; ++i) ranks[i] = ranks_.rank(symbols[i], symbols[i + 1]);
    while (n > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; ++i) {
            if (ranks[i] < ranks[best]) best = i;
        }
        if (ranks[best] == PairTable::kNoRank) break;
        symbols[best] = merged_[ranks[best]];
        for (size_t i = best + 1; i + 1 < n; ++i) {
            symbols[i] = symbols[i + 1];
            ranks[i - 1] = ranks[i];
        }
        --n;
        if (best > 0) ranks[best - 1] = ranks_.rank(symbols[best - 1], symbols[best]);
        if (best + 1 < n) ranks[best] = ranks_.rank(symbols[best], symbols[best + 1]);
    }
    return n;
}

void BpeMerger::push_candidate(BpeScratch& scratch, uint32_t position) const {
    const BpeScratch::Node& left = scratch.nodes[position];
    if (left.next == kEnd) return;
    const TokenId right = scratch.nodes[left.next].id;
    const uint32_t rank = ranks_.rank(left.id, right);
    if (rank == PairTable::kNoRank) return;
    scratch.heap.push_back({uint64_t{rank} << 32 | position, left.id, right});
    std::push_heap(scratch.heap.begin(), scratch.heap.end(), kWorse);
}

void BpeMerger::merge_long(BpeScratch& scratch, std::vector<TokenId>& out) const {
    const auto n = static_cast<uint32_t>(scratch.symbols.size());
    auto& nodes = scratch.nodes;
    nodes.resize(n);
    scratch.heap.clear();
    for (uint32_t i = 0; i < n; ++i) {
        nodes[i] = {scratch.symbols[i], i == 0 ? kEnd : i - 1, i + 1 == n ? kEnd : i + 1};
    }
    for (uint32_t i = 0; i < n; ++i) push_candidate(scratch, i);
    while (!scratch.heap.empty()) {
        std::pop_heap(scratch.heap.begin(), scratch.heap.end(), kWorse);
        const BpeScratch::Candidate candidate = scratch.heap.back();
        scratch.heap.pop_back();
        const auto position = static_cast<uint32_t>(candidate.order);
        BpeScratch::Node& left = nodes[position];
        // Stale: one of the two was merged away since. A removed node has no id.
        if (left.id != candidate.left || left.next == kEnd) continue;
        BpeScratch::Node& right = nodes[left.next];
        if (right.id != candidate.right) continue;
        left.id = merged_[candidate.order >> 32];
        right.id = kNoToken;
        left.next = right.next;
        if (right.next != kEnd) nodes[right.next].previous = position;
        push_candidate(scratch, position);
        if (left.previous != kEnd) push_candidate(scratch, left.previous);
    }
    for (uint32_t i = 0; i != kEnd; i = nodes[i].next) out.push_back(nodes[i].id);
}

void BpeMerger::merge(BpeScratch& scratch, std::vector<TokenId>& out) const {
    if (scratch.symbols.empty()) return;
    if (scratch.symbols.size() > kShortMax) return merge_long(scratch, out);
    const size_t n = merge_short(scratch.symbols.data(), scratch.symbols.size());
    out.insert(out.end(), scratch.symbols.begin(),
               scratch.symbols.begin() + static_cast<std::ptrdiff_t>(n));
}

TokenId BpeMerger::merge_to_one(BpeScratch& scratch) const {
    if (scratch.symbols.empty()) return kNoToken;
    if (scratch.symbols.size() <= kShortMax) {
        const size_t n = merge_short(scratch.symbols.data(), scratch.symbols.size());
        return n == 1 ? scratch.symbols[0] : kNoToken;
    }
    std::vector<TokenId> out;
    merge_long(scratch, out);
    return out.size() == 1 ? out[0] : kNoToken;
}

}  // namespace weir
