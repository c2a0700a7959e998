#pragma once

#include <cstdint>
#include <optional>

#include "api/options.h"
#include "base/json.h"
#include "base/result.h"
#include "sampling/params.h"
#include "tokenizer/tokenizer.h"

namespace weir {

/// What a request asks for besides its prompt; from a body that check_fields() has passed.
struct RequestShape {
    bool is_chat = false;
    int32_t n = 1;
    bool stream = false;
    bool include_usage = false;     // A last frame with usage.
    bool continuous_usage = false;  // Usage in every frame.
    int32_t stream_interval = 1;
    bool echo = false;
    bool return_token_ids = false;
    bool tokens_as_ids = false;
    bool skip_special_tokens = true;
    std::optional<int32_t> logprobs;  // Alternatives per token; -1: all.
    std::optional<int32_t> prompt_logprobs;
    int64_t priority = 0;
    std::string cache_salt;
    std::string request_id;  // Empty: draw one.
};

/// The checks that vLLM makes before it looks at the model's name (reference 5.2, 5.3): fields that
/// do not fit together. Fails with kBadRequest, or kNotImplemented for structured outputs.
Result<RequestShape> read_shape(const Json& body, bool is_chat, const ApiOptions& options);

/// max_tokens as it will be: cut to what the model's length leaves. `num_prompt_tokens` is the
/// longest prompt of the request. Fails with kBadRequest if nothing fits or the wish is out of
/// range.
Result<int32_t> effective_max_tokens(const Json& body, const RequestShape& shape,
                                     const ApiOptions& options, int32_t num_prompt_tokens);

/// All sampling fields but max_tokens, with defaults (request, generation config, table) and
/// ranges. `max_tokens` is the request's effective one, for min_tokens. Fails with kBadRequest.
Result<SamplingParams> read_sampling(const Json& body, const RequestShape& shape,
                                     const ApiOptions& options, const Tokenizer& tokenizer,
                                     int32_t max_tokens);

}  // namespace weir
