#include "layers/linear.h"

#include <algorithm>

namespace weir {

namespace {

void run_part(const KernelTable& table, const LinearPart& part, int32_t panel_begin,
              int32_t panel_end, const LinearInput& x, float* y, int64_t y_stride) {
    const PanelMatrix& matrix = *part.matrix;
    if (matrix.quantized()) {
        table.matmul(matrix, panel_begin, panel_end, x.quantized, y + part.column, y_stride);
    } else {
        table.matmul_float(matrix, panel_begin, panel_end, x.floats, y + part.column, y_stride);
    }
}

}  // namespace

void linear(ForkJoin& pool, const KernelTable& table, std::span<const LinearPart> parts,
            const LinearInput& x, float* y, int64_t y_stride) {
    int64_t num_panels = 0;
    for (const LinearPart& part : parts) num_panels += part.matrix->num_panels();
    pool.run(num_panels, [&](const TaskRange& range) {
        int64_t first = 0;  // Panel of the group with which the part begins.
        for (const LinearPart& part : parts) {
            const int64_t count = part.matrix->num_panels();
            const int64_t begin = std::max(range.begin - first, int64_t{0});
            const int64_t end = std::min(range.end - first, count);
            if (begin < end) {
                run_part(table, part, static_cast<int32_t>(begin), static_cast<int32_t>(end), x, y,
                         y_stride);
            }
            first += count;
        }
    });
}

}  // namespace weir
