#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "sampling/params.h"

namespace weir {

/// A request as it enters the engine; plain data, made by api/ on a front-end thread. n > 1 is n of
/// these with their own ids.
struct NewRequest {
    RequestId id = 0;                // Unique while the process lives.
    std::vector<TokenId> token_ids;  // The prompt, 1 <= size < max_model_len.
    SamplingParams params;
    int64_t arrival_us = 0;           // Wall clock when rendering began: key of priority order.
    int32_t priority = 0;             // Lower runs earlier; only under SchedulingPolicy::kPriority.
    std::string cache_salt;           // Empty: none.
    TokenId eos_token_id = kNoToken;  // The model's primary EOS.
};

enum class FinishReason { kNone, kStop, kLength, kAbort, kError, kRepetition };

/// vLLM's word: "stop", "length", "abort", "error", "repetition".
const char* to_string(FinishReason reason);

}  // namespace weir
