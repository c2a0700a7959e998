#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "kv/block_hash.h"
#include "kv/block_pool.h"

namespace weir {

/// What the cache knows of one sequence; its request owns it. One block table: all layers see all
/// blocks, as under --disable-hybrid-kv-cache-manager. Sliding-window groups (reference 2.7) would
/// become further tables here.
struct KvSequence {
    std::vector<BlockId> block_ids;       // The block table; append-only until free().
    std::vector<BlockHash> block_hashes;  // Of each full block of its tokens, held or not.
    int32_t num_cached_blocks = 0;        // Leading blocks of the table that were made findable.
};

/// How many slots a request asks for.
struct SlotDemand {
    int32_t num_computed_tokens = 0;  // Prefix hits included.
    int32_t num_new_tokens = 0;       // Rows of this step.
    int32_t num_tokens = 0;           // Prompt and output; blocks up to here may become findable.
    int32_t num_reserved_tokens = 0;  // Room must be free for so many in all (reserve_full_isl).
    int32_t watermark_blocks = 0;     // That must stay free.
};

/// KV blocks of all sequences: prefix look-up, allocation, release (reference 2.2 to 2.5). Pure
/// bookkeeping; one thread.
class KvCacheManager {
 public:
    struct Options {
        int32_t num_blocks = 0;  // The null block included.
        int32_t block_size = 16;
        bool enable_prefix_caching = true;
        BlockHashAlgo hash_algo = BlockHashAlgo::kSha256;
    };
    explicit KvCacheManager(const Options& options);

    const BlockPool& pool() const { return pool_; }
    int32_t block_size() const { return block_size_; }
    bool prefix_caching() const { return enable_prefix_caching_; }

    /// Hashes the blocks that `token_ids` (prompt and output, all of it) filled since the last
    /// call. Nothing to do without prefix caching.
    void hash_full_blocks(KvSequence& sequence, std::span<const TokenId> token_ids,
                          std::string_view cache_salt);

    /// The longest run of cached blocks from the sequence's start that leaves at least one of
    /// `num_tokens` to compute. Takes nothing; valid until the next call of any function.
    std::span<const BlockId> find_prefix(const KvSequence& sequence, int32_t num_tokens);

    /// Gives the sequence blocks for num_computed_tokens + num_new_tokens; `hits` (of find_prefix,
    /// for a sequence without blocks) become its first ones. Full blocks are findable from now on,
    /// before the step has computed them: a request of the same step may share them. False, and
    /// nothing done, if it does not fit.
    bool allocate_slots(KvSequence& sequence, const SlotDemand& demand,
                        std::span<const BlockId> hits);

    /// Blocks beyond `num_computed_tokens` were promised in a step that will not compute them: they
    /// must not be found.
    void forget_uncomputed(KvSequence& sequence, int32_t num_computed_tokens);

    /// Gives all blocks back, the last one first. Cached ones stay findable until evicted.
    void free(KvSequence& sequence);

    /// Forgets all cached prefixes; false if any block is held.
    bool reset_prefix_cache() { return pool_.reset_cache(); }

 private:
    void make_findable(KvSequence& sequence, int32_t num_tokens);

    BlockPool pool_;
    BlockHasher hasher_;
    int32_t block_size_;
    bool enable_prefix_caching_;
    std::vector<BlockId> hits_;  // Of the last find_prefix().
};

}  // namespace weir
