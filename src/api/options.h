#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/types.h"

namespace weir {

/// Bounds of one request; vLLM's environment variables of the same names override them
/// (reference 4.3).
struct ApiLimits {
    int32_t max_stop_strings = 4;           // VLLM_MAX_STOP_STRINGS
    int32_t max_n_sequences = 16384;        // VLLM_MAX_N_SEQUENCES
    int32_t max_completion_prompts = 1024;  // VLLM_MAX_COMPLETION_PROMPTS
    int32_t max_num_bad_words = 128;        // VLLM_MAX_NUM_BAD_WORDS
    int32_t max_logprob_token_ids = 128;
};

/// Sampling defaults of the model's generation config, --override-generation-config already
/// applied.
struct GenerationDefaults {
    std::optional<double> temperature, top_p, min_p;
    std::optional<double> repetition_penalty, presence_penalty, frequency_penalty;
    std::optional<int64_t> top_k;
    std::optional<int64_t> max_new_tokens;
    bool max_new_tokens_is_limit =
        false;  // From an override or an explicit folder (reference 5.3).
};

enum class ContentFormat { kAuto, kString, kOpenai };

/// Everything that the front end needs to know, frozen at start. cmd/ fills it from the flags;
/// names are the flags'.
struct ApiOptions {
    std::string version = "0.0.0";
    std::string system_fingerprint = "weir";
    std::string owned_by = "weir";
    std::vector<std::string> served_model_names;  // At least one; the first is echoed.
    std::string model_root;                       // `root` of /v1/models.
    bool skip_model_name_validation = false;      // VLLM_SKIP_MODEL_NAME_VALIDATION

    int32_t max_model_len = 2048;
    int64_t max_logprobs = 20;  // -1: no limit.
    TokenId eos_token_id = kNoToken;
    std::vector<TokenId> extra_eos_ids;  // Further end tokens of the generation config.
    GenerationDefaults generation;
    ApiLimits limits;

    std::vector<std::string> api_keys;  // Empty ones are ignored.
    std::string root_path;
    std::vector<std::string> allowed_origins;
    std::vector<std::string> allowed_methods{"*"};
    std::vector<std::string> allowed_headers{"*"};
    bool allow_credentials = false;
    bool enable_request_id_headers = false;

    bool enable_prompt_tokens_details = false;
    bool enable_force_include_usage = false;
    bool enable_server_load_tracking = false;
    bool enable_per_request_metrics = false;
    bool enable_request_timings = false;  // weir's own: `timings` and Server-Timing.
    bool return_tokens_as_token_ids = false;
    double sse_keep_alive_interval = 0;  // Seconds; 0: none.
    int32_t stream_interval = 1;

    std::string response_role = "assistant";
    ContentFormat chat_template_content_format = ContentFormat::kAuto;
    bool trust_request_chat_template = false;
    Json default_chat_template_kwargs;  // Object or null.
    std::string bos_token, eos_token;   // Text, for templates.

    bool dev_mode = false;              // VLLM_SERVER_DEV_MODE
    bool disable_fastapi_docs = false;  // No /docs and /openapi.json.
};

}  // namespace weir
