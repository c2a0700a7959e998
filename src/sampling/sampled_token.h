#pragma once

#include <cstdint>

#include "base/types.h"

namespace weir {

struct TokenLogprob {
    TokenId token = kNoToken;
    float logprob = 0;
    int32_t rank = 0;  // 1 is the most likely (reference 6).
};

/// Part of a pool of TokenLogprob that one step shares.
struct LogprobRange {
    int32_t begin = 0;
    int32_t count = 0;  // 0: none. First entry: the token itself, then the top ones.
};

struct SampledToken {
    TokenId token = kNoToken;  // kNoToken if the request did not sample in this step.
    LogprobRange logprobs;
};

}  // namespace weir
