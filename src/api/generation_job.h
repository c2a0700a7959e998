#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/prompts.h"
#include "api/sampling_fields.h"
#include "sampling/params.h"

namespace weir {

/// A parsed and tokenised API request: what the front-end pool hands back to the IO thread.
struct GenerationJob {
    RequestShape shape;
    SamplingParams params;
    std::vector<int32_t> max_tokens;  // Effective, per prompt.
    std::vector<PromptInput> prompts;

    std::string id;  // "cmpl-..."; its tail was drawn or given.
    int64_t created = 0;
    int64_t arrival_us = 0;  // Monotonic.
    int64_t arrival_wall_us = 0;
    std::string role;         // Chat: of the answer.
    std::string echo_text;    // Chat: in front of the answer.
    std::string prompt_text;  // Chat with return_prompt_text.
    bool want_prompt_text = false;
    bool prompt_only = false;  // Completions: echo with max_tokens 0.
};

}  // namespace weir
