#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "kv/block_hash.h"

namespace weir {

constexpr BlockId kNoBlock = -1;

/// Who holds which KV block, and which free blocks still hold a findable prefix (reference 2.1,
/// 2.3). Blocks are numbers here; their memory is the executor's. A block is either free (ref_count
/// 0, in the free list) or held (ref_count holders). A block with a hash is cached: findable by
/// find(), held or free. Block 0, the null block, is neither free nor held. All calls O(1) per
/// block; nothing allocates after the constructor.
class BlockPool {
 public:
    explicit BlockPool(int32_t num_blocks);

    int32_t num_blocks() const { return static_cast<int32_t>(blocks_.size()); }
    int32_t num_free() const { return num_free_; }
    int32_t num_usable() const { return num_blocks() - 1; }
    /// Held share of the usable blocks; cached free ones do not count.
    double usage() const;

    /// Takes the head of the free list; a hash that it still has is forgotten (eviction).
    /// CHECKs that a block is free.
    BlockId allocate();
    /// One more holder of a block that find() gave; a free one leaves the free list.
    void acquire(BlockId id);
    /// One holder less for each, in the given order: a sequence gives its last block first. Blocks
    /// without holders become free: cached ones at the tail of the list (so they are evicted in
    /// the order of their release), others at its front.
    void release(BlockId id);

    /// The block that first got this hash and still has it.
    std::optional<BlockId> find(const BlockHash& hash) const;
    /// Makes a held block findable. Several blocks may carry one hash.
    void set_hash(BlockId id, const BlockHash& hash);
    void clear_hash(BlockId id);
    bool has_hash(BlockId id) const { return blocks_[index(id)].hashed; }
    const BlockHash& hash(BlockId id) const { return blocks_[index(id)].hash; }
    int32_t ref_count(BlockId id) const { return blocks_[index(id)].ref_count; }

    /// Forgets all hashes; false and nothing done if any block is held.
    bool reset_cache();

    /// From head to tail, for tests and invariants. O(blocks).
    std::vector<BlockId> free_list() const;

 private:
    struct Block {
        int32_t ref_count = 0;
        bool hashed = false;
        BlockId prev_free = kNoBlock;
        BlockId next_free = kNoBlock;
        // Blocks of one hash form a list in order of insertion; its head (the leader) is linked
        // into the chain of its bucket. The leader's prev_same is the list's tail.
        BlockId prev_same = kNoBlock;
        BlockId next_same = kNoBlock;
        BlockId next_in_bucket = kNoBlock;  // Leaders only.
        BlockHash hash;
    };

    size_t index(BlockId id) const;
    void unlink_free(BlockId id);
    void link_free(BlockId id, BlockId before);
    BlockId* leader_link(const BlockHash& hash);

    std::vector<Block> blocks_;     // [num_blocks]; 0 doubles as the free list's sentinel.
    std::vector<BlockId> buckets_;  // [power of two]; first leader or kNoBlock.
    int32_t num_free_ = 0;
    int32_t num_hashed_ = 0;
};

}  // namespace weir
