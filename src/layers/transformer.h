#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "kernels/aligned_buffer.h"
#include "kernels/kernel_table.h"
#include "layers/kv_cache.h"
#include "layers/linear.h"
#include "layers/rotary.h"
#include "layers/weights.h"
#include "model/model_config.h"
#include "threads/fork_join.h"

namespace weir {

/// Consecutive rows of one request.
struct ForwardSequence {
    int32_t row_begin = 0;
    int32_t num_rows = 0;
    int32_t first_position = 0;
    const BlockId* block_ids = nullptr;  // Block table; covers all rows.
};

/// Rows of several requests, chunks and decodes mixed.
struct ForwardBatch {
    std::span<const TokenId> token_ids;  // [num_rows]
    std::span<const ForwardSequence> sequences;
};

/// A decoder-only transformer of ModelConfig's families over a paged KV cache. A row's result
/// depends on its sequence alone: not on the batch, the cut into chunks or the number of threads.
class Transformer {
 public:
    /// Rows of one logits() call.
    static constexpr int32_t kLogitRowsMax = 32;

    /// `rows_max`: rows of one forward(). Fails with kOutOfMemory. `pool` and `cache` outlive it.
    static Result<std::unique_ptr<Transformer>> make(const ModelConfig& config,
                                                     ModelWeights weights, const KernelTable& table,
                                                     ForkJoin& pool, KvCache& cache,
                                                     int32_t rows_max);
    /// Bytes of the buffers that make() reserves.
    static int64_t activation_bytes(const ModelConfig& config, int32_t rows_max);

    /// Computes all layers and writes K and V of all rows.
    void forward(const ForwardBatch& batch);
    /// Logits [rows.size(), vocab_size] of some rows of the last forward(); at most kLogitRowsMax.
    /// Valid until the next call; the caller may write into it.
    float* logits(std::span<const int32_t> rows);

 private:
    Transformer(const ModelConfig& config, ModelWeights weights, const KernelTable& table,
                ForkJoin& pool, KvCache& cache);
    void embed(const ForwardBatch& batch);
    void find_positions(const ForwardBatch& batch);
    void attention(const ForwardBatch& batch, int32_t layer);
    void rotate_and_store(const ForwardBatch& batch, int32_t layer);
    void attend(const ForwardBatch& batch, int32_t layer);
    void mlp(int32_t layer);
    /// y = norm(x) quantised into quantized_ and kept in normed_.
    void normalise(const float* x, const NormWeights& norm, int32_t num_rows);
    void add_to_stream(float* y, const NormWeights& post_norm);
    LinearInput quantize(const float* x, int64_t stride, int32_t cols, int32_t num_rows);
    LinearInput input_of_normed(int32_t num_rows) const;

    struct AttentionPart {
        int32_t sequence;
        int32_t kv_head;
        int32_t row;  // Within the sequence.
        int32_t num_rows;
    };

    const ModelConfig config_;
    ModelWeights weights_;
    const KernelTable& table_;
    ForkJoin& pool_;
    KvCache& cache_;
    Rotary rotary_full_, rotary_local_;
    int32_t num_rows_ = 0;
    int32_t qkv_width_ = 0;

    AlignedBuffer memory_;
    float* stream_ = nullptr;   // [rows, hidden]: the residual stream.
    float* normed_ = nullptr;   // [rows, hidden]
    float* qkv_ = nullptr;      // [rows, qkv_width]
    float* mixed_ = nullptr;    // [rows, num_heads * head_dim]: attention's output.
    float* hidden_ = nullptr;   // [rows, 2 * intermediate]: gate and up.
    float* out_ = nullptr;      // [rows, hidden]
    float* angles_ = nullptr;   // [rows, 2 (full, local), head_dim]
    float* scales_ = nullptr;
    int8_t* levels_ = nullptr;
    float* picked_ = nullptr;   // [kLogitRowsMax, hidden]
    float* logits_ = nullptr;   // [kLogitRowsMax, vocab_size]
    std::vector<AttentionPart> parts_;
};

}  // namespace weir
