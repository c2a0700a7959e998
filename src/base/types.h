#pragma once

#include <cstdint>

namespace weir {

/// Index into a model's vocabulary. Negative means "no token".
using TokenId = int32_t;
constexpr TokenId kNoToken = -1;

/// Index of a KV block in the pool; 0 is the null block.
using BlockId = int32_t;

/// Names one engine request (each of n samples is one) for the life of the process.
using RequestId = uint64_t;

}  // namespace weir
