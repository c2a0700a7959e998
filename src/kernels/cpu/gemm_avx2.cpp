#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/avx2.h"
#include "kernels/target.h"

WEIR_TARGET_BEGIN("avx2,fma,f16c")

namespace weir::avx2 {

namespace {

constexpr int32_t kWidth = 8;  // Output rows of a panel: one per 32-bit lane.

/// One block of a panel, ready for many activation rows: levels of elements 4g..4g+3 of the eight
/// rows in groups[g], scales in d and m per sub-block.
struct Block {
    __m256i groups[8];
    __m256 d[2];
    __m256 m[2];
};

inline __m256 load_scales(const PanelMatrix& w, const std::byte* scales, int32_t index) {
    if (w.half_scales) {
        const auto* half = reinterpret_cast<const __m128i*>(scales + index * kWidth * 2);
        return _mm256_cvtph_ps(_mm_loadu_si128(half));
    }
    return _mm256_loadu_ps(reinterpret_cast<const float*>(scales + index * kWidth * 4));
}

inline void load_block(const PanelMatrix& w, const std::byte* data, Block& block) {
    const int32_t subs = w.num_sub_blocks();
    const __m256 offset = _mm256_set1_ps(static_cast<float>(w.offset));
    for (int32_t s = 0; s < subs; ++s) {
        block.d[s] = load_scales(w, data, s);
        block.m[s] = w.has_min ? load_scales(w, data, subs + s) : _mm256_mul_ps(block.d[s], offset);
    }
    const int32_t num_scales = subs * (w.has_min ? 2 : 1) * kWidth;
    const auto* levels = reinterpret_cast<const __m256i*>(data + num_scales * w.scale_bytes());
    if (w.kind == PanelKind::kU4) {
        const __m256i low = _mm256_set1_epi8(15);
        for (int32_t g = 0; g < 4; ++g) {
            const __m256i bytes = _mm256_loadu_si256(levels + g);
            block.groups[g] = _mm256_and_si256(bytes, low);
            block.groups[g + 4] = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low);
        }
    } else {
        for (int32_t g = 0; g < 8; ++g) block.groups[g] = _mm256_loadu_si256(levels + g);
    }
}

inline __m256i broadcast_group(const int8_t* q, int32_t g) {
    int32_t four;
    std::memcpy(&four, q + 4 * g, 4);
    return _mm256_set1_epi32(four);
}

/// Integer dot products of groups [begin, end): exact. 16-bit sums hold: 15 * 127 * 2 * 8 for kU4,
/// 63 * 127 * 2 * 2 for kU8, 128 * 127 * 2 for kS8.
template <PanelKind kind>
inline __m256i dot_groups(const Block& block, const int8_t* q, int32_t begin, int32_t end) {
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i total = _mm256_setzero_si256();
    if constexpr (kind == PanelKind::kU4) {
        __m256i sum = _mm256_maddubs_epi16(block.groups[begin], broadcast_group(q, begin));
        for (int32_t g = begin + 1; g < end; ++g) {
            const __m256i pairs = _mm256_maddubs_epi16(block.groups[g], broadcast_group(q, g));
            sum = _mm256_add_epi16(sum, pairs);
        }
        total = _mm256_madd_epi16(sum, ones);
    } else if constexpr (kind == PanelKind::kU8) {
        for (int32_t g = begin; g < end; g += 2) {
            const __m256i a = _mm256_maddubs_epi16(block.groups[g], broadcast_group(q, g));
            const __m256i b = _mm256_maddubs_epi16(block.groups[g + 1], broadcast_group(q, g + 1));
            total = _mm256_add_epi32(total, _mm256_madd_epi16(_mm256_add_epi16(a, b), ones));
        }
    } else {
        for (int32_t g = begin; g < end; ++g) {
            const __m256i levels = block.groups[g];
            const __m256i signed_q = _mm256_sign_epi8(broadcast_group(q, g), levels);
            const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(levels), signed_q);
            total = _mm256_add_epi32(total, _mm256_madd_epi16(pairs, ones));
        }
    }
    return total;
}

template <PanelKind kind, int32_t subs, bool with_min>
inline __m256 add_block(const Block& block, const int8_t* q, const float* scales, int32_t stride,
                        __m256 acc) {
    const __m256 d_a = _mm256_broadcast_ss(scales);
    for (int32_t s = 0; s < subs; ++s) {
        const int32_t per_sub = 8 / subs;
        const __m256i dot = dot_groups<kind>(block, q, s * per_sub, (s + 1) * per_sub);
        acc = _mm256_fmadd_ps(_mm256_mul_ps(block.d[s], d_a), _mm256_cvtepi32_ps(dot), acc);
        if constexpr (with_min) {
            const int32_t sum = subs == 1 ? 1 : 2 + s;
            acc = _mm256_fmadd_ps(block.m[s], _mm256_broadcast_ss(scales + sum * stride), acc);
        }
    }
    return acc;
}

inline void store_row(const PanelMatrix& w, int32_t panel, __m256 acc, float* y) {
    const int32_t rest = w.rows - panel * kWidth;
    if (rest >= kWidth) {
        _mm256_storeu_ps(y + panel * kWidth, acc);
        return;
    }
    float lanes[kWidth];
    _mm256_storeu_ps(lanes, acc);
    std::memcpy(y + panel * kWidth, lanes, sizeof(float) * static_cast<size_t>(rest));
}

template <PanelKind kind, int32_t subs, bool with_min>
void matmul_panels(const PanelMatrix& w, int32_t panel_begin, int32_t panel_end,
                   const QuantizedRows& x, float* y, int64_t y_stride) {
    const int32_t num_blocks = w.cols / kBlock;
    for (int32_t panel = panel_begin; panel < panel_end; ++panel) {
        for (int32_t tile = 0; tile < x.num_tiles(); ++tile) {
            const int32_t n = x.tile_rows(tile);
            const std::byte* data = w.data + panel * w.panel_stride;
            const int8_t* q = x.tile_q(tile);
            const float* scales = x.tile_scales(tile);
            __m256 acc[kRowTile];
            for (int32_t t = 0; t < n; ++t) acc[t] = _mm256_setzero_ps();
            for (int32_t b = 0; b < num_blocks; ++b) {
                _mm_prefetch(reinterpret_cast<const char*>(data + 8 * w.block_stride), _MM_HINT_T0);
                Block block;
                load_block(w, data, block);
                for (int32_t t = 0; t < n; ++t) {
                    acc[t] = add_block<kind, subs, with_min>(block, q + t * kBlock, scales + t, n,
                                                             acc[t]);
                }
                data += w.block_stride;
                q += int64_t{n} * kBlock;
                scales += int64_t{n} * 4;
            }
            float* out = y + int64_t{tile} * kRowTile * y_stride;
            for (int32_t t = 0; t < n; ++t) store_row(w, panel, acc[t], out + t * y_stride);
        }
    }
}

template <PanelKind kind>
void matmul_kind(const PanelMatrix& w, int32_t begin, int32_t end, const QuantizedRows& x, float* y,
                 int64_t y_stride) {
    const bool with_min = w.has_min || w.offset != 0;
    if (w.num_sub_blocks() == 1) {
        return with_min ? matmul_panels<kind, 1, true>(w, begin, end, x, y, y_stride)
                        : matmul_panels<kind, 1, false>(w, begin, end, x, y, y_stride);
    }
    return with_min ? matmul_panels<kind, 2, true>(w, begin, end, x, y, y_stride)
                    : matmul_panels<kind, 2, false>(w, begin, end, x, y, y_stride);
}

template <PanelKind kind>
inline __m256 load_weights(const std::byte* at) {
    if constexpr (kind == PanelKind::kF32) {
        return _mm256_loadu_ps(reinterpret_cast<const float*>(at));
    } else {
        const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        if constexpr (kind == PanelKind::kF16) return _mm256_cvtph_ps(bits);
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
    }
}

template <PanelKind kind>
void matmul_floats(const PanelMatrix& w, int32_t panel_begin, int32_t panel_end,
                   const FloatRows& x, float* y, int64_t y_stride) {
    const int64_t step = kWidth * (kind == PanelKind::kF32 ? 4 : 2);
    for (int32_t panel = panel_begin; panel < panel_end; ++panel) {
        const std::byte* data = w.data + panel * w.panel_stride;
        for (int32_t row = 0; row < x.num_rows; ++row) {
            const float* in = x.data + row * x.stride;
            __m256 p[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                           _mm256_setzero_ps()};
            for (int32_t k = 0; k < w.cols; ++k) {
                const __m256 weight = load_weights<kind>(data + k * step);
                p[k % 4] = _mm256_fmadd_ps(weight, _mm256_broadcast_ss(in + k), p[k % 4]);
            }
            const __m256 sum =
                _mm256_add_ps(_mm256_add_ps(p[0], p[1]), _mm256_add_ps(p[2], p[3]));
            store_row(w, panel, sum, y + row * y_stride);
        }
    }
}

}  // namespace

void matmul(const PanelMatrix& w, int32_t panel_begin, int32_t panel_end, const QuantizedRows& x,
            float* y, int64_t y_stride) {
    switch (w.kind) {
        case PanelKind::kU4:
            return matmul_kind<PanelKind::kU4>(w, panel_begin, panel_end, x, y, y_stride);
        case PanelKind::kU8:
            return matmul_kind<PanelKind::kU8>(w, panel_begin, panel_end, x, y, y_stride);
        default: return matmul_kind<PanelKind::kS8>(w, panel_begin, panel_end, x, y, y_stride);
    }
}

void matmul_float(const PanelMatrix& w, int32_t panel_begin, int32_t panel_end, const FloatRows& x,
                  float* y, int64_t y_stride) {
    switch (w.kind) {
        case PanelKind::kF32:
            return matmul_floats<PanelKind::kF32>(w, panel_begin, panel_end, x, y, y_stride);
        case PanelKind::kF16:
            return matmul_floats<PanelKind::kF16>(w, panel_begin, panel_end, x, y, y_stride);
        default:
            return matmul_floats<PanelKind::kBF16>(w, panel_begin, panel_end, x, y, y_stride);
    }
}

}  // namespace weir::avx2

WEIR_TARGET_END
