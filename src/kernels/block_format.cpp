#include "kernels/block_format.h"

#include <cstring>

#include "base/check.h"
#include "kernels/half.h"

// The layouts are those of the GGUF file format (ggml's block_q* structures).

namespace weir {

namespace {

float read_half(const uint8_t* bytes) {
    return half_to_float(static_cast<uint16_t>(bytes[0] | (bytes[1] << 8)));
}

uint32_t read_u32(const uint8_t* bytes) {
    uint32_t value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

/// 16 bytes: element j in the low half of byte j, element j + 16 in its high half.
void unpack_nibbles(const uint8_t* packed, uint8_t* levels) {
    for (int j = 0; j < 16; ++j) {
        levels[j] = packed[j] & 15;
        levels[j + 16] = packed[j] >> 4;
    }
}

void add_fifth_bits(uint32_t high_bits, uint8_t* levels) {
    for (int j = 0; j < 32; ++j) {
        levels[j] = static_cast<uint8_t>(levels[j] | (((high_bits >> j) & 1U) << 4));
    }
}

/// Eight 6-bit scales and eight 6-bit minima in 12 bytes (Q4_K, Q5_K).
void unpack_k_scales(const uint8_t* packed, uint8_t* scales, uint8_t* mins) {
    for (int j = 0; j < 4; ++j) {
        scales[j] = packed[j] & 63;
        mins[j] = packed[j + 4] & 63;
        scales[j + 4] = static_cast<uint8_t>((packed[j + 8] & 15) | ((packed[j] >> 6) << 4));
        mins[j + 4] = static_cast<uint8_t>((packed[j + 8] >> 4) | ((packed[j + 4] >> 6) << 4));
    }
}

void unpack_q2_k(const uint8_t* p, UnpackedBlock& out) {
    const uint8_t* scales = p;
    const uint8_t* packed = p + 16;
    const float d = read_half(p + 80);
    const float dmin = read_half(p + 82);
    for (int b = 0; b < 16; ++b) {
        out.d[b] = d * static_cast<float>(scales[b] & 15);
        out.m[b] = -(dmin * static_cast<float>(scales[b] >> 4));
    }
    for (int i = 0; i < 256; ++i) {
        const int half = i / 128;
        const int shift = (i % 128) / 32 * 2;
        out.levels[i] = (packed[half * 32 + i % 32] >> shift) & 3;
    }
}

void unpack_q3_k(const uint8_t* p, UnpackedBlock& out) {
    const uint8_t* high = p;
    const uint8_t* packed = p + 32;
    const uint8_t* scales = p + 96;
    const float d = read_half(p + 108);
    for (int b = 0; b < 16; ++b) {
        const int low = b < 8 ? scales[b] & 15 : scales[b - 8] >> 4;
        const int top = (scales[8 + b % 4] >> (b / 4 * 2)) & 3;
        out.d[b] = d * static_cast<float>((low | (top << 4)) - 32);
    }
    for (int i = 0; i < 256; ++i) {
        const int half = i / 128;
        const int shift = (i % 128) / 32 * 2;
        const int low = (packed[half * 32 + i % 32] >> shift) & 3;
        const int bit = (high[i % 32] >> (i / 32)) & 1;
        out.levels[i] = static_cast<uint8_t>(low | (bit << 2));  // The value is level - 4.
    }
}

void unpack_q45_k(const uint8_t* p, bool five_bits, UnpackedBlock& out) {
    const float d = read_half(p);
    const float dmin = read_half(p + 2);
    uint8_t scales[8];
    uint8_t mins[8];
    unpack_k_scales(p + 4, scales, mins);
    for (int b = 0; b < 8; ++b) {
        out.d[b] = d * static_cast<float>(scales[b]);
        out.m[b] = -(dmin * static_cast<float>(mins[b]));
    }
    const uint8_t* high = p + 16;
    const uint8_t* packed = five_bits ? p + 48 : p + 16;
    for (int i = 0; i < 256; ++i) {
        const int b = i / 32;
        const uint8_t byte = packed[b / 2 * 32 + i % 32];
        int level = b % 2 ? byte >> 4 : byte & 15;
        if (five_bits) level |= ((high[i % 32] >> b) & 1) << 4;
        out.levels[i] = static_cast<uint8_t>(level);
    }
}

void unpack_q6_k(const uint8_t* p, UnpackedBlock& out) {
    const uint8_t* low = p;
    const uint8_t* high = p + 128;
    const float d = read_half(p + 208);
    for (int b = 0; b < 16; ++b) {
        out.d[b] = d * static_cast<float>(static_cast<int8_t>(p[192 + b]));
    }
    for (int i = 0; i < 256; ++i) {
        const int half = i / 128;
        const int quarter = (i % 128) / 32;
        const uint8_t byte = low[half * 64 + (quarter % 2) * 32 + i % 32];
        const int four = quarter < 2 ? byte & 15 : byte >> 4;
        const int two = (high[half * 32 + i % 32] >> (quarter * 2)) & 3;
        out.levels[i] = static_cast<uint8_t>(four | (two << 4));  // The value is level - 32.
    }
}

float float_element(BlockFormat format, const std::byte* data, size_t i) {
    if (format == BlockFormat::kF32) {
        float value;
        std::memcpy(&value, data + 4 * i, 4);
        return value;
    }
    uint16_t bits;
    std::memcpy(&bits, data + 2 * i, 2);
    return format == BlockFormat::kF16 ? half_to_float(bits) : bfloat16_to_float(bits);
}

}  // namespace

BlockTraits block_traits(BlockFormat format) {
    using F = BlockFormat;
    switch (format) {
        case F::kF32: return {.block_size = 1, .block_bytes = 4};
        case F::kF16: return {.block_size = 1, .block_bytes = 2};
        case F::kBF16: return {.block_size = 1, .block_bytes = 2};
        case F::kQ4_0: return {32, 18, 32, 15, false, false, true, -8};
        case F::kQ4_1: return {32, 20, 32, 15, false, true, true, 0};
        case F::kQ5_0: return {32, 22, 32, 31, false, false, true, -16};
        case F::kQ5_1: return {32, 24, 32, 31, false, true, true, 0};
        case F::kQ8_0: return {32, 34, 32, 127, true, false, true, 0};
        case F::kQ2_K: return {256, 84, 16, 3, false, true, false, 0};
        case F::kQ3_K: return {256, 110, 16, 7, false, false, false, -4};
        case F::kQ4_K: return {256, 144, 32, 15, false, true, false, 0};
        case F::kQ5_K: return {256, 176, 32, 31, false, true, false, 0};
        case F::kQ6_K: return {256, 210, 16, 63, false, false, false, -32};
    }
    CHECK(false && "unknown block format");
}

void unpack_block(BlockFormat format, const std::byte* block, UnpackedBlock& out) {
    const auto* p = reinterpret_cast<const uint8_t*>(block);
    out.d[0] = read_half(p);  // Of the formats with 32 elements; the others overwrite it.
    switch (format) {
        case BlockFormat::kQ4_0: unpack_nibbles(p + 2, out.levels); return;
        case BlockFormat::kQ4_1:
            out.m[0] = read_half(p + 2);
            unpack_nibbles(p + 4, out.levels);
            return;
        case BlockFormat::kQ5_0:
            unpack_nibbles(p + 6, out.levels);
            add_fifth_bits(read_u32(p + 2), out.levels);
            return;
        case BlockFormat::kQ5_1:
            out.m[0] = read_half(p + 2);
            unpack_nibbles(p + 8, out.levels);
            add_fifth_bits(read_u32(p + 4), out.levels);
            return;
        case BlockFormat::kQ8_0: std::memcpy(out.levels, p + 2, 32); return;
        case BlockFormat::kQ2_K: unpack_q2_k(p, out); return;
        case BlockFormat::kQ3_K: unpack_q3_k(p, out); return;
        case BlockFormat::kQ4_K: unpack_q45_k(p, false, out); return;
        case BlockFormat::kQ5_K: unpack_q45_k(p, true, out); return;
        case BlockFormat::kQ6_K: unpack_q6_k(p, out); return;
        case BlockFormat::kF32:
        case BlockFormat::kF16:
        case BlockFormat::kBF16: break;
    }
    CHECK(false && "a float format has no blocks");
}

void dequantize_row(BlockFormat format, std::span<const std::byte> row, std::span<float> out) {
    const BlockTraits traits = block_traits(format);
    if (traits.sub_block == 0) {
        CHECK(row.size() == out.size() * static_cast<size_t>(traits.block_bytes));
        for (size_t i = 0; i < out.size(); ++i) out[i] = float_element(format, row.data(), i);
        return;
    }
    const size_t num_blocks = out.size() / static_cast<size_t>(traits.block_size);
    CHECK(num_blocks * static_cast<size_t>(traits.block_size) == out.size());
    CHECK(row.size() == num_blocks * static_cast<size_t>(traits.block_bytes));
    UnpackedBlock block;
    float* value = out.data();
    for (size_t b = 0; b < num_blocks; ++b) {
        unpack_block(format, row.data() + b * static_cast<size_t>(traits.block_bytes), block);
        for (int i = 0; i < traits.block_size; ++i) {
            const float d = block.d[i / traits.sub_block];
            const int level = traits.is_signed ? static_cast<int8_t>(block.levels[i]) : block.levels[i];
            *value++ = traits.has_min
                           ? d * static_cast<float>(level) + block.m[i / traits.sub_block]
                           : d * static_cast<float>(level + traits.offset);
        }
    }
}

}  // namespace weir
