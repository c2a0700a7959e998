#include "kernels/panels.h"

#include <cstring>

#include "base/check.h"
#include "kernels/half.h"

namespace weir {

namespace {

int32_t element_bytes(PanelKind kind) {
    switch (kind) {
        case PanelKind::kF32: return 4;
        case PanelKind::kF16:
        case PanelKind::kBF16: return 2;
        case PanelKind::kU4:
        case PanelKind::kU8:
        case PanelKind::kS8: return 1;
    }
    return 0;
}

int64_t scales_bytes(const PanelMatrix& m) {
    return int64_t{m.num_sub_blocks()} * (m.has_min ? 2 : 1) * m.width * m.scale_bytes();
}

void write_scale(const PanelMatrix& m, std::byte* at, float value) {
    if (m.half_scales) {
        // Came from a binary16 number: the way back is exact.
        const uint16_t half = float_to_half_saturated(value);
        std::memcpy(at, &half, 2);
    } else {
        std::memcpy(at, &value, 4);
    }
}

float read_scale(const PanelMatrix& m, const std::byte* at) {
    if (m.half_scales) {
        uint16_t half;
        std::memcpy(&half, at, 2);
        return half_to_float(half);
    }
    float value;
    std::memcpy(&value, at, 4);
    return value;
}

/// Writes 32 elements of one row into its lane of one panel block.
void write_lane(const PanelMatrix& m, const UnpackedBlock& from, int32_t first_element, int32_t lane,
                std::byte* block) {
    const int32_t first_sub = first_element / m.sub_block;
    for (int32_t s = 0; s < m.num_sub_blocks(); ++s) {
        write_scale(m, block + (s * m.width + lane) * m.scale_bytes(), from.d[first_sub + s]);
        if (!m.has_min) continue;
        const int32_t index = (m.num_sub_blocks() + s) * m.width + lane;
        write_scale(m, block + index * m.scale_bytes(), from.m[first_sub + s]);
    }
    auto* levels = reinterpret_cast<uint8_t*>(block + scales_bytes(m));
    const uint8_t* in = from.levels + first_element;
    if (m.kind == PanelKind::kU4) {
        for (int g = 0; g < 4; ++g) {
            for (int j = 0; j < 4; ++j) {
                levels[(g * m.width + lane) * 4 + j] =
                    static_cast<uint8_t>(in[4 * g + j] | (in[4 * g + 16 + j] << 4));
            }
        }
        return;
    }
    for (int g = 0; g < 8; ++g) std::memcpy(levels + (g * m.width + lane) * 4, in + 4 * g, 4);
}

void pack_float_panel(const PanelMatrix& m, const std::byte* rows, int32_t num_rows, std::byte* out) {
    const int64_t bytes = element_bytes(m.kind);
    for (int32_t lane = 0; lane < num_rows; ++lane) {
        const std::byte* row = rows + lane * m.cols * bytes;
        for (int64_t k = 0; k < m.cols; ++k) {
            std::memcpy(out + (k * m.width + lane) * bytes, row + k * bytes, static_cast<size_t>(bytes));
        }
    }
}

}  // namespace

PanelMatrix panel_layout(BlockFormat format, int32_t rows, int32_t cols, int32_t width) {
    CHECK(width == 8 || width == 16);
    const BlockTraits traits = block_traits(format);
    PanelMatrix m{.has_min = traits.has_min, .half_scales = traits.half_scales,
                  .sub_block = traits.sub_block, .offset = traits.offset,
                  .level_max = traits.level_max, .rows = rows, .cols = cols, .width = width};
    if (traits.sub_block == 0) {
        m.kind = format == BlockFormat::kF32   ? PanelKind::kF32
                 : format == BlockFormat::kF16 ? PanelKind::kF16
                                               : PanelKind::kBF16;
        m.block_stride = int64_t{width} * element_bytes(m.kind);
        m.panel_stride = m.block_stride * cols;
        return m;
    }
    CHECK(cols % traits.block_size == 0);
    m.kind = traits.is_signed           ? PanelKind::kS8
             : traits.level_max <= 15 && traits.sub_block == 32 ? PanelKind::kU4
                                        : PanelKind::kU8;
    const int64_t level_bytes = int64_t{width} * (m.kind == PanelKind::kU4 ? 16 : 32);
    m.block_stride = scales_bytes(m) + level_bytes;
    m.panel_stride = m.block_stride * (cols / kBlock);
    return m;
}

void pack_panels(const PanelMatrix& layout, BlockFormat format, std::span<const std::byte> file_rows,
                 int32_t panel_begin, int32_t panel_end, std::byte* out) {
    const BlockTraits traits = block_traits(format);
    const int64_t row_bytes = int64_t{layout.cols} / traits.block_size * traits.block_bytes;
    CHECK(static_cast<int64_t>(file_rows.size()) == row_bytes * layout.rows);
    UnpackedBlock unpacked;
    for (int32_t panel = panel_begin; panel < panel_end; ++panel) {
        std::byte* to = out + panel * layout.panel_stride;
        const int32_t first = panel * layout.width;
        const int32_t count = layout.rows - first < layout.width ? layout.rows - first : layout.width;
        const std::byte* rows = file_rows.data() + first * row_bytes;
        if (count < layout.width) std::memset(to, 0, static_cast<size_t>(layout.panel_stride));
        if (!layout.quantized()) {
            pack_float_panel(layout, rows, count, to);
            continue;
        }
        for (int32_t lane = 0; lane < count; ++lane) {
            const std::byte* block = rows + lane * row_bytes;
            for (int32_t k = 0; k < layout.cols; k += traits.block_size) {
                unpack_block(format, block, unpacked);
                block += traits.block_bytes;
                for (int32_t e = 0; e < traits.block_size; e += kBlock) {
                    write_lane(layout, unpacked, e, lane, to + (k + e) / kBlock * layout.block_stride);
                }
            }
        }
    }
}

void dequantize_panel_row(const PanelMatrix& m, int32_t row, std::span<float> out) {
    CHECK(0 <= row && row < m.rows && static_cast<int32_t>(out.size()) == m.cols);
    const std::byte* panel = m.data + row / m.width * m.panel_stride;
    const int32_t lane = row % m.width;
    if (!m.quantized()) {
        const BlockFormat format = m.kind == PanelKind::kF32   ? BlockFormat::kF32
                                   : m.kind == PanelKind::kF16 ? BlockFormat::kF16
                                                               : BlockFormat::kBF16;
        const int64_t bytes = element_bytes(m.kind);
        for (int32_t k = 0; k < m.cols; ++k) {
            const std::byte* at = panel + (int64_t{k} * m.width + lane) * bytes;
            dequantize_row(format, {at, static_cast<size_t>(bytes)}, out.subspan(k, 1));
        }
        return;
    }
    for (int32_t k = 0; k < m.cols; ++k) {
        const std::byte* block = panel + k / kBlock * m.block_stride;
        const int32_t e = k % kBlock;
        const int32_t s = e / m.sub_block;
        const float d = read_scale(m, block + (s * m.width + lane) * m.scale_bytes());
        const auto* levels = reinterpret_cast<const uint8_t*>(block + scales_bytes(m));
        const int32_t group = m.kind == PanelKind::kU4 ? e % 16 / 4 : e / 4;
        const uint8_t byte = levels[(group * m.width + lane) * 4 + e % 4];
        int level = m.kind == PanelKind::kS8 ? static_cast<int8_t>(byte) : byte;
        if (m.kind == PanelKind::kU4) level = e < 16 ? byte & 15 : byte >> 4;
        if (m.has_min) {
            const int32_t index = (m.num_sub_blocks() + s) * m.width + lane;
            out[k] = d * static_cast<float>(level) + read_scale(m, block + index * m.scale_bytes());
        } else {
            out[k] = d * static_cast<float>(level + m.offset);
        }
    }
}

}  // namespace weir
