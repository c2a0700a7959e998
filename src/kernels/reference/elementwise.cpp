#include "kernels/reference/reference.h"

#include <cmath>

#include "kernels/half.h"
#include "kernels/reference/scalar_math.h"

namespace weir::reference {

namespace {

/// Blocks whose largest magnitude is below count as zero: 127 / amax would overflow.
constexpr float kTiny = 1e-30F;

}  // namespace

void quantize_rows(const float* x, int64_t x_stride, int32_t row_begin, int32_t row_end,
                   const QuantizedRows& out) {
    for (int32_t row = row_begin; row < row_end; ++row) {
        const int32_t tile = row / kRowTile;
        const int32_t n = out.tile_rows(tile);
        const int32_t t = row % kRowTile;
        for (int32_t b = 0; b < out.cols / kBlock; ++b) {
            const float* in = x + row * x_stride + b * kBlock;
            float amax = 0;
            for (int j = 0; j < kBlock; ++j) amax = std::fabs(in[j]) > amax ? std::fabs(in[j]) : amax;
            const bool zero = !(amax > kTiny);
            const float d = zero ? 0.0F : amax / 127.0F;
            const float inverse = zero ? 0.0F : 127.0F / amax;
            int8_t* q = out.tile_q(tile) + (int64_t{b} * n + t) * kBlock;
            int32_t sums[2] = {0, 0};
            for (int j = 0; j < kBlock; ++j) {
                const int32_t level = round_to_int(in[j] * inverse);
                q[j] = static_cast<int8_t>(level < -128 ? -128 : level);
                sums[j / 16] += q[j];
            }
            float* scales = out.tile_scales(tile) + int64_t{b} * 4 * n + t;
            scales[0] = d;
            scales[n] = d * static_cast<float>(sums[0] + sums[1]);
            scales[2 * n] = d * static_cast<float>(sums[0]);
            scales[3 * n] = d * static_cast<float>(sums[1]);
        }
    }
}

void rms_norm(const float* x, const float* weight, float eps, int32_t n, float* y) {
    float lanes[16] = {};
    for (int32_t i = 0; i < n; ++i) lanes[i % 16] = std::fma(x[i], x[i], lanes[i % 16]);
    const float mean = sum_lanes(lanes) / static_cast<float>(n);
    const float inverse = 1.0F / std::sqrt(mean + eps);
    for (int32_t i = 0; i < n; ++i) y[i] = x[i] * inverse * weight[i];
}

void add(float* x, const float* y, int32_t n) {
    for (int32_t i = 0; i < n; ++i) x[i] += y[i];
}

void silu_mul(const float* gate, const float* up, int32_t n, float* out) {
    for (int32_t i = 0; i < n; ++i) out[i] = silu(gate[i]) * up[i];
}

void gelu_mul(const float* gate, const float* up, int32_t n, float* out) {
    for (int32_t i = 0; i < n; ++i) out[i] = gelu_tanh(gate[i]) * up[i];
}

void to_half(const float* x, int32_t n, uint16_t* out) {
    for (int32_t i = 0; i < n; ++i) out[i] = float_to_half_saturated(x[i]);
}

}  // namespace weir::reference
