#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/panels.h"

namespace weir {

/// Rows of activations that the kernels take at once; part of the layout below, not of the numerics.
constexpr int32_t kRowTile = 32;

/// Activation rows [num_rows, cols] as int8 blocks of 32: x = d * q, d = max|x| / 127, q rounded to nearest even.
/// Cut into tiles of kRowTile rows; a tile of n rows lies at row * cols and holds q as [cols / 32][n][32] and the
/// scales as [cols / 32][4][n]: d, d * sum(q), and that sum over each half. Does not own.
struct QuantizedRows {
    int32_t num_rows = 0;
    int32_t cols = 0;
    int8_t* q = nullptr;      // num_rows * cols bytes.
    float* scales = nullptr;  // num_rows * cols / 8 floats.

    int32_t num_tiles() const { return (num_rows + kRowTile - 1) / kRowTile; }
    int32_t tile_rows(int32_t tile) const { return std::min(kRowTile, num_rows - tile * kRowTile); }
    int8_t* tile_q(int32_t tile) const { return q + int64_t{tile} * kRowTile * cols; }
    float* tile_scales(int32_t tile) const {
        return scales + int64_t{tile} * kRowTile * (cols / kBlock) * 4;
    }
};

/// Float rows for matrices that are not quantised.
struct FloatRows {
    const float* data = nullptr;
    int64_t stride = 0;  // In floats.
    int32_t num_rows = 0;
};

}  // namespace weir
