#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "sampling/params.h"
#include "sampling/row_math.h"

namespace weir {

/// What min_p, top_k and top_p leave of a row: every value above value_min, and those equal to it
/// up to token_max.
struct KeptTokens {
    float value_min = 0;
    TokenId token_max = 0;
    bool contains(float value, TokenId token) const {
        return value > value_min || (value == value_min && token <= token_max);
    }
};

/// Buffers of a draw, reused; they grow to the vocabulary once.
struct DrawScratch {
    std::vector<float> values, weights;
    std::vector<ScoredToken> filtered, candidates, ranked;
};

struct Draw {
    TokenId token = kNoToken;
    KeptTokens kept;
};

/// The random number of draw `index` of a request: uniform in [0, 1), a function of both alone.
double draw_uniform(uint64_t sampling_seed, int64_t index);

/// Steps 9 to 12 of reference 6 on one row: temperature (> 0), min_p, top_k (ties kept), top_p on
/// the renormalised rest (ties: lower ids stay), then the token at `uniform` of the cumulative
/// distribution in order of ids. Inverting one uniform number needs one exponential per candidate;
/// Gumbel noise would need a random number and a logarithm more for each of them.
Draw draw_token(std::span<const float> row, const SamplingParams& params, double uniform,
                DrawScratch& scratch);

}  // namespace weir
