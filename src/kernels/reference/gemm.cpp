#include <cmath>
#include <cstring>

#include "kernels/half.h"
#include "kernels/reference/reference.h"

namespace weir::reference {

namespace {

/// One lane of one panel block: levels and scales of 32 elements of one weight row.
struct Lane {
    int32_t levels[kBlock];
    float d[2];
    float m[2];
};

float read_scale(const PanelMatrix& w, const std::byte* scales, int32_t index) {
    if (w.half_scales) {
        uint16_t half;
        std::memcpy(&half, scales + 2 * index, 2);
        return half_to_float(half);
    }
    float value;
    std::memcpy(&value, scales + 4 * index, 4);
    return value;
}

Lane read_lane(const PanelMatrix& w, const std::byte* block, int32_t lane) {
    Lane out;
    const int32_t subs = w.num_sub_blocks();
    for (int32_t s = 0; s < subs; ++s) {
        out.d[s] = read_scale(w, block, s * w.width + lane);
        out.m[s] = w.has_min ? read_scale(w, block, (subs + s) * w.width + lane)
                             : out.d[s] * static_cast<float>(w.offset);
    }
    const int32_t num_scales = subs * (w.has_min ? 2 : 1) * w.width;
    const auto* bytes = reinterpret_cast<const uint8_t*>(block + num_scales * w.scale_bytes());
    for (int32_t e = 0; e < kBlock; ++e) {
        if (w.kind == PanelKind::kU4) {
            const uint8_t byte = bytes[(e % 16 / 4 * w.width + lane) * 4 + e % 4];
            out.levels[e] = e < 16 ? byte & 15 : byte >> 4;
        } else {
            const uint8_t byte = bytes[(e / 4 * w.width + lane) * 4 + e % 4];
            out.levels[e] = w.kind == PanelKind::kS8 ? static_cast<int8_t>(byte) : byte;
        }
    }
    return out;
}

float add_block(const PanelMatrix& w, const Lane& lane, const int8_t* q, const float* scales,
                int32_t scale_stride, float acc) {
    for (int32_t s = 0; s < w.num_sub_blocks(); ++s) {
        int32_t dot = 0;
        for (int32_t e = 0; e < w.sub_block; ++e) {
            dot += lane.levels[s * w.sub_block + e] * q[s * w.sub_block + e];
        }
        acc = std::fma(lane.d[s] * scales[0], static_cast<float>(dot), acc);
        if (w.has_min || w.offset != 0) {
            const int32_t sum = w.sub_block == kBlock ? 1 : 2 + s;
            acc = std::fma(lane.m[s], scales[sum * scale_stride], acc);
        }
    }
    return acc;
}

float read_float(const PanelMatrix& w, const std::byte* panel, int64_t index) {
    if (w.kind == PanelKind::kF32) {
        float value;
        std::memcpy(&value, panel + 4 * index, 4);
        return value;
    }
    uint16_t bits;
    std::memcpy(&bits, panel + 2 * index, 2);
    return w.kind == PanelKind::kF16 ? half_to_float(bits) : bfloat16_to_float(bits);
}

}  // namespace

void matmul(const PanelMatrix& w, int32_t panel_begin, int32_t panel_end, const QuantizedRows& x,
            float* y, int64_t y_stride) {
    const int32_t num_blocks = w.cols / kBlock;
    const int32_t row_end = panel_end * w.width < w.rows ? panel_end * w.width : w.rows;
    for (int32_t r = panel_begin * w.width; r < row_end; ++r) {
        for (int32_t row = 0; row < x.num_rows; ++row) y[row * y_stride + r] = 0;
        const std::byte* block = w.data + r / w.width * w.panel_stride;
        for (int32_t b = 0; b < num_blocks; ++b, block += w.block_stride) {
            const Lane lane = read_lane(w, block, r % w.width);
            for (int32_t row = 0; row < x.num_rows; ++row) {
                const int32_t tile = row / kRowTile;
                const int32_t n = x.tile_rows(tile);
                const int32_t t = row % kRowTile;
                const int8_t* q = x.tile_q(tile) + (int64_t{b} * n + t) * kBlock;
                const float* scales = x.tile_scales(tile) + int64_t{b} * 4 * n + t;
                float& out = y[row * y_stride + r];
                out = add_block(w, lane, q, scales, n, out);
            }
        }
    }
}

void matmul_float(const PanelMatrix& w, int32_t panel_begin, int32_t panel_end, const FloatRows& x,
                  float* y, int64_t y_stride) {
    const int32_t row_end = panel_end * w.width < w.rows ? panel_end * w.width : w.rows;
    for (int32_t r = panel_begin * w.width; r < row_end; ++r) {
        const std::byte* panel = w.data + r / w.width * w.panel_stride;
        for (int32_t row = 0; row < x.num_rows; ++row) {
            const float* in = x.data + row * x.stride;
            float p[4] = {};
            for (int32_t k = 0; k < w.cols; ++k) {
                const float weight = read_float(w, panel, int64_t{k} * w.width + r % w.width);
                p[k % 4] = std::fma(weight, in[k], p[k % 4]);
            }
            y[row * y_stride + r] = (p[0] + p[1]) + (p[2] + p[3]);
        }
    }
}

}  // namespace weir::reference

namespace weir::kernels {

const KernelTable& reference_table() {
    static constexpr KernelTable kTable{.isa = "reference",
                                        .panel_width = 8,
                                        .quantize_rows = reference::quantize_rows,
                                        .matmul = reference::matmul,
                                        .matmul_float = reference::matmul_float,
                                        .rms_norm = reference::rms_norm,
                                        .add = reference::add,
                                        .silu_mul = reference::silu_mul,
                                        .gelu_mul = reference::gelu_mul,
                                        .to_half = reference::to_half,
                                        .attend = reference::attend};
    return kTable;
}

}  // namespace weir::kernels
