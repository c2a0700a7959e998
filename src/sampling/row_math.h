#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace weir {

// Passes over a logits row. SSE2 only (the baseline), with fixed lanes and blocks: the bits are the
// same on every machine. NaN counts as -inf.

struct ScoredToken {
    float value = 0;
    TokenId token = kNoToken;
};

/// Descending value, then ascending id: the order of top log-probabilities.
inline bool ranks_before(const ScoredToken& a, const ScoredToken& b) {
    return a.value > b.value || (a.value == b.value && a.token < b.token);
}

/// The largest value, ties to the lowest id. Token 0 if all are -inf. One pass. `row` is not empty.
ScoredToken argmax(std::span<const float> row);

/// How many values are >= `value`.
int64_t count_at_least(std::span<const float> row, float value);

/// Values of one block of exp_sum() and find_in_blocks().
constexpr size_t kRowBlock = 256;

/// weights[i] = exp((row[i] - max) * scale), and their sum. `max` is finite and not below any
/// value, `scale` > 0; `weights` has the row's size.
double exp_sum(std::span<const float> row, float max, float scale, float* weights);

/// The same sum without the weights.
double exp_sum(std::span<const float> row, float max, float scale);

/// First index whose running sum exceeds `target`, the sum as exp_sum() made it; the last index
/// with a weight if rounding left none.
size_t find_in_blocks(std::span<const float> weights, double target);

/// The min(k, size) best tokens, best first. O(n + k log k); `out` is cleared and reused.
void top_tokens(std::span<const float> row, size_t k, std::vector<ScoredToken>& out);

/// All tokens with value >= `value_min` (no NaN), in order of their ids; `out` is cleared.
void tokens_at_least(std::span<const float> row, float value_min, std::vector<ScoredToken>& out);

}  // namespace weir
