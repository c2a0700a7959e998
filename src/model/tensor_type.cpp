#include "model/tensor_type.h"

#include <array>

#include "base/check.h"

namespace weir {

namespace {

constexpr std::array<TensorTypeInfo, 13> kTypes{{
    {TensorType::kF32, "F32", 1, 4},
    {TensorType::kF16, "F16", 1, 2},
    {TensorType::kQ4_0, "Q4_0", 32, 18},
    {TensorType::kQ4_1, "Q4_1", 32, 20},
    {TensorType::kQ5_0, "Q5_0", 32, 22},
    {TensorType::kQ5_1, "Q5_1", 32, 24},
    {TensorType::kQ8_0, "Q8_0", 32, 34},
    {TensorType::kQ2_K, "Q2_K", 256, 84},
    {TensorType::kQ3_K, "Q3_K", 256, 110},
    {TensorType::kQ4_K, "Q4_K", 256, 144},
    {TensorType::kQ5_K, "Q5_K", 256, 176},
    {TensorType::kQ6_K, "Q6_K", 256, 210},
    {TensorType::kBF16, "BF16", 1, 2},
}};

}  // namespace

const TensorTypeInfo* tensor_type_info(uint32_t id) {
    for (const TensorTypeInfo& info : kTypes) {
        if (static_cast<uint32_t>(info.type) == id) return &info;
    }
    return nullptr;
}

const TensorTypeInfo& tensor_type_info(TensorType type) {
    const TensorTypeInfo* info = tensor_type_info(static_cast<uint32_t>(type));
    CHECK(info != nullptr);
    return *info;
}

}  // namespace weir
