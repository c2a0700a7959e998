#include <algorithm>
#include <cmath>

#include "kernels/attention_tiles.h"
#include "kernels/half.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/scalar_math.h"

namespace weir::reference {

namespace {

/// A softmax under construction: maximum, denominator, weighted sum of values (Milakov and Gimelshein 2018).
struct Softmax {
    float max = kNoScore;
    float denominator = 0;
    float sums[kHeadDimMax] = {};
};

/// Adds positions [begin, end), all of one tile.
void add_tile(const AttentionTask& task, const float* q, int32_t begin, int32_t end, float* lanes,
              Softmax& state) {
    const uint16_t* k = tile_at(task, begin);
    const uint16_t* v = k + kKvTile * task.head_dim;
    const int32_t lane_begin = begin % task.block_size % kKvTile;
    const int32_t lane_end = lane_begin + end - begin;
    float scores[kKvTile];
    float max = state.max;
    for (int32_t j = lane_begin; j < lane_end; ++j) {
        float score = 0;
        for (int32_t d = 0; d < task.head_dim; ++d) {
            score = std::fma(q[d], half_to_float(k[d * kKvTile + j]), score);
        }
        scores[j] = score;
        max = score > max ? score : max;
    }
    const float correction = exp_f32(state.max - max);
    state.max = max;
    for (int32_t j = 0; j < kKvTile; ++j) {
        const bool visible = lane_begin <= j && j < lane_end;
        scores[j] = visible ? exp_f32(scores[j] - max) : 0.0F;
        lanes[j] = std::fma(lanes[j], correction, scores[j]);
    }
    for (int32_t d = 0; d < task.head_dim; ++d) {
        float sum = state.sums[d] * correction;
        for (int32_t j = lane_begin; j < lane_end; ++j) {
            sum = std::fma(scores[j], half_to_float(v[j * task.head_dim + d]), sum);
        }
        state.sums[d] = sum;
    }
}

void merge(const Softmax& part, int32_t head_dim, Softmax& total) {
    const float max = part.max > total.max ? part.max : total.max;
    const float keep = exp_f32(total.max - max);
    const float take = exp_f32(part.max - max);
    total.max = max;
    total.denominator = std::fma(total.denominator, keep, part.denominator * take);
    for (int32_t d = 0; d < head_dim; ++d) {
        total.sums[d] = std::fma(total.sums[d], keep, part.sums[d] * take);
    }
}

void attend_row(const AttentionTask& task, const float* q, int32_t position, float* out) {
    const int32_t first = task.window == 0 ? 0 : std::max(0, position - task.window + 1);
    Softmax total;
    bool first_part = true;
    for (int32_t at = first; at <= position;) {
        const int32_t split_end = std::min((at / kKvSplit + 1) * kKvSplit, position + 1);
        Softmax part;
        float lanes[kKvTile] = {};
        while (at < split_end) {
            const int32_t end = std::min(tile_end(task, at), split_end);
            add_tile(task, q, at, end, lanes, part);
            at = end;
        }
        part.denominator = sum_lanes(lanes);
        if (first_part) {
            total = part;
        } else {
            merge(part, task.head_dim, total);
        }
        first_part = false;
    }
    const float inverse = 1.0F / total.denominator;
    for (int32_t d = 0; d < task.head_dim; ++d) out[d] = total.sums[d] * inverse;
}

}  // namespace

void attend(const AttentionTask& task) {
    for (int32_t row = 0; row < task.num_rows; ++row) {
        for (int32_t g = 0; g < task.group; ++g) {
            const int64_t head = int64_t{g} * task.head_dim;
            attend_row(task, task.q + row * task.q_stride + head, task.first_position + row,
                       task.out + row * task.out_stride + head);
        }
    }
}

}  // namespace weir::reference
