#include "sampling/logit_edits.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/random.h"

namespace weir {
namespace {

constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

bool is_in(TokenId token, std::span<const float> logits) {
    return token >= 0 && static_cast<size_t>(token) < logits.size();
}

int64_t output_count(const SamplingInput& input) {
    return static_cast<int64_t>(input.token_ids.size()) - input.num_prompt_tokens;
}

bool min_tokens_pending(const SamplingInput& input) {
    return output_count(input) < input.params->min_tokens;
}

void keep_allowed(std::span<float> logits, const std::vector<TokenId>& allowed,
                  std::vector<float>& saved) {
    if (allowed.empty()) return;
    saved.clear();
    for (const TokenId token : allowed) {
        saved.push_back(is_in(token, logits) ? logits[static_cast<size_t>(token)] : kMinusInf);
    }
    std::fill(logits.begin(), logits.end(), kMinusInf);
    for (size_t i = 0; i < allowed.size(); ++i) {
        if (is_in(allowed[i], logits)) logits[static_cast<size_t>(allowed[i])] = saved[i];
    }
}

/// Masks the last token of a sequence whose beginning the output ends with; the prompt never
/// counts.
void mask_bad_words(std::span<float> logits, const SamplingInput& input) {
    const auto output = input.token_ids.subspan(static_cast<size_t>(input.num_prompt_tokens));
    for (const std::vector<TokenId>& word : input.params->bad_words) {
        if (word.empty() || !is_in(word.back(), logits)) continue;
        const size_t prefix = word.size() - 1;
        if (prefix > output.size()) continue;
        if (std::equal(word.begin(), word.end() - 1,
                       output.end() - static_cast<ptrdiff_t>(prefix))) {
            logits[static_cast<size_t>(word.back())] = kMinusInf;
        }
    }
}

/// Masks what would end the request, unless nothing else is left (a grammar wants the end).
void mask_stop_tokens(std::span<float> logits, const SamplingInput& input,
                      std::vector<float>& saved) {
    if (!min_tokens_pending(input)) return;
    saved.clear();
    const auto for_each_stop = [&](auto&& act) {
        if (is_in(input.eos_token_id, logits)) act(static_cast<size_t>(input.eos_token_id));
        for (const TokenId token : input.params->stop_token_ids) {
            if (is_in(token, logits)) act(static_cast<size_t>(token));
        }
    };
    for_each_stop([&](size_t token) {
        saved.push_back(logits[token]);
        logits[token] = kMinusInf;
    });
    const bool any_left =
        std::any_of(logits.begin(), logits.end(), [](float x) { return x > kMinusInf; });
    if (any_left) return;
    // Tokens come in the same order again; of one that is named twice the first value counts, the
    // second was -inf already.
    size_t i = 0;
    for_each_stop([&](size_t token) { logits[token] = std::max(logits[token], saved[i++]); });
}

void add_bias(std::span<float> logits, const SamplingParams& params) {
    for (const auto& [token, bias] : params.logit_bias) {
        if (is_in(token, logits)) logits[static_cast<size_t>(token)] += bias;
    }
}

void apply_penalties(std::span<float> logits, const SamplingParams& params,
                     const PenaltyCounts& counts) {
    for (const PenaltyCounts::Entry& entry : counts.entries()) {
        if (!is_in(entry.token, logits)) continue;
        float& logit = logits[static_cast<size_t>(entry.token)];
        // -inf stays -inf under all three.
        logit = logit > 0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
        if (entry.output_count == 0) continue;
        logit -= params.frequency_penalty * static_cast<float>(entry.output_count);
        logit -= params.presence_penalty;
    }
}

}  // namespace

void PenaltyCounts::update(const SamplingInput& input, int32_t vocab_size) {
    // The first step of a request in a slot need not sample (a prompt in chunks), so the flag alone
    // would miss a change of owner: whatever cannot be the same request's next token begins anew.
    const bool continues = !input.is_new_in_slot && output_count(input) > 0 &&
                           num_prompt_tokens_ == input.num_prompt_tokens &&
                           sampling_seed_ == input.sampling_seed &&
                           num_counted_ + 1 == input.token_ids.size();
    if (!continues) reset(input, vocab_size);
    const auto num_prompt = static_cast<size_t>(input.num_prompt_tokens);
    for (; num_counted_ < input.token_ids.size(); ++num_counted_) {
        add(input.token_ids[num_counted_], num_counted_ < num_prompt ? 0 : 1);
    }
}

void PenaltyCounts::reset(const SamplingInput& input, int32_t vocab_size) {
    entries_.clear();
    num_counted_ = 0;
    num_prompt_tokens_ = input.num_prompt_tokens;
    sampling_seed_ = input.sampling_seed;
    // Room for all that can come: later steps allocate nothing.
    const int64_t tokens_max =
        std::max<int64_t>(static_cast<int64_t>(input.token_ids.size()),
                          int64_t{input.num_prompt_tokens} + input.params->max_tokens);
    const auto entries_max =
        static_cast<size_t>(std::clamp<int64_t>(tokens_max, 1, std::max(vocab_size, 1)));
    entries_.reserve(entries_max);
    rebuild_index(std::bit_ceil(2 * entries_max));
}

void PenaltyCounts::rebuild_index(size_t size) {
    index_.assign(size, -1);
    for (size_t i = 0; i < entries_.size(); ++i) {
        size_t at = mix64(static_cast<uint64_t>(entries_[i].token)) & (size - 1);
        while (index_[at] >= 0) at = (at + 1) & (size - 1);
        index_[at] = static_cast<int32_t>(i);
    }
}

void PenaltyCounts::add(TokenId token, int32_t output_count) {
    const size_t mask = index_.size() - 1;
    size_t at = mix64(static_cast<uint64_t>(token)) & mask;
    for (; index_[at] >= 0; at = (at + 1) & mask) {
        Entry& entry = entries_[static_cast<size_t>(index_[at])];
        if (entry.token != token) continue;
        entry.output_count += output_count;
        return;
    }
    index_[at] = static_cast<int32_t>(entries_.size());
    entries_.push_back({token, output_count});
    if (2 * entries_.size() > index_.size()) rebuild_index(2 * index_.size());
}

bool has_edits(const SamplingInput& input) {
    const SamplingParams& params = *input.params;
    return !params.allowed_token_ids.empty() || !params.bad_words.empty() ||
           min_tokens_pending(input) || !params.logit_bias.empty() || params.has_penalties();
}

void edit_logits(std::span<float> logits, const SamplingInput& input, PenaltyCounts& counts,
                 std::vector<float>& saved) {
    keep_allowed(logits, input.params->allowed_token_ids, saved);
    mask_bad_words(logits, input);
    mask_stop_tokens(logits, input, saved);
    add_bias(logits, *input.params);
    if (input.params->has_penalties()) {
        counts.update(input, static_cast<int32_t>(logits.size()));
        apply_penalties(logits, *input.params, counts);
    }
}

}  // namespace weir
