#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/block_format.h"

namespace weir {

/// How the elements of a panel are stored.
enum class PanelKind {
    kU4,    // Levels 0..15, two a byte.
    kU8,    // Levels 0..63, one a byte.
    kS8,    // Levels -128..127.
    kF32,
    kF16,
    kBF16,
};

constexpr int32_t kPanelWidthMax = 16;
/// Elements along k that share an activation scale, and of one step of the int8 kernels.
constexpr int32_t kBlock = 32;

/// A weight matrix [rows, cols] cut into panels of `width` output rows, so that one SIMD lane is one output row and
/// k runs through memory in order. A panel is a run of cols / 32 blocks; a block holds
///   d[32 / sub_block][width], m[the same] if has_min (binary16 or float), then
///   kU8, kS8: 8 groups of [width][4] levels: group g holds elements 4g..4g+3 of each row;
///   kU4:      4 groups of [width][4] bytes: group g in the low halves, group g + 4 in the high ones.
/// Float kinds have no blocks: [cols][width] elements. Rows beyond `rows` are zeros. Does not own.
struct PanelMatrix {
    PanelKind kind = PanelKind::kF32;
    bool has_min = false;
    bool half_scales = false;
    int32_t sub_block = 0;  // 16 or 32; 0 for floats.
    int32_t offset = 0;     // Without has_min: m = offset * d.
    int32_t level_max = 0;
    int32_t rows = 0;
    int32_t cols = 0;
    int32_t width = 8;          // 8 or 16.
    int64_t block_stride = 0;   // Bytes; for floats those of one k.
    int64_t panel_stride = 0;   // Bytes.
    const std::byte* data = nullptr;

    int32_t num_panels() const { return (rows + width - 1) / width; }
    int64_t bytes() const { return panel_stride * num_panels(); }
    bool quantized() const { return sub_block != 0; }
    int32_t scale_bytes() const { return half_scales ? 2 : 4; }
    int32_t num_sub_blocks() const { return kBlock / sub_block; }
};

/// The layout of a matrix of that format; `data` is still null. `cols` is a multiple of the block size.
PanelMatrix panel_layout(BlockFormat format, int32_t rows, int32_t cols, int32_t width);

/// Fills panels [panel_begin, panel_end) at `out` (the matrix' first byte) from rows as the file has them. Ranges
/// may be filled by different threads.
void pack_panels(const PanelMatrix& layout, BlockFormat format, std::span<const std::byte> file_rows,
                 int32_t panel_begin, int32_t panel_end, std::byte* out);

/// Row `row` as floats, the same values as dequantize_row() gives for the file's row.
void dequantize_panel_row(const PanelMatrix& matrix, int32_t row, std::span<float> out);

}  // namespace weir
