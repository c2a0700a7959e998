#pragma once

#include <bit>
#include <cstdint>

namespace weir {

/// IEEE binary16 to float, exact.
inline float half_to_float(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
    const uint32_t exponent = (half >> 10) & 0x1FU;
    const uint32_t mantissa = half & 0x3FFU;
    if (exponent == 0) {  // Zero or subnormal: mantissa * 2^-24, exact in float.
        const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24F;
        return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
    }
    if (exponent == 31) {
        // A signalling NaN becomes quiet, as the hardware's conversion does.
        const uint32_t quiet = mantissa ? 0x400000U : 0;
        return std::bit_cast<float>(sign | 0x7F800000U | quiet | (mantissa << 13));
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

/// Float to binary16, rounded to nearest even, magnitudes above 65504 become 65504 (the KV cache must never
/// hold an infinity: it would poison the row for ever). NaN stays NaN.
inline uint16_t float_to_half_saturated(float value) {
    constexpr float kMax = 65504.0F;
    if (value > kMax) value = kMax;
    if (value < -kMax) value = -kMax;
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> 16) & 0x8000U;
    uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) {  // As vcvtps2ph: quiet, upper bits of the payload.
        return static_cast<uint16_t>(sign | 0x7E00U | ((magnitude >> 13) & 0x3FFU));
    }
    if (magnitude < 0x38800000U) {  // Below 2^-14: subnormal. Adding 0.5 aligns and rounds to even.
        const float aligned = std::bit_cast<float>(magnitude) + 0.5F;
        return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - 0x3F000000U));
    }
    magnitude += 0xFFFU + ((magnitude >> 13) & 1U);
    return static_cast<uint16_t>(sign | ((magnitude >> 13) - (112U << 10)));
}

inline float bfloat16_to_float(uint16_t value) {
    return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

}  // namespace weir
