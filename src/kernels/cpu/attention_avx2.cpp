#include <immintrin.h>

#include <algorithm>

#include "kernels/attention_tiles.h"
#include "kernels/cpu/avx2.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/scalar_math.h"
#include "kernels/target.h"

namespace weir::kernels {

const KernelTable& avx2_table() {
    static constexpr KernelTable kTable{.isa = "avx2",
                                        .panel_width = 8,
                                        .quantize_rows = reference::quantize_rows,
                                        .matmul = avx2::matmul,
                                        .matmul_float = avx2::matmul_float,
                                        .rms_norm = reference::rms_norm,
                                        .add = reference::add,
                                        .silu_mul = avx2::silu_mul,
                                        .gelu_mul = avx2::gelu_mul,
                                        .to_half = reference::to_half,
                                        .attend = avx2::attend};
    return kTable;
}

}  // namespace weir::kernels

WEIR_TARGET_BEGIN("avx2,fma,f16c")

namespace weir::avx2 {

namespace {

/// reference::exp_f32, eight at once, the same operations in the same order.
inline __m256 exp8(__m256 input) {
    __m256 x = _mm256_max_ps(input, _mm256_set1_ps(reference::kExpLow));
    x = _mm256_min_ps(x, _mm256_set1_ps(reference::kExpHigh));
    const __m256i n = _mm256_cvtps_epi32(_mm256_mul_ps(x, _mm256_set1_ps(reference::kLog2E)));
    const __m256 nf = _mm256_cvtepi32_ps(n);
    __m256 r = _mm256_fnmadd_ps(nf, _mm256_set1_ps(reference::kLn2High), x);
    r = _mm256_fnmadd_ps(nf, _mm256_set1_ps(reference::kLn2Low), r);
    __m256 p = _mm256_fmadd_ps(_mm256_set1_ps(reference::kExp5), r, _mm256_set1_ps(reference::kExp4));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(reference::kExp3));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(reference::kExp2));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(reference::kExp1));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(reference::kExp0));
    p = _mm256_add_ps(_mm256_fmadd_ps(p, _mm256_mul_ps(r, r), r), _mm256_set1_ps(1.0F));
    const __m256i scale = _mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23);
    const __m256 value = _mm256_mul_ps(p, _mm256_castsi256_ps(scale));
    const __m256 low = _mm256_cmp_ps(input, _mm256_set1_ps(reference::kExpLow), _CMP_LT_OQ);
    return _mm256_andnot_ps(low, value);
}

inline __m256 silu8(__m256 x) {
    const __m256 negative = _mm256_xor_ps(x, _mm256_set1_ps(-0.0F));
    return _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1.0F), exp8(negative)));
}

inline __m256 gelu8(__m256 x) {
    const __m256 cubic = _mm256_mul_ps(_mm256_set1_ps(reference::kGeluCubic), x);
    const __m256 u = _mm256_fmadd_ps(cubic, _mm256_mul_ps(x, x), x);
    const __m256 e = exp8(_mm256_mul_ps(_mm256_set1_ps(reference::kGeluScale), u));
    return _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1.0F), e));
}

inline float exp1(float x) { return _mm256_cvtss_f32(exp8(_mm256_set1_ps(x))); }

/// A softmax under construction, as in reference/.
struct Softmax {
    float max;
    float denominator;
    __m256 sums[kHeadDimMax / 8];
};

inline __m256 load_half(const uint16_t* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}

/// Lanes [begin, end) of a tile that a query sees, as masks of the two halves.
inline void lane_masks(int32_t begin, int32_t end, __m256 out[2]) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (int32_t h = 0; h < 2; ++h) {
        const __m256i index = _mm256_add_epi32(lanes, _mm256_set1_epi32(8 * h));
        const __m256i from = _mm256_cmpgt_epi32(index, _mm256_set1_epi32(begin - 1));
        const __m256i below = _mm256_cmpgt_epi32(_mm256_set1_epi32(end), index);
        out[h] = _mm256_castsi256_ps(_mm256_and_si256(from, below));
    }
}

inline float max8(__m256 x) {
    float lanes[8];
    _mm256_storeu_ps(lanes, x);
    float max = lanes[0];
    for (int32_t j = 1; j < 8; ++j) max = lanes[j] > max ? lanes[j] : max;
    return max;
}

inline void add_tile(const AttentionTask& task, const float* q, int32_t begin, int32_t end,
                     __m256 lanes[2], Softmax& state) {
    const uint16_t* k = tile_at(task, begin);
    const uint16_t* v = k + kKvTile * task.head_dim;
    const int32_t lane_begin = begin % task.block_size % kKvTile;
    const int32_t lane_end = lane_begin + end - begin;
    __m256 scores[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (int32_t d = 0; d < task.head_dim; ++d) {
        const __m256 query = _mm256_broadcast_ss(q + d);
        scores[0] = _mm256_fmadd_ps(query, load_half(k + d * kKvTile), scores[0]);
        scores[1] = _mm256_fmadd_ps(query, load_half(k + d * kKvTile + 8), scores[1]);
    }
    __m256 visible[2];
    lane_masks(lane_begin, lane_end, visible);
    const __m256 none = _mm256_set1_ps(kNoScore);
    float max = state.max;
    for (int32_t h = 0; h < 2; ++h) {
        const float top = max8(_mm256_blendv_ps(none, scores[h], visible[h]));
        max = top > max ? top : max;
    }
    const float correction = exp1(state.max - max);
    const __m256 correction8 = _mm256_set1_ps(correction);
    state.max = max;
    float weights[kKvTile];
    for (int32_t h = 0; h < 2; ++h) {
        const __m256 e = exp8(_mm256_sub_ps(scores[h], _mm256_set1_ps(max)));
        const __m256 weight = _mm256_and_ps(e, visible[h]);
        lanes[h] = _mm256_fmadd_ps(lanes[h], correction8, weight);
        _mm256_storeu_ps(weights + 8 * h, weight);
    }
    for (int32_t d = 0; d < task.head_dim; d += 8) {
        __m256 sum = _mm256_mul_ps(state.sums[d / 8], correction8);
        for (int32_t j = lane_begin; j < lane_end; ++j) {
            const __m256 value = load_half(v + j * task.head_dim + d);
            sum = _mm256_fmadd_ps(_mm256_broadcast_ss(weights + j), value, sum);
        }
        state.sums[d / 8] = sum;
    }
}

inline void merge(const Softmax& part, int32_t head_dim, Softmax& total) {
    const float max = part.max > total.max ? part.max : total.max;
    const float keep = exp1(total.max - max);
    const float take = exp1(part.max - max);
    total.max = max;
    const __m128 taken = _mm_set_ss(part.denominator * take);
    total.denominator = _mm_cvtss_f32(
        _mm_fmadd_ss(_mm_set_ss(total.denominator), _mm_set_ss(keep), taken));
    for (int32_t d = 0; d < head_dim / 8; ++d) {
        total.sums[d] = _mm256_fmadd_ps(total.sums[d], _mm256_set1_ps(keep),
                                        _mm256_mul_ps(part.sums[d], _mm256_set1_ps(take)));
    }
}

inline void reset(int32_t head_dim, Softmax& state) {
    state.max = kNoScore;
    state.denominator = 0;
    for (int32_t d = 0; d < head_dim / 8; ++d) state.sums[d] = _mm256_setzero_ps();
}

inline void attend_row(const AttentionTask& task, const float* q, int32_t position, float* out) {
    const int32_t first = task.window == 0 ? 0 : std::max(0, position - task.window + 1);
    Softmax total, part;
    reset(task.head_dim, total);
    bool first_part = true;
    for (int32_t at = first; at <= position;) {
        const int32_t split_end = std::min((at / kKvSplit + 1) * kKvSplit, position + 1);
        Softmax& state = first_part ? total : part;
        if (!first_part) reset(task.head_dim, part);
        __m256 lanes[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
        while (at < split_end) {
            const int32_t end = std::min(tile_end(task, at), split_end);
            add_tile(task, q, at, end, lanes, state);
            at = end;
        }
        float sums[kKvTile];
        _mm256_storeu_ps(sums, lanes[0]);
        _mm256_storeu_ps(sums + 8, lanes[1]);
        state.denominator = reference::sum_lanes(sums);
        if (!first_part) merge(part, task.head_dim, total);
        first_part = false;
    }
    const __m256 inverse = _mm256_set1_ps(1.0F / total.denominator);
    for (int32_t d = 0; d < task.head_dim; d += 8) {
        _mm256_storeu_ps(out + d, _mm256_mul_ps(total.sums[d / 8], inverse));
    }
}

}  // namespace

void silu_mul(const float* gate, const float* up, int32_t n, float* out) {
    int32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 value = silu8(_mm256_loadu_ps(gate + i));
        _mm256_storeu_ps(out + i, _mm256_mul_ps(value, _mm256_loadu_ps(up + i)));
    }
    if (i < n) reference::silu_mul(gate + i, up + i, n - i, out + i);
}

void gelu_mul(const float* gate, const float* up, int32_t n, float* out) {
    int32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 value = gelu8(_mm256_loadu_ps(gate + i));
        _mm256_storeu_ps(out + i, _mm256_mul_ps(value, _mm256_loadu_ps(up + i)));
    }
    if (i < n) reference::gelu_mul(gate + i, up + i, n - i, out + i);
}

void attend(const AttentionTask& task) {
    for (int32_t row = 0; row < task.num_rows; ++row) {
        for (int32_t g = 0; g < task.group; ++g) {
            const int64_t head = int64_t{g} * task.head_dim;
            attend_row(task, task.q + row * task.q_stride + head, task.first_position + row,
                       task.out + row * task.out_stride + head);
        }
    }
}

}  // namespace weir::avx2

WEIR_TARGET_END
