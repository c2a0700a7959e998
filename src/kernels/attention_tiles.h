#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/kernel_table.h"

namespace weir {

/// A score below any real one, yet finite: differences stay numbers.
constexpr float kNoScore = -1e30F;

/// The tile that holds `position`: K, then V.
inline const uint16_t* tile_at(const AttentionTask& task, int32_t position) {
    const BlockId block = task.block_ids[position / task.block_size];
    const int32_t tile = position % task.block_size / kKvTile;
    return task.kv + block * task.block_stride + int64_t{tile} * 2 * kKvTile * task.head_dim;
}

/// First position behind the tile that holds `position`.
inline int32_t tile_end(const AttentionTask& task, int32_t position) {
    const int32_t block_begin = position / task.block_size * task.block_size;
    const int32_t offset = (position - block_begin) / kKvTile * kKvTile;
    return block_begin + std::min(offset + kKvTile, task.block_size);
}

}  // namespace weir
