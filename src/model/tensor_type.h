#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

/// Element types of tensors; values are GGUF's ids (ggml_type).
enum class TensorType : uint32_t {
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

struct TensorTypeInfo {
    TensorType type;
    const char* name;      // "Q4_1".
    int32_t block_size;    // Elements of one block along the row.
    int32_t block_bytes;
};

/// The types that weir reads; null for any other id.
const TensorTypeInfo* tensor_type_info(uint32_t id);
const TensorTypeInfo& tensor_type_info(TensorType type);

}  // namespace weir
