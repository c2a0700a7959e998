#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel_table.h"
#include "threads/fork_join.h"

namespace weir {

/// Activation rows in the forms that a group of matrices may need.
struct LinearInput {
    QuantizedRows quantized;
    FloatRows floats;
};

/// One matrix of a group that shares its input; its outputs begin at `column` of each output row.
struct LinearPart {
    const PanelMatrix* matrix;
    int32_t column;
};

/// y[row][part.column + r] = matrix[r] . x[row] for all parts in one parallel loop (q, k and v; gate and up).
void linear(ForkJoin& pool, const KernelTable& table, std::span<const LinearPart> parts,
            const LinearInput& x, float* y, int64_t y_stride);

}  // namespace weir
