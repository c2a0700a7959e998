#pragma once

#include "kernels/kernel_table.h"

/// Kernels for AVX2, FMA and F16C; the same bits as reference/.
namespace weir::avx2 {

void matmul(const PanelMatrix& w, int32_t panel_begin, int32_t panel_end, const QuantizedRows& x,
            float* y, int64_t y_stride);
void matmul_float(const PanelMatrix& w, int32_t panel_begin, int32_t panel_end, const FloatRows& x,
                  float* y, int64_t y_stride);
void silu_mul(const float* gate, const float* up, int32_t n, float* out);
void gelu_mul(const float* gate, const float* up, int32_t n, float* out);
void attend(const AttentionTask& task);

}  // namespace weir::avx2
