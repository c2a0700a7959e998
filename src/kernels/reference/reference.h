#pragma once

#include "kernels/kernel_table.h"

/// Plain loops: what every faster kernel must agree with, bit for bit.
namespace weir::reference {

void quantize_rows(const float* x, int64_t x_stride, int32_t row_begin, int32_t row_end,
                   const QuantizedRows& out);
void matmul(const PanelMatrix& w, int32_t panel_begin, int32_t panel_end, const QuantizedRows& x,
            float* y, int64_t y_stride);
void matmul_float(const PanelMatrix& w, int32_t panel_begin, int32_t panel_end, const FloatRows& x,
                  float* y, int64_t y_stride);
void rms_norm(const float* x, const float* weight, float eps, int32_t n, float* y);
void add(float* x, const float* y, int32_t n);
void silu_mul(const float* gate, const float* up, int32_t n, float* out);
void gelu_mul(const float* gate, const float* up, int32_t n, float* out);
void to_half(const float* x, int32_t n, uint16_t* out);
void attend(const AttentionTask& task);

}  // namespace weir::reference
