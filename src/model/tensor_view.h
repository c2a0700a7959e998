#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/tensor_type.h"

namespace weir {

/// A matrix (or vector: rows == 1) inside a mapped file. Row-major: `rows` outputs of `cols` inputs, as a
/// linear layer y[rows] = W x[cols] wants it. Does not own.
struct TensorView {
    TensorType type = TensorType::kF32;
    int64_t rows = 0;
    int64_t cols = 0;                  // A multiple of the type's block size.
    std::span<const std::byte> data;   // rows * cols / block_size * block_bytes bytes.
};

}  // namespace weir
