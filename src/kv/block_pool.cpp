#include "kv/block_pool.h"

#include <bit>

#include "base/check.h"
#include "base/random.h"
#include "kv/planted_bug.h"

namespace weir {

constexpr BlockId kNullBlock = 0;

BlockPool::BlockPool(int32_t num_blocks) {
    CHECK(num_blocks >= 1);
    blocks_.resize(static_cast<size_t>(num_blocks));
    buckets_.assign(std::bit_ceil(static_cast<size_t>(num_blocks) * 2), kNoBlock);
    blocks_[kNullBlock].prev_free = kNullBlock;
    blocks_[kNullBlock].next_free = kNullBlock;
    for (BlockId id = 1; id < num_blocks; ++id) link_free(id, kNullBlock);
}

double BlockPool::usage() const {
    if (num_usable() == 0) return 0.0;
    return 1.0 - static_cast<double>(num_free_) / static_cast<double>(num_usable());
}

BlockId BlockPool::allocate() {
    const BlockId id = blocks_[kNullBlock].next_free;
    CHECK(id != kNullBlock);
    Block& block = blocks_[index(id)];
    CHECK(block.ref_count == 0);
    unlink_free(id);
    if (block.hashed && !PLANTED(kEvictedStaysFindable)) clear_hash(id);
    block.ref_count = 1;
    return id;
}

void BlockPool::acquire(BlockId id) {
    Block& block = blocks_[index(id)];
    CHECK(block.hashed);
    if (PLANTED(kHitNotReferenced) && block.ref_count > 0) return;
    if (block.ref_count == 0) unlink_free(id);
    block.ref_count += 1;
}

void BlockPool::release(BlockId id) {
    Block& block = blocks_[index(id)];
    CHECK(block.ref_count > 0);
    block.ref_count -= 1;
    if (block.ref_count > 0) return;
    link_free(id, block.hashed ? kNullBlock : blocks_[kNullBlock].next_free);
}

std::optional<BlockId> BlockPool::find(const BlockHash& hash) const {
    const size_t slot = mix64(hash.words[0]) & (buckets_.size() - 1);
    for (BlockId id = buckets_[slot]; id != kNoBlock; id = blocks_[index(id)].next_in_bucket) {
        if (blocks_[index(id)].hash == hash) return id;
    }
    return std::nullopt;
}

void BlockPool::set_hash(BlockId id, const BlockHash& hash) {
    Block& block = blocks_[index(id)];
    if (PLANTED(kEvictedStaysFindable) && block.hashed) clear_hash(id);
    CHECK(!block.hashed && block.ref_count > 0);
    block.hashed = true;
    block.hash = hash;
    block.next_same = kNoBlock;
    block.next_in_bucket = kNoBlock;
    num_hashed_ += 1;
    BlockId* link = leader_link(hash);
    if (*link == kNoBlock) {
        block.prev_same = id;
        *link = id;
        return;
    }
    Block& leader = blocks_[index(*link)];
    const BlockId tail = leader.prev_same;
    blocks_[index(tail)].next_same = id;
    block.prev_same = tail;
    leader.prev_same = id;
}

void BlockPool::clear_hash(BlockId id) {
    Block& block = blocks_[index(id)];
    CHECK(block.hashed);
    block.hashed = false;
    num_hashed_ -= 1;
    BlockId* link = leader_link(block.hash);
    CHECK(*link != kNoBlock);
    if (*link == id) {
        if (block.next_same == kNoBlock) {
            *link = block.next_in_bucket;
            return;
        }
        Block& heir = blocks_[index(block.next_same)];
        heir.prev_same = block.prev_same;
        heir.next_in_bucket = block.next_in_bucket;
        *link = block.next_same;
        return;
    }
    Block& leader = blocks_[index(*link)];
    blocks_[index(block.prev_same)].next_same = block.next_same;
    Block& after = block.next_same == kNoBlock ? leader : blocks_[index(block.next_same)];
    after.prev_same = block.prev_same;
}

bool BlockPool::reset_cache() {
    if (num_free_ != num_usable()) return false;
    for (Block& block : blocks_) block.hashed = false;
    buckets_.assign(buckets_.size(), kNoBlock);
    num_hashed_ = 0;
    return true;
}

std::vector<BlockId> BlockPool::free_list() const {
    std::vector<BlockId> ids;
    for (BlockId id = blocks_[kNullBlock].next_free; id != kNullBlock;
         id = blocks_[index(id)].next_free) {
        ids.push_back(id);
        CHECK(ids.size() <= blocks_.size());
    }
    return ids;
}

size_t BlockPool::index(BlockId id) const {
    CHECK(id >= 0 && static_cast<size_t>(id) < blocks_.size());
    return static_cast<size_t>(id);
}

void BlockPool::unlink_free(BlockId id) {
    Block& block = blocks_[index(id)];
    blocks_[index(block.prev_free)].next_free = block.next_free;
    blocks_[index(block.next_free)].prev_free = block.prev_free;
    num_free_ -= 1;
}

void BlockPool::link_free(BlockId id, BlockId before) {
    const BlockId after = blocks_[index(before)].prev_free;
    blocks_[index(id)].prev_free = after;
    blocks_[index(id)].next_free = before;
    blocks_[index(after)].next_free = id;
    blocks_[index(before)].prev_free = id;
    num_free_ += 1;
}

/// The link that points to the leader of this hash, or the end of its bucket's chain.
BlockId* BlockPool::leader_link(const BlockHash& hash) {
    BlockId* link = &buckets_[mix64(hash.words[0]) & (buckets_.size() - 1)];
    while (*link != kNoBlock && !(blocks_[index(*link)].hash == hash)) {
        link = &blocks_[index(*link)].next_in_bucket;
    }
    return link;
}

}  // namespace weir
