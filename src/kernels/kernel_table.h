#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "kernels/activations.h"
#include "kernels/panels.h"
#include "os/cpu_info.h"

namespace weir {

/// Positions that attention looks at in one step of its online softmax, and of one tile of the KV cache.
constexpr int32_t kKvTile = 16;
/// Softmax is computed apart for each run of this many positions (absolute, [0, 256), [256, 512) ...) and the
/// parts are merged in order, so that several threads may share one long context and the bits stay.
constexpr int32_t kKvSplit = 256;

/// Attention of consecutive rows of one request for all query heads of one KV head. A KV tile holds K as
/// [head_dim][16] and V as [16][head_dim], both binary16.
struct AttentionTask {
    const float* q = nullptr;  // Row r, head g at q + r * q_stride + g * head_dim; scaled and rotated.
    int64_t q_stride = 0;
    float* out = nullptr;      // The same shape with out_stride.
    int64_t out_stride = 0;
    int32_t num_rows = 0;
    int32_t group = 1;          // Query heads of this KV head.
    int32_t head_dim = 0;       // A multiple of 8, at most kHeadDimMax.
    int32_t first_position = 0;  // Of row 0.
    int32_t window = 0;          // Position p sees (p - window, p]; 0: all of [0, p].
    const uint16_t* kv = nullptr;  // Of this layer and KV head; block b at kv + b * block_stride.
    int64_t block_stride = 0;      // In elements.
    int32_t block_size = 16;       // A block has ceil(block_size / 16) tiles; the last may be partly used.
    const BlockId* block_ids = nullptr;
};

constexpr int32_t kHeadDimMax = 512;
/// Rows (tokens) that one task should take, at least 1.
int32_t attention_rows(int32_t group, int32_t head_dim);

/// The kernels of one instruction set. All sets give the same bits (reference/ is the specification).
struct KernelTable {
    const char* isa = "";
    int32_t panel_width = 8;

    /// Rows [row_begin, row_end) of x (row r at x + r * x_stride) into `out`. Rows may go to different threads.
    void (*quantize_rows)(const float* x, int64_t x_stride, int32_t row_begin, int32_t row_end,
                          const QuantizedRows& out);
    /// y[row][r] for the matrix rows r of panels [panel_begin, panel_end) and all activation rows:
    /// acc = fma(d_w * d_a, dot, acc), acc = fma(m_w, s_a, acc), sub-block by sub-block in order.
    void (*matmul)(const PanelMatrix& w, int32_t panel_begin, int32_t panel_end,
                   const QuantizedRows& x, float* y, int64_t y_stride);
    /// The same for float kinds: four fmas chains over k mod 4, added as (p0 + p1) + (p2 + p3).
    void (*matmul_float)(const PanelMatrix& w, int32_t panel_begin, int32_t panel_end,
                         const FloatRows& x, float* y, int64_t y_stride);
    /// y = x / sqrt(mean(x^2) + eps) * weight; x and y may be the same.
    void (*rms_norm)(const float* x, const float* weight, float eps, int32_t n, float* y);
    /// x += y.
    void (*add)(float* x, const float* y, int32_t n);
    /// out = silu(gate) * up, gelu_tanh(gate) * up; out may be gate.
    void (*silu_mul)(const float* gate, const float* up, int32_t n, float* out);
    void (*gelu_mul)(const float* gate, const float* up, int32_t n, float* out);
    /// To binary16 as float_to_half_saturated() does.
    void (*to_half)(const float* x, int32_t n, uint16_t* out);
    void (*attend)(const AttentionTask& task);
};

namespace kernels {

const KernelTable& reference_table();
const KernelTable& avx2_table();

/// Every table that this CPU can run, slowest (reference) first.
std::vector<const KernelTable*> available(const CpuInfo& cpu);

/// The fastest table, or the one named by `isa` (the value of WEIR_ISA; empty: no wish). Fails with kBadConfig if
/// the name is unknown, not built, or beyond the CPU; the text lists what there is.
Result<const KernelTable*> select(const CpuInfo& cpu, std::string_view isa);

}  // namespace kernels

}  // namespace weir
