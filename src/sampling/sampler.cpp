#include "sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/check.h"
#include "sampling/draw.h"
#include "sampling/logit_edits.h"
#include "sampling/row_math.h"

namespace weir {
namespace {

constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

/// Buffers of one sample() or describe() call.
struct Scratch {
    DrawScratch draw;
    std::vector<float> raw;    // The row before it was edited.
    std::vector<float> saved;  // Few values that an edit puts back.
    std::vector<ScoredToken> top;
};

/// Turns values of a row into what the answer shows: log-probabilities, or the logits themselves.
class RowScale {
 public:
    RowScale(std::span<const float> row, bool as_logits) {
        if (as_logits) return;
        const float max = argmax(row).value;
        if (std::isfinite(max)) offset_ = max + std::log(exp_sum(row, max, 1.0F));
    }
    float operator()(float value) const {
        return static_cast<float>(static_cast<double>(value) - offset_);
    }

 private:
    double offset_ = 0;
};

struct DescribeInput {
    TokenId actual = kNoToken;
    size_t num_top = 0;
    std::span<const TokenId> extra;
    bool as_logits = false;
};

LogprobRange describe_row(std::span<const float> row, const DescribeInput& input,
                          std::vector<ScoredToken>& top, std::vector<TokenLogprob>& pool) {
    const RowScale scale(row, input.as_logits);
    const size_t begin = pool.size();
    const auto value_of = [&](TokenId token) { return row[static_cast<size_t>(token)]; };
    const auto rank_of = [&](TokenId token) {
        return static_cast<int32_t>(count_at_least(row, value_of(token)));
    };
    pool.push_back({input.actual, scale(value_of(input.actual)), rank_of(input.actual)});
    top_tokens(row, input.num_top, top);
    for (size_t i = 0; i < top.size(); ++i) {
        if (top[i].token == input.actual) continue;
        pool.push_back({top[i].token, scale(top[i].value), static_cast<int32_t>(i) + 1});
    }
    for (const TokenId token : input.extra) {
        if (token < 0 || static_cast<size_t>(token) >= row.size()) continue;
        const auto is_token = [&](const TokenLogprob& entry) { return entry.token == token; };
        if (std::any_of(pool.begin() + static_cast<ptrdiff_t>(begin), pool.end(), is_token)) {
            continue;
        }
        pool.push_back({token, scale(value_of(token)), rank_of(token)});
    }
    return {static_cast<int32_t>(begin), static_cast<int32_t>(pool.size() - begin)};
}

/// The row after steps 9 to 11, for the processed modes.
void write_processed(std::span<float> row, float temperature, const KeptTokens& kept) {
    for (size_t i = 0; i < row.size(); ++i) {
        const bool is_kept = kept.contains(row[i], static_cast<TokenId>(i));
        row[i] = is_kept ? row[i] / temperature : kMinusInf;
    }
}

}  // namespace

struct Sampler::Impl {
    int32_t vocab_size;
    LogprobsMode mode;
    std::vector<PenaltyCounts> slots;

    // As many as threads ever sampled at once; taken for a call and put back.
    std::mutex mutex;
    std::vector<std::unique_ptr<Scratch>> idle_scratch;

    bool as_logits() const {
        return mode == LogprobsMode::kRawLogits || mode == LogprobsMode::kProcessedLogits;
    }
    bool processed() const {
        return mode == LogprobsMode::kProcessedLogprobs || mode == LogprobsMode::kProcessedLogits;
    }
    size_t top_count(int32_t count) const {
        return static_cast<size_t>(count < 0 ? vocab_size : std::min(count, vocab_size));
    }

    std::unique_ptr<Scratch> take_scratch() {
        const std::lock_guard lock(mutex);
        if (idle_scratch.empty()) return std::make_unique<Scratch>();
        std::unique_ptr<Scratch> scratch = std::move(idle_scratch.back());
        idle_scratch.pop_back();
        return scratch;
    }
    void put_back(std::unique_ptr<Scratch> scratch) {
        const std::lock_guard lock(mutex);
        idle_scratch.push_back(std::move(scratch));
    }
};

Sampler::Sampler(int32_t vocab_size, int32_t max_num_seqs, LogprobsMode mode)
    : impl_(std::make_unique<Impl>()) {
    CHECK(vocab_size > 0);
    CHECK(max_num_seqs > 0);
    impl_->vocab_size = vocab_size;
    impl_->mode = mode;
    impl_->slots.resize(static_cast<size_t>(max_num_seqs));
}

Sampler::~Sampler() = default;

SampledToken Sampler::sample(std::span<float> logits, const SamplingInput& input,
                             std::vector<TokenLogprob>& pool) {
    CHECK(logits.size() == static_cast<size_t>(impl_->vocab_size));
    CHECK(input.slot >= 0 && static_cast<size_t>(input.slot) < impl_->slots.size());
    CHECK(input.token_ids.size() >= static_cast<size_t>(input.num_prompt_tokens));
    const SamplingParams& params = *input.params;
    const bool wants_logprobs = params.logprobs.has_value() || !params.logprob_token_ids.empty();
    const bool edits = has_edits(input);
    if (params.greedy() && !edits && !wants_logprobs) return {argmax(logits).token, {}};

    std::unique_ptr<Scratch> scratch = impl_->take_scratch();
    std::span<const float> shown = logits;
    if (edits) {
        if (wants_logprobs && !impl_->processed()) {
            scratch->raw.assign(logits.begin(), logits.end());
            shown = scratch->raw;
        }
        edit_logits(logits, input, impl_->slots[static_cast<size_t>(input.slot)], scratch->saved);
    }
    SampledToken sampled;
    if (params.greedy()) {
        sampled.token = argmax(logits).token;
    } else {
        const auto index = static_cast<int64_t>(input.token_ids.size()) - input.num_prompt_tokens;
        const Draw draw =
            draw_token(logits, params, draw_uniform(input.sampling_seed, index), scratch->draw);
        sampled.token = draw.token;
        if (wants_logprobs && impl_->processed()) {
            write_processed(logits, params.temperature, draw.kept);
        }
    }
    if (wants_logprobs) {
        const DescribeInput describe{.actual = sampled.token,
                                     .num_top = impl_->top_count(params.logprobs.value_or(0)),
                                     .extra = params.logprob_token_ids,
                                     .as_logits = impl_->as_logits()};
        sampled.logprobs = describe_row(shown, describe, scratch->top, pool);
    }
    impl_->put_back(std::move(scratch));
    return sampled;
}

LogprobRange Sampler::describe(std::span<const float> logits, TokenId actual, int32_t count,
                               std::vector<TokenLogprob>& pool) const {
    CHECK(logits.size() == static_cast<size_t>(impl_->vocab_size));
    CHECK(actual >= 0 && actual < impl_->vocab_size);
    std::unique_ptr<Scratch> scratch = impl_->take_scratch();
    const DescribeInput input{.actual = actual,
                              .num_top = impl_->top_count(count),
                              .extra = {},
                              .as_logits = impl_->as_logits()};
    const LogprobRange range = describe_row(logits, input, scratch->top, pool);
    impl_->put_back(std::move(scratch));
    return range;
}

}  // namespace weir
