#include "sim/script_executor.h"

#include <algorithm>

#include "base/random.h"
#include "base/text.h"

namespace weir {
namespace {

uint64_t row_value(uint64_t before, TokenId token, uint64_t salt) {
    return mix64(before ^ (uint64_t(uint32_t(token)) << 20) ^ salt);
}

uint64_t fold(uint64_t digest, uint64_t value) { return mix64(digest ^ value); }

bool ends_early(TokenId token, const SamplingParams& params, TokenId eos_token_id) {
    const std::vector<TokenId>& stops = params.stop_token_ids;
    return token == eos_token_id || std::find(stops.begin(), stops.end(), token) != stops.end();
}

/// min_tokens masks what would end the request, as the sampler does.
TokenId draw_token(uint64_t state, int32_t num_output_tokens, const SamplingParams& params,
                   TokenId eos_token_id) {
    for (;; ++state) {
        const auto token = static_cast<TokenId>(mix64(state) % kScriptVocabSize);
        if (num_output_tokens < params.min_tokens && ends_early(token, params, eos_token_id)) {
            continue;
        }
        return token;
    }
}

}  // namespace

ScriptExecutor::ScriptExecutor(int32_t num_blocks, int32_t block_size, int32_t max_num_seqs)
    : block_size_(block_size),
      cells_(static_cast<size_t>(num_blocks) * static_cast<size_t>(block_size), 0xdead),
      written_steps_(cells_.size(), -1),
      slots_(static_cast<size_t>(max_num_seqs)) {}

void ScriptExecutor::set_facts(RequestId id, const ScriptFacts& facts) {
    if (facts_.size() <= id) facts_.resize(id + 1);
    facts_[id] = facts;
}

Result<void> ScriptExecutor::execute(const SchedulerOutput& step, ExecutorOutput& output) {
    output.clear();
    last_step_.clear();
    step_ += 1;
    if (fail_next_) return fail(ErrorCode::kInternal, "the script's device failed");
    for (const ScheduledRequest& request : step.requests) {
        last_step_.push_back({request.id, request.num_computed_tokens,
                              request.num_scheduled_tokens,
                              static_cast<int32_t>(request.token_ids.size()),
                              request.is_new_in_slot});
        if (!violation_.empty()) return {};
        write_rows(request);
        follow_slot(request);
    }
    if (!violation_.empty()) {
        output.sampled.resize(step.requests.size());
        return {};
    }
    for (size_t i = 0; i < step.requests.size(); ++i) {
        const ScheduledRequest& request = step.requests[i];
        output.sampled.push_back({request.samples ? sample(request) : kNoToken, {}});
        if (request.params->prompt_logprobs) {
            add_prompt_logprobs(request, static_cast<int32_t>(i), output);
        }
    }
    return {};
}

size_t ScriptExecutor::cell(const ScheduledRequest& request, int32_t position) const {
    const auto block = request.block_ids[static_cast<size_t>(position / block_size_)];
    return static_cast<size_t>(block) * static_cast<size_t>(block_size_) +
           static_cast<size_t>(position % block_size_);
}

void ScriptExecutor::write_rows(const ScheduledRequest& request) {
    const int32_t begin = request.num_computed_tokens;
    const int32_t end = begin + request.num_scheduled_tokens;
    if (begin < 0 || end <= begin) return complain(request, "a request without rows");
    if (end > static_cast<int32_t>(request.token_ids.size())) {
        return complain(request, "rows beyond the tokens");
    }
    if (request.samples != (end == static_cast<int32_t>(request.token_ids.size()))) {
        return complain(request, "samples before it caught up, or not when it did");
    }
    if (static_cast<int32_t>(request.block_ids.size()) * block_size_ < end) {
        return complain(request, "rows without slots");
    }
    const uint64_t salt = facts_[request.id].salt;
    uint64_t before = begin > 0 ? cells_[cell(request, begin - 1)] : salt;
    for (int32_t position = begin; position < end; ++position) {
        const size_t at = cell(request, position);
        if (at < static_cast<size_t>(block_size_)) return complain(request, "wrote the null block");
        if (written_steps_[at] == step_) return complain(request, "a slot was written twice");
        written_steps_[at] = step_;
        before = row_value(before, request.token_ids[static_cast<size_t>(position)], salt);
        cells_[at] = before;
        trace_ = fold(trace_, at);
    }
    trace_ = fold(trace_, request.id);
}

void ScriptExecutor::follow_slot(const ScheduledRequest& request) {
    if (request.slot < 0 || static_cast<size_t>(request.slot) >= slots_.size()) {
        return complain(request, "a slot out of range");
    }
    Slot& slot = slots_[static_cast<size_t>(request.slot)];
    if (request.is_new_in_slot) {
        slot = {.id = request.id, .num_tokens_seen = request.num_prompt_tokens};
    }
    // Another request's state: the text will show it. Only this one's tokens can be followed.
    for (; slot.num_tokens_seen < static_cast<int32_t>(request.token_ids.size());) {
        const TokenId token = request.token_ids[static_cast<size_t>(slot.num_tokens_seen++)];
        slot.digest = fold(slot.digest, static_cast<uint64_t>(token));
    }
}

TokenId ScriptExecutor::sample(const ScheduledRequest& request) {
    const int32_t num_rows = request.num_computed_tokens + request.num_scheduled_tokens;
    uint64_t digest = 0;
    for (int32_t position = 0; position < num_rows; ++position) {
        digest = fold(digest, cells_[cell(request, position)]);
    }
    digest = fold(digest, slots_[static_cast<size_t>(request.slot)].digest);
    digest = fold(digest, request.sampling_seed);
    return draw_token(digest, num_rows - request.num_prompt_tokens, *request.params,
                      request.eos_token_id);
}

/// The row of position p describes the token at p + 1.
void ScriptExecutor::add_prompt_logprobs(const ScheduledRequest& request, int32_t index,
                                         ExecutorOutput& output) const {
    const int32_t end = std::min(request.num_computed_tokens + request.num_scheduled_tokens,
                                 request.num_prompt_tokens - 1);
    for (int32_t row = request.num_computed_tokens; row < end; ++row) {
        const auto begin = static_cast<int32_t>(output.logprobs.size());
        const TokenId token = request.token_ids[static_cast<size_t>(row) + 1];
        output.logprobs.push_back({token, -1.0F, 1});
        output.prompt_logprobs.push_back({index, row + 1, {begin, 1}});
    }
}

void ScriptExecutor::complain(const ScheduledRequest& request, const char* what) {
    if (violation_.empty()) violation_ = concat("executor: ", what, ", request ", request.id);
}

ScriptText script_text(std::span<const TokenId> prompt, const SamplingParams& params,
                       TokenId eos_token_id, int32_t max_model_len, const ScriptFacts& facts) {
    ScriptText text;
    if (params.max_tokens == 0) return {.token_ids = {}, .finish_reason = "length"};
    uint64_t value = facts.salt, rows = 0, outputs = 0;
    for (TokenId token : prompt) {
        value = row_value(value, token, facts.salt);
        rows = fold(rows, value);
    }
    for (;;) {
        const auto num_output = static_cast<int32_t>(text.token_ids.size());
        const TokenId token = draw_token(fold(fold(rows, outputs), facts.sampling_seed), num_output,
                                         params, eos_token_id);
        text.token_ids.push_back(token);
        const std::vector<TokenId>& stops = params.stop_token_ids;
        const bool stops_here = std::find(stops.begin(), stops.end(), token) != stops.end();
        if ((token == eos_token_id && !params.ignore_eos) || stops_here) {
            text.finish_reason = "stop";
            return text;
        }
        if (num_output + 1 >= params.max_tokens ||
            static_cast<int32_t>(prompt.size()) + num_output + 1 >= max_model_len) {
            text.finish_reason = "length";
            return text;
        }
        value = row_value(value, token, facts.salt);
        rows = fold(rows, value);
        outputs = fold(outputs, static_cast<uint64_t>(token));
    }
}

}  // namespace weir
