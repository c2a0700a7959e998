#include "layers/transformer.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"

namespace weir {

namespace {

constexpr int64_t kAlign = 64;

int32_t qkv_width(const ModelConfig& c) { return (c.num_heads + 2 * c.num_kv_heads) * c.head_dim; }

int32_t widest(const ModelConfig& c) {
    return std::max({c.hidden_size, c.intermediate_size, c.num_heads * c.head_dim});
}

/// Bytes of each buffer, in the order of Transformer's members.
std::vector<int64_t> buffer_bytes(const ModelConfig& c, int64_t rows) {
    const int64_t f = sizeof(float);
    const int64_t picked = Transformer::kLogitRowsMax;
    const int64_t quantized_rows = std::max(rows, picked);
    return {rows * c.hidden_size * f,
            rows * c.hidden_size * f,
            rows * qkv_width(c) * f,
            rows * c.num_heads * c.head_dim * f,
            rows * 2 * c.intermediate_size * f,
            rows * c.hidden_size * f,
            rows * 2 * c.head_dim * f,
            quantized_rows * widest(c) / 8 * f,
            quantized_rows * widest(c),
            picked * c.hidden_size * f,
            picked * c.vocab_size * f};
}

}  // namespace

Transformer::Transformer(const ModelConfig& config, ModelWeights weights, const KernelTable& table,
                         ForkJoin& pool, KvCache& cache)
    : config_(config),
      weights_(std::move(weights)),
      table_(table),
      pool_(pool),
      cache_(cache),
      rotary_full_(config.head_dim, config.rope_theta, config.rope_interleaved),
      rotary_local_(config.head_dim, config.rope_theta_local, config.rope_interleaved),
      qkv_width_(qkv_width(config)) {}

int64_t Transformer::activation_bytes(const ModelConfig& config, int32_t rows_max) {
    int64_t total = 0;
    for (const int64_t bytes : buffer_bytes(config, rows_max)) {
        total += round_up(bytes, kAlign);
    }
    return total;
}

Result<std::unique_ptr<Transformer>> Transformer::make(const ModelConfig& config,
                                                       ModelWeights weights,
                                                       const KernelTable& table, ForkJoin& pool,
                                                       KvCache& cache, int32_t rows_max) {
    auto made = std::unique_ptr<Transformer>(
        new Transformer(config, std::move(weights), table, pool, cache));
    Transformer& t = *made;
    const std::vector<int64_t> sizes = buffer_bytes(config, rows_max);
    int64_t total = 0;
    for (const int64_t bytes : sizes) total += round_up(bytes, kAlign);
    auto memory = AlignedBuffer::reserve(total, false);
    if (!memory) {
        return fail(ErrorCode::kOutOfMemory,
                    concat("no room for ", mib(total), " of activations: lower "
                           "--max-num-batched-tokens"));
    }
    t.memory_ = std::move(*memory);
    std::byte* at = t.memory_.data();
    std::vector<std::byte*> buffers;
    for (const int64_t bytes : sizes) {
        buffers.push_back(at);
        at += round_up(bytes, kAlign);
    }
    float** const members[] = {&t.stream_, &t.normed_, &t.qkv_,  &t.mixed_,
                               &t.hidden_, &t.out_,    &t.angles_, &t.scales_};
    for (size_t i = 0; i < 8; ++i) *members[i] = reinterpret_cast<float*>(buffers[i]);
    t.levels_ = reinterpret_cast<int8_t*>(buffers[8]);
    t.picked_ = reinterpret_cast<float*>(buffers[9]);
    t.logits_ = reinterpret_cast<float*>(buffers[10]);
    const int64_t parts_max = int64_t{rows_max} * config.num_kv_heads;
    t.parts_.reserve(static_cast<size_t>(parts_max));
    return made;
}

LinearInput Transformer::quantize(const float* x, int64_t stride, int32_t cols, int32_t num_rows) {
    LinearInput input{{num_rows, cols, levels_, scales_}, {x, stride, num_rows}};
    pool_.run(num_rows, [&](const TaskRange& range) {
        table_.quantize_rows(x, stride, static_cast<int32_t>(range.begin),
                             static_cast<int32_t>(range.end), input.quantized);
    });
    return input;
}

LinearInput Transformer::input_of_normed(int32_t num_rows) const {
    return {{num_rows, config_.hidden_size, levels_, scales_},
            {normed_, config_.hidden_size, num_rows}};
}

void Transformer::normalise(const float* x, const NormWeights& norm, int32_t num_rows) {
    const int32_t n = config_.hidden_size;
    const LinearInput input = input_of_normed(num_rows);
    pool_.run(num_rows, [&](const TaskRange& range) {
        for (int64_t row = range.begin; row < range.end; ++row) {
            table_.rms_norm(x + row * n, norm.data(), config_.rms_norm_eps, n, normed_ + row * n);
        }
        table_.quantize_rows(normed_, n, static_cast<int32_t>(range.begin),
                             static_cast<int32_t>(range.end), input.quantized);
    });
}

void Transformer::add_to_stream(float* y, const NormWeights& post_norm) {
    const int32_t n = config_.hidden_size;
    pool_.run(num_rows_, [&](const TaskRange& range) {
        for (int64_t row = range.begin; row < range.end; ++row) {
            float* const update = y + row * n;
            if (!post_norm.empty()) {
                table_.rms_norm(update, post_norm.data(), config_.rms_norm_eps, n, update);
            }
            table_.add(stream_ + row * n, update, n);
        }
    });
}

void Transformer::embed(const ForwardBatch& batch) {
    const int32_t n = config_.hidden_size;
    pool_.run(num_rows_, [&](const TaskRange& range) {
        for (int64_t row = range.begin; row < range.end; ++row) {
            const std::span<float> out(stream_ + row * n, static_cast<size_t>(n));
            weights_.embedding(batch.token_ids[static_cast<size_t>(row)], out);
            if (config_.embedding_scale != 1.0F) {
                for (float& value : out) value *= config_.embedding_scale;
            }
        }
    });
}

void Transformer::find_positions(const ForwardBatch& batch) {
    const auto width = static_cast<size_t>(config_.head_dim);
    pool_.run(static_cast<int64_t>(batch.sequences.size()), [&](const TaskRange& range) {
        for (int64_t s = range.begin; s < range.end; ++s) {
            const ForwardSequence& sequence = batch.sequences[static_cast<size_t>(s)];
            for (int32_t r = 0; r < sequence.num_rows; ++r) {
                float* const out = angles_ + int64_t{sequence.row_begin + r} * 2 * config_.head_dim;
                rotary_full_.angles(sequence.first_position + r, {out, width});
                if (config_.sliding_window != 0) {
                    rotary_local_.angles(sequence.first_position + r,
                                         {out + config_.head_dim, width});
                }
            }
        }
    });
}

/// Norms, turns and scales the heads of one row range, and writes K and V to the cache.
void Transformer::rotate_and_store(const ForwardBatch& batch, int32_t layer) {
    const LayerWeights& w = weights_.layers[static_cast<size_t>(layer)];
    const int32_t dim = config_.head_dim;
    const bool local = !config_.attends_fully(layer);
    const Rotary& rotary = local ? rotary_local_ : rotary_full_;
    const auto one_row = [&](const ForwardSequence& sequence, int32_t r) {
        const int64_t row = sequence.row_begin + r;
        float* const heads = qkv_ + row * qkv_width_;
        const std::span<const float> angles(angles_ + (row * 2 + (local ? 1 : 0)) * dim,
                                            static_cast<size_t>(dim));
        for (int32_t h = 0; h < config_.num_heads + config_.num_kv_heads; ++h) {
            const bool is_query = h < config_.num_heads;
            const NormWeights& norm = is_query ? w.q_norm : w.k_norm;
            float* const head = heads + h * dim;
            if (!norm.empty()) {
                table_.rms_norm(head, norm.data(), config_.rms_norm_eps, dim, head);
            }
            rotary.rotate(angles, head);
            for (int32_t d = 0; is_query && d < dim; ++d) head[d] *= config_.query_scale;
        }
        uint16_t k[kHeadDimMax], v[kHeadDimMax];
        const int32_t position = sequence.first_position + r;
        const BlockId block = sequence.block_ids[position / cache_.block_size()];
        for (int32_t h = 0; h < config_.num_kv_heads; ++h) {
            table_.to_half(heads + (config_.num_heads + h) * dim, dim, k);
            table_.to_half(heads + (config_.num_heads + config_.num_kv_heads + h) * dim, dim, v);
            cache_.store(layer, h, block, position % cache_.block_size(), k, v);
        }
    };
    pool_.run(num_rows_, [&](const TaskRange& range) {
        for (const ForwardSequence& sequence : batch.sequences) {
            const int64_t begin = std::max<int64_t>(range.begin, sequence.row_begin);
            const int64_t end =
                std::min<int64_t>(range.end, sequence.row_begin + sequence.num_rows);
            for (int64_t row = begin; row < end; ++row) {
                one_row(sequence, static_cast<int32_t>(row - sequence.row_begin));
            }
        }
    });
}

void Transformer::attend(const ForwardBatch& batch, int32_t layer) {
    const int32_t group = config_.num_heads / config_.num_kv_heads;
    const int32_t dim = config_.head_dim;
    const int64_t out_width = int64_t{config_.num_heads} * dim;
    pool_.run(static_cast<int64_t>(parts_.size()), [&](const TaskRange& range) {
        for (int64_t i = range.begin; i < range.end; ++i) {
            const AttentionPart& part = parts_[static_cast<size_t>(i)];
            const ForwardSequence& sequence = batch.sequences[static_cast<size_t>(part.sequence)];
            const int64_t row = sequence.row_begin + part.row;
            AttentionTask task;
            task.q = qkv_ + row * qkv_width_ + part.kv_head * group * dim;
            task.q_stride = qkv_width_;
            task.out = mixed_ + row * out_width + part.kv_head * group * dim;
            task.out_stride = out_width;
            task.num_rows = part.num_rows;
            task.group = group;
            task.head_dim = dim;
            task.first_position = sequence.first_position + part.row;
            task.window = config_.attends_fully(layer) ? 0 : config_.sliding_window;
            task.kv = cache_.layer_head(layer, part.kv_head);
            task.block_stride = cache_.block_stride();
            task.block_size = cache_.block_size();
            task.block_ids = sequence.block_ids;
            table_.attend(task);
        }
    });
}

void Transformer::attention(const ForwardBatch& batch, int32_t layer) {
    const LayerWeights& w = weights_.layers[static_cast<size_t>(layer)];
    const int32_t dim = config_.head_dim;
    normalise(stream_, w.attention_norm, num_rows_);
    const LinearPart parts[] = {{&w.q, 0},
                                {&w.k, config_.num_heads * dim},
                                {&w.v, (config_.num_heads + config_.num_kv_heads) * dim}};
    linear(pool_, table_, parts, input_of_normed(num_rows_), qkv_, qkv_width_);
    rotate_and_store(batch, layer);
    attend(batch, layer);
    const int32_t width = config_.num_heads * dim;
    const LinearInput mixed = quantize(mixed_, width, width, num_rows_);
    const LinearPart out[] = {{&w.o, 0}};
    linear(pool_, table_, out, mixed, out_, config_.hidden_size);
    add_to_stream(out_, w.post_attention_norm);
}

void Transformer::mlp(int32_t layer) {
    const LayerWeights& w = weights_.layers[static_cast<size_t>(layer)];
    const int32_t width = config_.intermediate_size;
    normalise(stream_, w.mlp_norm, num_rows_);
    const LinearPart parts[] = {{&w.gate, 0}, {&w.up, width}};
    linear(pool_, table_, parts, input_of_normed(num_rows_), hidden_, 2 * int64_t{width});
    const auto activate = config_.activation == Activation::kSilu ? table_.silu_mul
                                                                  : table_.gelu_mul;
    const LinearInput input{{num_rows_, width, levels_, scales_},
                            {hidden_, 2 * int64_t{width}, num_rows_}};
    pool_.run(num_rows_, [&](const TaskRange& range) {
        for (int64_t row = range.begin; row < range.end; ++row) {
            float* const gate = hidden_ + row * 2 * width;
            activate(gate, gate + width, width, gate);
        }
        table_.quantize_rows(hidden_, 2 * int64_t{width}, static_cast<int32_t>(range.begin),
                             static_cast<int32_t>(range.end), input.quantized);
    });
    const LinearPart down[] = {{&w.down, 0}};
    linear(pool_, table_, down, input, out_, config_.hidden_size);
    add_to_stream(out_, w.post_mlp_norm);
}

void Transformer::forward(const ForwardBatch& batch) {
    num_rows_ = static_cast<int32_t>(batch.token_ids.size());
    parts_.clear();
    const int32_t rows = attention_rows(config_.num_heads / config_.num_kv_heads, config_.head_dim);
    for (size_t s = 0; s < batch.sequences.size(); ++s) {
        const int32_t total = batch.sequences[s].num_rows;
        for (int32_t row = 0; row < total; row += rows) {
            for (int32_t head = 0; head < config_.num_kv_heads; ++head) {
                parts_.push_back({static_cast<int32_t>(s), head, row, std::min(rows, total - row)});
            }
        }
    }
    embed(batch);
    find_positions(batch);
    for (int32_t layer = 0; layer < config_.num_layers; ++layer) {
        attention(batch, layer);
        mlp(layer);
    }
}

float* Transformer::logits(std::span<const int32_t> rows) {
    CHECK(rows.size() <= static_cast<size_t>(kLogitRowsMax));
    const int32_t n = config_.hidden_size;
    const auto num_rows = static_cast<int32_t>(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
        float* const out = picked_ + static_cast<int64_t>(i) * n;
        table_.rms_norm(stream_ + int64_t{rows[i]} * n, weights_.final_norm.data(),
                        config_.rms_norm_eps, n, out);
    }
    const LinearInput input = quantize(picked_, n, n, num_rows);
    const LinearPart parts[] = {{&weights_.lm_head, 0}};
    linear(pool_, table_, parts, input, logits_, config_.vocab_size);
    return logits_;
}

}  // namespace weir
