#include "kv/kv_cache_manager.h"

#include <algorithm>

#include "base/check.h"
#include "base/units.h"
#include "kv/planted_bug.h"

namespace weir {

KvCacheManager::KvCacheManager(const Options& options)
    : pool_(options.num_blocks),
      hasher_(options.hash_algo),
      block_size_(options.block_size),
      enable_prefix_caching_(options.enable_prefix_caching) {
    CHECK(block_size_ > 0);
}

void KvCacheManager::hash_full_blocks(KvSequence& sequence, std::span<const TokenId> token_ids,
                                      std::string_view cache_salt) {
    if (!enable_prefix_caching_) return;
    const size_t block_size = static_cast<size_t>(block_size_);
    std::vector<BlockHash>& hashes = sequence.block_hashes;
    while ((hashes.size() + 1) * block_size <= token_ids.size()) {
        const bool first = hashes.empty();
        hashes.push_back(hasher_.hash(first ? hasher_.none_hash() : hashes.back(),
                                      token_ids.subspan(hashes.size() * block_size, block_size),
                                      {.cache_salt = first ? cache_salt : std::string_view{}}));
    }
}

std::span<const BlockId> KvCacheManager::find_prefix(const KvSequence& sequence,
                                                     int32_t num_tokens) {
    hits_.clear();
    const int32_t num_tokens_max = PLANTED(kLastTokenCached) ? num_tokens : num_tokens - 1;
    const size_t num_hits_max = static_cast<size_t>(num_tokens_max / block_size_);
    for (size_t i = 0; i < std::min(num_hits_max, sequence.block_hashes.size()); ++i) {
        const std::optional<BlockId> id = pool_.find(sequence.block_hashes[i]);
        if (!id) break;
        hits_.push_back(*id);
    }
    return hits_;
}

bool KvCacheManager::allocate_slots(KvSequence& sequence, const SlotDemand& demand,
                                    std::span<const BlockId> hits) {
    CHECK(hits.empty() || sequence.block_ids.empty());
    const int32_t num_slots = demand.num_computed_tokens + demand.num_new_tokens;
    const int32_t num_held = static_cast<int32_t>(sequence.block_ids.size() + hits.size());
    const auto missing = [&](int32_t num_tokens) {
        return std::max(div_ceil(num_tokens, block_size_) - num_held, 0);
    };
    int32_t num_free = pool_.num_free() - demand.watermark_blocks;
    for (BlockId id : hits) num_free -= pool_.ref_count(id) == 0 ? 1 : 0;
    if (missing(std::max(demand.num_reserved_tokens, num_slots)) > num_free) return false;

    for (BlockId id : hits) {
        pool_.acquire(id);
        sequence.block_ids.push_back(id);
    }
    if (!hits.empty()) sequence.num_cached_blocks = static_cast<int32_t>(hits.size());
    for (int32_t i = missing(num_slots); i > 0; --i) sequence.block_ids.push_back(pool_.allocate());
    make_findable(sequence, std::min(num_slots, demand.num_tokens));
    return true;
}

void KvCacheManager::make_findable(KvSequence& sequence, int32_t num_tokens) {
    if (!enable_prefix_caching_) return;
    int32_t num_full = num_tokens / block_size_;
    if (PLANTED(kUncomputedCached)) {
        num_full = std::min<int32_t>(div_ceil(num_tokens, block_size_),
                                     static_cast<int32_t>(sequence.block_hashes.size()));
    }
    CHECK(num_full <= static_cast<int32_t>(sequence.block_hashes.size()));
    for (int32_t& i = sequence.num_cached_blocks; i < num_full; ++i) {
        const size_t block = static_cast<size_t>(i);
        pool_.set_hash(sequence.block_ids[block], sequence.block_hashes[block]);
    }
}

void KvCacheManager::forget_uncomputed(KvSequence& sequence, int32_t num_computed_tokens) {
    if (PLANTED(kVictimStaysFindable)) return;
    while (sequence.num_cached_blocks > num_computed_tokens / block_size_) {
        sequence.num_cached_blocks -= 1;
        const BlockId id = sequence.block_ids[static_cast<size_t>(sequence.num_cached_blocks)];
        CHECK(pool_.ref_count(id) == 1);  // Else somebody computes on what never came to be.
        pool_.clear_hash(id);
    }
}

void KvCacheManager::free(KvSequence& sequence) {
    if (PLANTED(kFreedHeadFirst))
        std::reverse(sequence.block_ids.begin(), sequence.block_ids.end());
    if (PLANTED(kBlockFreedTwice) && sequence.block_ids.size() > 2) {
        if (pool_.ref_count(sequence.block_ids[0]) > 1) pool_.release(sequence.block_ids[0]);
    }
    while (!sequence.block_ids.empty()) {
        pool_.release(sequence.block_ids.back());
        sequence.block_ids.pop_back();
    }
    sequence.num_cached_blocks = 0;
}

}  // namespace weir
