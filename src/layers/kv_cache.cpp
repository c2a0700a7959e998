#include "layers/kv_cache.h"

#include <cstring>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"

namespace weir {

namespace {

int64_t head_elements(const ModelConfig& config, int32_t block_size) {
    return int64_t{div_ceil(block_size, kKvTile)} * 2 * kKvTile * config.head_dim;
}

}  // namespace

int64_t KvCache::block_bytes(const ModelConfig& config, int32_t block_size) {
    return head_elements(config, block_size) * config.num_kv_heads * config.num_layers * 2;
}

Result<KvCache> KvCache::make(const ModelConfig& config, int32_t block_size, int32_t num_blocks) {
    CHECK(block_size > 0 && num_blocks > 0);
    KvCache cache;
    cache.block_size_ = block_size;
    cache.num_blocks_ = num_blocks;
    cache.head_dim_ = config.head_dim;
    cache.head_stride_ = head_elements(config, block_size);
    cache.block_stride_ = cache.head_stride_ * config.num_kv_heads;
    cache.layer_stride_ = cache.block_stride_ * num_blocks;
    const int64_t bytes = block_bytes(config, block_size) * num_blocks;
    auto buffer = AlignedBuffer::reserve(bytes, true);
    if (!buffer) {
        return fail(ErrorCode::kOutOfMemory,
                    concat("the kernel refuses to reserve ", mib(bytes), " for the KV cache (",
                           num_blocks, " blocks of ", block_size,
                           " tokens): lower --num-gpu-blocks-override or --kv-cache-memory-bytes"));
    }
    cache.buffer_ = std::move(*buffer);
    return cache;
}

const uint16_t* KvCache::layer_head(int32_t layer, int32_t kv_head) const {
    return buffer_.as<uint16_t>() + layer * layer_stride_ + kv_head * head_stride_;
}

void KvCache::store(int32_t layer, int32_t kv_head, BlockId block, int32_t offset,
                    const uint16_t* k, const uint16_t* v) {
    CHECK(0 <= block && block < num_blocks_ && 0 <= offset && offset < block_size_);
    const int32_t lane = offset % kKvTile;
    uint16_t* tile = buffer_.as<uint16_t>() + layer * layer_stride_ + block * block_stride_ +
                     kv_head * head_stride_ +
                     int64_t{offset / kKvTile} * 2 * kKvTile * head_dim_;
    for (int32_t d = 0; d < head_dim_; ++d) tile[d * kKvTile + lane] = k[d];
    std::memcpy(tile + (kKvTile + lane) * head_dim_, v, static_cast<size_t>(head_dim_) * 2);
}

}  // namespace weir
