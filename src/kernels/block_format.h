#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir {

/// Element formats of weights in files; values are GGUF's ids, the same as model/'s TensorType.
enum class BlockFormat : uint32_t {
    kF32 = 0,
    kF16 = 1,
    kQ4_0 = 2,
    kQ4_1 = 3,
    kQ5_0 = 6,
    kQ5_1 = 7,
    kQ8_0 = 8,
    kQ2_K = 10,
    kQ3_K = 11,
    kQ4_K = 12,
    kQ5_K = 13,
    kQ6_K = 14,
    kBF16 = 30,
};

/// How the levels of a quantised format become values. Level l of sub-block b means
/// d[b] * l + m[b] where the format stores minima, else d[b] * (l + offset).
struct BlockTraits {
    int32_t block_size = 1;   // Elements of one block in the file.
    int32_t block_bytes = 0;
    int32_t sub_block = 0;    // Elements that share a scale, 16 or 32; 0: floats, no levels.
    int32_t level_max = 0;    // Largest level; levels are 0..level_max, or -128..127 if is_signed.
    bool is_signed = false;
    bool has_min = false;
    bool half_scales = false;  // d and m are binary16 numbers.
    int32_t offset = 0;
};

/// CHECKs that the format is one of the enum.
BlockTraits block_traits(BlockFormat format);

constexpr int32_t kBlockSizeMax = 256;

/// One block of a quantised format, taken apart exactly.
struct UnpackedBlock {
    uint8_t levels[kBlockSizeMax];  // int8 bit patterns if signed.
    float d[16];                    // One per sub-block.
    float m[16];                    // Only if has_min.
};

/// Reads one block (`block_bytes` at `block`).
void unpack_block(BlockFormat format, const std::byte* block, UnpackedBlock& out);

/// A whole row of any format as floats; values are those of ggml's reference dequantisation.
void dequantize_row(BlockFormat format, std::span<const std::byte> row, std::span<float> out);

}  // namespace weir
