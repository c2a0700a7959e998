#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/options.h"
#include "base/json.h"
#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace weir {

struct PromptInput {
    std::vector<TokenId> ids;
    std::string text;  // For an echo; filled only if wanted.
};

/// Cuts `ids` as truncate_prompt_tokens and truncation_side ask. Measured on vLLM 0.32: N keeps the
/// first N, -1 the last max_model_len - 1. Fails with kBadRequest.
Result<void> truncate_prompt(const Json& body, const ApiOptions& options,
                             std::vector<TokenId>& ids);

/// The prompts of a completion in any of their four forms. Control tokens in a text are recognised:
/// users write them by hand (design 2.2). `want_text`: fill PromptInput::text. `token_bytes_max`:
/// longest token of the vocabulary; refuses a text that cannot fit max_model_len before it is
/// tokenised.
Result<std::vector<PromptInput>> read_prompts(const Json& body, const ApiOptions& options,
                                              const Tokenizer& tokenizer, int32_t token_bytes_max,
                                              bool want_text);

}  // namespace weir
