#include "sampling/row_math.h"

#include <emmintrin.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "base/check.h"

namespace weir {
namespace {

constexpr float kMinusInf = -std::numeric_limits<float>::infinity();
constexpr size_t kLanes = 4;

/// exp of values in [-inf, 0]: 2^n * p(r) with |r| <= ln2 / 2 and p the Taylor polynomial of degree
/// 6 (its next term is below 2e-7 relative). Below -87.3 it would be denormal: 0. NaN gives 0.
inline __m128 exp4(__m128 x) {
    const __m128 in_range = _mm_cmpge_ps(x, _mm_set1_ps(-87.3F));  // False for NaN.
    x = _mm_and_ps(x, in_range);
    const __m128i n = _mm_cvtps_epi32(_mm_mul_ps(x, _mm_set1_ps(1.44269504F)));
    const __m128 nf = _mm_cvtepi32_ps(n);
    // ln 2 in two parts, so that n * high is exact (Cody and Waite).
    __m128 r = _mm_sub_ps(x, _mm_mul_ps(nf, _mm_set1_ps(0.693359375F)));
    r = _mm_sub_ps(r, _mm_mul_ps(nf, _mm_set1_ps(-2.12194440e-4F)));
    __m128 p = _mm_set1_ps(1.0F / 720);
    p = _mm_add_ps(_mm_mul_ps(p, r), _mm_set1_ps(1.0F / 120));
    p = _mm_add_ps(_mm_mul_ps(p, r), _mm_set1_ps(1.0F / 24));
    p = _mm_add_ps(_mm_mul_ps(p, r), _mm_set1_ps(1.0F / 6));
    p = _mm_add_ps(_mm_mul_ps(p, r), _mm_set1_ps(0.5F));
    p = _mm_add_ps(_mm_mul_ps(p, r), _mm_set1_ps(1.0F));
    p = _mm_add_ps(_mm_mul_ps(p, r), _mm_set1_ps(1.0F));
    const __m128i scaled = _mm_add_epi32(_mm_castps_si128(p), _mm_slli_epi32(n, 23));
    return _mm_and_ps(_mm_castsi128_ps(scaled), in_range);
}

/// Up to four values, missing ones as `fill`.
inline __m128 load_tail(const float* from, size_t count, float fill) {
    alignas(16) float lanes[kLanes] = {fill, fill, fill, fill};
    std::copy_n(from, count, lanes);
    return _mm_load_ps(lanes);
}

inline void store_tail(float* to, size_t count, __m128 values) {
    alignas(16) float lanes[kLanes];
    _mm_store_ps(lanes, values);
    std::copy_n(lanes, count, to);
}

inline double sum_lanes(__m128 a) {
    alignas(16) float lanes[kLanes];
    _mm_store_ps(lanes, a);
    return (static_cast<double>(lanes[0]) + lanes[1]) + (static_cast<double>(lanes[2]) + lanes[3]);
}

inline float max_lanes(__m128 a) {
    alignas(16) float lanes[kLanes];
    _mm_store_ps(lanes, a);
    return std::max(std::max(lanes[0], lanes[1]), std::max(lanes[2], lanes[3]));
}

float block_max(const float* row, size_t count) {
    const __m128 low = _mm_set1_ps(kMinusInf);
    __m128 a = low, b = low, c = low, d = low;
    size_t i = 0;
    // maxps gives its second operand when one is NaN, so a NaN never enters.
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
        a = _mm_max_ps(_mm_loadu_ps(row + i), a);
        b = _mm_max_ps(_mm_loadu_ps(row + i + 4), b);
        c = _mm_max_ps(_mm_loadu_ps(row + i + 8), c);
        d = _mm_max_ps(_mm_loadu_ps(row + i + 12), d);
    }
    for (; i < count; i += kLanes) {
        a = _mm_max_ps(load_tail(row + i, std::min(kLanes, count - i), kMinusInf), a);
    }
    return max_lanes(_mm_max_ps(_mm_max_ps(a, b), _mm_max_ps(c, d)));
}

/// Sum of a block of weights; exp_sum() and find_in_blocks() must get equal bits.
double block_sum(const float* weights, size_t count) {
    __m128 a = _mm_setzero_ps(), b = a;
    size_t i = 0;
    for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
        a = _mm_add_ps(a, _mm_loadu_ps(weights + i));
        b = _mm_add_ps(b, _mm_loadu_ps(weights + i + 4));
    }
    for (; i < count; i += kLanes) {
        a = _mm_add_ps(a, load_tail(weights + i, std::min(kLanes, count - i), 0));
    }
    return sum_lanes(a) + sum_lanes(b);
}

void exp_block(const float* row, size_t count, float max, float scale, float* weights) {
    const __m128 max4 = _mm_set1_ps(max);
    const __m128 scale4 = _mm_set1_ps(scale);
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        const __m128 x = _mm_sub_ps(_mm_loadu_ps(row + i), max4);
        _mm_storeu_ps(weights + i, exp4(_mm_mul_ps(x, scale4)));
    }
    if (i < count) {
        const __m128 x = _mm_sub_ps(load_tail(row + i, count - i, kMinusInf), max4);
        store_tail(weights + i, count - i, exp4(_mm_mul_ps(x, scale4)));
    }
}

}  // namespace

ScoredToken argmax(std::span<const float> row) {
    CHECK(!row.empty());
    float best = kMinusInf;
    size_t best_begin = 0;
    for (size_t begin = 0; begin < row.size(); begin += kRowBlock) {
        const float max = block_max(row.data() + begin, std::min(kRowBlock, row.size() - begin));
        if (max > best) {
            best = max;
            best_begin = begin;
        }
    }
    if (best == kMinusInf) return {kMinusInf, 0};
    size_t index = best_begin;
    while (row[index] != best) ++index;
    return {best, static_cast<TokenId>(index)};
}

int64_t count_at_least(std::span<const float> row, float value) {
    const __m128 limit = _mm_set1_ps(value);
    __m128i counts = _mm_setzero_si128();  // A true compare is -1.
    size_t i = 0;
    for (; i + kLanes <= row.size(); i += kLanes) {
        const __m128 hit = _mm_cmpge_ps(_mm_loadu_ps(row.data() + i), limit);
        counts = _mm_sub_epi32(counts, _mm_castps_si128(hit));
    }
    alignas(16) int32_t lanes[kLanes];
    _mm_store_si128(reinterpret_cast<__m128i*>(lanes), counts);
    int64_t total = int64_t{lanes[0]} + lanes[1] + lanes[2] + lanes[3];
    for (; i < row.size(); ++i) total += row[i] >= value;
    return total;
}

double exp_sum(std::span<const float> row, float max, float scale, float* weights) {
    double sum = 0;
    for (size_t begin = 0; begin < row.size(); begin += kRowBlock) {
        const size_t count = std::min(kRowBlock, row.size() - begin);
        exp_block(row.data() + begin, count, max, scale, weights + begin);
        sum += block_sum(weights + begin, count);
    }
    return sum;
}

double exp_sum(std::span<const float> row, float max, float scale) {
    alignas(16) float weights[kRowBlock];
    double sum = 0;
    for (size_t begin = 0; begin < row.size(); begin += kRowBlock) {
        const size_t count = std::min(kRowBlock, row.size() - begin);
        exp_block(row.data() + begin, count, max, scale, weights);
        sum += block_sum(weights, count);
    }
    return sum;
}

size_t find_in_blocks(std::span<const float> weights, double target) {
    double sum = 0;
    size_t last = 0;
    for (size_t begin = 0; begin < weights.size(); begin += kRowBlock) {
        const size_t count = std::min(kRowBlock, weights.size() - begin);
        const double block = block_sum(weights.data() + begin, count);
        if (sum + block <= target) {
            sum += block;
            if (block > 0) last = begin;
            continue;
        }
        double within = sum;
        for (size_t i = begin; i < begin + count; ++i) {
            within += weights[i];
            if (weights[i] > 0) last = i;
            if (within > target) return i;
        }
        return last;  // The block's lanes rounded above the plain sum.
    }
    // The target was the whole sum: the last weight of the last block that has one.
    for (size_t i = std::min(weights.size(), last + kRowBlock); i-- > last;) {
        if (weights[i] > 0) return i;
    }
    return last;
}

void top_tokens(std::span<const float> row, size_t k, std::vector<ScoredToken>& out) {
    out.clear();
    k = std::min(k, row.size());
    if (k == 0) return;
    // The best k so far and room for as many newcomers; full, it is cut to k again.
    const size_t capacity = std::min(row.size(), std::max(2 * k, k + 128));
    float threshold = kMinusInf;
    bool has_threshold = false;
    const auto take = [&](size_t i) {
        const float value = row[i] == row[i] ? row[i] : kMinusInf;
        // An equal value further on has a higher id, so it ranks behind.
        if (has_threshold && !(value > threshold)) return;
        out.push_back({value, static_cast<TokenId>(i)});
        if (out.size() < capacity || capacity == row.size()) return;
        std::nth_element(out.begin(), out.begin() + static_cast<ptrdiff_t>(k - 1), out.end(),
                         ranks_before);
        out.resize(k);
        threshold = out[k - 1].value;
        has_threshold = true;
    };
    size_t i = 0;
    for (; i < row.size() && !has_threshold; ++i) take(i);
    for (; i + kLanes <= row.size(); i += kLanes) {
        const __m128 above = _mm_cmpgt_ps(_mm_loadu_ps(row.data() + i), _mm_set1_ps(threshold));
        if (_mm_movemask_ps(above) == 0) continue;
        for (size_t j = i; j < i + kLanes; ++j) take(j);
    }
    for (; i < row.size(); ++i) take(i);
    std::partial_sort(out.begin(), out.begin() + static_cast<ptrdiff_t>(k), out.end(),
                      ranks_before);
    out.resize(k);
}

void tokens_at_least(std::span<const float> row, float value_min, std::vector<ScoredToken>& out) {
    out.clear();
    const __m128 limit = _mm_set1_ps(value_min);
    const auto take = [&](size_t i) {
        if (row[i] >= value_min) out.push_back({row[i], static_cast<TokenId>(i)});
    };
    size_t i = 0;
    for (; i + kLanes <= row.size(); i += kLanes) {
        if (_mm_movemask_ps(_mm_cmpge_ps(_mm_loadu_ps(row.data() + i), limit)) == 0) continue;
        for (size_t j = i; j < i + kLanes; ++j) take(j);
    }
    for (; i < row.size(); ++i) take(i);
}

}  // namespace weir
