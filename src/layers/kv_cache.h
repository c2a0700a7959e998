#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/types.h"
#include "kernels/aligned_buffer.h"
#include "kernels/kernel_table.h"
#include "model/model_config.h"

namespace weir {

/// The memory behind the KV blocks, all layers: [layer][block][kv_head][tile][K | V] in binary16, tiles as
/// AttentionTask has them. Reserved at once, backed by memory as blocks are first written.
class KvCache {
   public:
    /// Fails with kOutOfMemory if the address space is refused.
    static Result<KvCache> make(const ModelConfig& config, int32_t block_size, int32_t num_blocks);

    /// Bytes of one block over all layers. Block sizes that are no multiple of 16 waste the rest of a tile.
    static int64_t block_bytes(const ModelConfig& config, int32_t block_size);

    const uint16_t* layer_head(int32_t layer, int32_t kv_head) const;
    int64_t block_stride() const { return block_stride_; }  // In elements, within one layer.
    int32_t block_size() const { return block_size_; }
    int32_t num_blocks() const { return num_blocks_; }

    /// Writes one token's K and V of one head, [head_dim] each, at `offset` in the block.
    void store(int32_t layer, int32_t kv_head, BlockId block, int32_t offset, const uint16_t* k,
               const uint16_t* v);

   private:
    AlignedBuffer buffer_;
    int32_t block_size_ = 0;
    int32_t num_blocks_ = 0;
    int32_t head_dim_ = 0;
    int64_t head_stride_ = 0;
    int64_t block_stride_ = 0;
    int64_t layer_stride_ = 0;
};

}  // namespace weir
