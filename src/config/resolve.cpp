#include "config/resolve.h"

#include <algorithm>

#include "base/text.h"

namespace weir {

namespace {

constexpr int64_t kDefaultMaxNumBatchedTokens = 2048;  // Reference 1.10, CPU backend, server.
constexpr int64_t kDefaultMaxNumSeqs = 128;
constexpr int64_t kTokensMax = int64_t{1} << 24;  // Counts of tokens are 32-bit inside.

Result<void> check_relations(const ServeConfig& config, const SchedulerConfig& s) {
    const auto bad = [](std::string text, std::string flag) {
        return fail(ErrorCode::kBadConfig, std::move(text), std::move(flag));
    };
    if (s.max_num_batched_tokens < s.max_model_len && !s.enable_chunked_prefill) {
        return bad(
            concat("max_num_batched_tokens (", s.max_num_batched_tokens,
                   ") is smaller than max_model_len (", s.max_model_len,
                   "), which limits the sequence length while chunked prefill is off: increase "
                   "--max-num-batched-tokens or decrease --max-model-len"),
            "max_num_batched_tokens");
    }
    if (s.max_num_batched_tokens < s.max_num_seqs) {
        return bad(concat("max_num_batched_tokens (", s.max_num_batched_tokens,
                          ") must be greater than or equal to max_num_seqs (", s.max_num_seqs, ")"),
                   "max_num_batched_tokens");
    }
    if (s.max_num_active_seqs > s.max_num_seqs) {
        return bad(concat("max_num_active_seqs (", s.max_num_active_seqs,
                          ") cannot be greater than max_num_seqs (", s.max_num_seqs, ")"),
                   "max_num_active_seqs");
    }
    if (config.long_prefill_token_threshold > s.max_model_len) {
        return bad(concat("long_prefill_token_threshold (", config.long_prefill_token_threshold,
                          ") cannot be greater than the max_model_len (", s.max_model_len, ")"),
                   "long_prefill_token_threshold");
    }
    if (s.max_num_scheduled_tokens > s.max_num_batched_tokens) {
        return bad(concat("max_num_scheduled_tokens (", s.max_num_scheduled_tokens,
                          ") cannot be greater than max_num_batched_tokens (",
                          s.max_num_batched_tokens, ")"),
                   "max_num_scheduled_tokens");
    }
    return {};
}

int32_t narrow(int64_t tokens) { return static_cast<int32_t>(std::min(tokens, kTokensMax)); }

}  // namespace

Result<int64_t> resolve_max_model_len(const ServeConfig& config, int64_t model_length,
                                      bool allow_longer) {
    const int64_t wanted = config.max_model_len.value_or(model_length);
    if (wanted == -1) return model_length;
    if (wanted > model_length && !allow_longer) {
        return fail(ErrorCode::kBadConfig,
                    concat("max_model_len (", wanted, ") is greater than the model's own length (",
                           model_length,
                           "): answers beyond it would be wrong. Lower --max-model-len, or set "
                           "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 to try it all the same"),
                    "max_model_len");
    }
    return std::min(wanted, kTokensMax);
}

Result<ResolvedScheduler> resolve_scheduler(const ServeConfig& config, int64_t max_model_len) {
    // Only what was defaulted adapts to what was given (reference 1.10).
    int64_t tokens = config.max_num_batched_tokens.value_or(kDefaultMaxNumBatchedTokens);
    int64_t seqs = config.max_num_seqs.value_or(kDefaultMaxNumSeqs);
    if (!config.max_num_batched_tokens) {
        if (!config.enable_chunked_prefill) tokens = std::max(tokens, max_model_len);
        tokens = std::min(tokens, seqs * max_model_len);
        tokens = std::max(tokens, seqs);
    }
    if (!config.max_num_seqs) seqs = std::min(seqs, tokens);

    ResolvedScheduler out;
    SchedulerConfig& s = out.scheduler;
    s.max_num_batched_tokens = narrow(tokens);
    s.max_num_seqs = narrow(seqs);
    s.max_num_scheduled_tokens = narrow(config.max_num_scheduled_tokens.value_or(tokens));
    s.max_num_active_seqs = narrow(config.max_num_active_seqs.value_or(seqs));
    s.max_model_len = narrow(max_model_len);
    s.enable_chunked_prefill = config.enable_chunked_prefill;
    s.long_prefill_token_threshold = narrow(config.long_prefill_token_threshold);
    s.long_prefill_token_threshold_adaptive = config.long_prefill_token_threshold_adaptive;
    s.scheduling_policy = config.scheduling_policy == "priority" ? SchedulingPolicy::kPriority
                                                                 : SchedulingPolicy::kFcfs;
    s.scheduler_reserve_full_isl = config.scheduler_reserve_full_isl;
    s.watermark = config.watermark;
    s.stream_interval = narrow(config.stream_interval);
    TRY_VOID(check_relations(config, s));
    if (config.max_num_batched_tokens && tokens > seqs * max_model_len) {
        out.warnings.push_back(
            concat("max_num_batched_tokens (", tokens, ") exceeds max_num_seqs * max_model_len (",
                   seqs * max_model_len, "). This may lead to unexpected behavior."));
    }
    if (!config.enable_chunked_prefill) {
        out.warnings.push_back(
            "chunked prefill is off: a long prompt delays every running request");
    }
    return out;
}

}  // namespace weir
