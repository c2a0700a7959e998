#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include <emmintrin.h>

namespace weir::reference {

/// Nearest integer, ties to even, as cvtps2dq does.
inline int32_t round_to_int(float x) { return _mm_cvtss_si32(_mm_set_ss(x)); }

// e^x = 2^n * e^r, |r| <= ln(2) / 2; the polynomial is that of Cephes' expf (S. Moshier, netlib). weir's own
// exp, so that every instruction set computes the same bits.
constexpr float kExpLow = -87.33F;   // Below: 0, so that masked scores vanish exactly.
constexpr float kExpHigh = 88.0F;
constexpr float kLog2E = 1.44269504088896341F;
constexpr float kLn2High = 0.693359375F;
constexpr float kLn2Low = -2.12194440e-4F;
constexpr float kExp5 = 1.9875691500e-4F;
constexpr float kExp4 = 1.3981999507e-3F;
constexpr float kExp3 = 8.3334519073e-3F;
constexpr float kExp2 = 4.1665795894e-2F;
constexpr float kExp1 = 1.6666665459e-1F;
constexpr float kExp0 = 5.0000001201e-1F;

inline float exp_f32(float input) {
    // Written as maxps and minps choose: the second operand if one is NaN.
    float x = input > kExpLow ? input : kExpLow;
    x = x < kExpHigh ? x : kExpHigh;
    const int32_t n = round_to_int(x * kLog2E);
    const auto nf = static_cast<float>(n);
    float r = std::fma(-nf, kLn2High, x);
    r = std::fma(-nf, kLn2Low, r);
    float p = std::fma(kExp5, r, kExp4);
    p = std::fma(p, r, kExp3);
    p = std::fma(p, r, kExp2);
    p = std::fma(p, r, kExp1);
    p = std::fma(p, r, kExp0);
    p = std::fma(p, r * r, r) + 1.0F;
    const float scale = std::bit_cast<float>((n + 127) << 23);
    return input < kExpLow ? 0.0F : p * scale;
}

inline float silu(float x) { return x / (1.0F + exp_f32(-x)); }

/// GELU, tanh form (Hendrycks and Gimpel 2016): 0.5 x (1 + tanh u) = x / (1 + e^(-2u)),
/// u = sqrt(2 / pi) (x + 0.044715 x^3).
constexpr float kGeluScale = -1.5957691216057308F;  // -2 sqrt(2 / pi).
constexpr float kGeluCubic = 0.044715F;
inline float gelu_tanh(float x) {
    const float u = std::fma(kGeluCubic * x, x * x, x);
    return x / (1.0F + exp_f32(kGeluScale * u));
}

/// Sum of 16 lanes, always by halves.
inline float sum_lanes(float* lanes) {
    for (int width = 8; width > 0; width /= 2) {
        for (int j = 0; j < width; ++j) lanes[j] += lanes[j + width];
    }
    return lanes[0];
}

}  // namespace weir::reference
