#include "sampling/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/random.h"

namespace weir {
namespace {

constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

/// Room for the whole row from the first draw on: memory is only reserved, and no later draw
/// allocates.
void reserve(DrawScratch& scratch, size_t vocab_size) {
    if (scratch.weights.size() >= vocab_size) return;
    scratch.values.reserve(vocab_size);
    scratch.weights.resize(vocab_size);
    for (auto* tokens : {&scratch.filtered, &scratch.candidates, &scratch.ranked}) {
        tokens->reserve(vocab_size);
    }
}

/// The smallest value that min_p and top_k keep; both keep all ties, so one bound serves for them.
float value_bound(std::span<const float> row, const SamplingParams& params, float max,
                  DrawScratch& scratch) {
    float bound = kMinusInf;
    if (params.min_p > 0) bound = max + params.temperature * std::log(params.min_p);
    if (params.top_k > 0 && static_cast<size_t>(params.top_k) < row.size()) {
        top_tokens(row, static_cast<size_t>(params.top_k), scratch.ranked);
        bound = std::max(bound, scratch.ranked.back().value);
    }
    return bound;
}

/// Finds the last token of the shortest prefix of the ranking whose weight reaches `target`; ranked
/// tokens are indices into `weights`. Linear: halves are selected, only the last few are sorted.
ScoredToken last_of_prefix(std::vector<ScoredToken>& ranked, std::span<const float> weights,
                           double target) {
    auto low = ranked.begin();
    auto high = ranked.end();
    double before = 0;
    const auto weight = [&](const ScoredToken& scored) {
        return static_cast<double>(weights[static_cast<size_t>(scored.token)]);
    };
    while (high - low > 32) {
        const auto middle = low + (high - low) / 2;
        std::nth_element(low, middle, high, ranks_before);
        double sum = 0;
        for (auto at = low; at != middle; ++at) sum += weight(*at);
        if (before + sum >= target) {
            high = middle;
        } else {
            before += sum;
            low = middle;
        }
    }
    std::sort(low, high, ranks_before);
    for (auto at = low; at != high; ++at) {
        before += weight(*at);
        if (before >= target) return *at;
    }
    return *(high - 1);
}

/// Candidates of top_p in order of their ids: enough of the top to hold the target. Most rows are
/// peaked, so the first bound is nearly always enough; the last one takes all.
void collect_candidates(std::span<const float> values, std::span<const float> weights, float max,
                        float temperature, double target, std::vector<ScoredToken>& candidates) {
    for (const float log_weight_min : {-8.0F, -16.0F, kMinusInf}) {
        tokens_at_least(values, max + temperature * log_weight_min, candidates);
        double sum = 0;
        for (const ScoredToken& candidate : candidates) {
            sum += weights[static_cast<size_t>(candidate.token)];
        }
        // The margin is far above what summing in another order can change.
        if (sum >= target * (1 + 1e-9)) return;
    }
}

/// Draws among the candidates that `kept` holds, in order of their ids.
TokenId draw_among(std::span<const ScoredToken> candidates, std::span<const float> weights,
                   const KeptTokens& kept, double uniform) {
    const auto for_each_kept = [&](auto&& act) {
        for (const ScoredToken& candidate : candidates) {
            if (!kept.contains(candidate.value, candidate.token)) continue;
            if (!act(candidate.token, weights[static_cast<size_t>(candidate.token)])) return;
        }
    };
    double sum = 0;
    for_each_kept([&](TokenId, float weight) {
        sum += weight;
        return true;
    });
    const double target = uniform * sum;
    double running = 0;
    TokenId drawn = kNoToken;
    for_each_kept([&](TokenId token, float weight) {
        running += weight;
        if (weight > 0) drawn = token;
        return running <= target;
    });
    CHECK(drawn != kNoToken);  // The largest value is always kept and has weight 1.
    return drawn;
}

}  // namespace

double draw_uniform(uint64_t sampling_seed, int64_t index) {
    return Random(mix64(sampling_seed) ^ mix64(~static_cast<uint64_t>(index))).uniform();
}

Draw draw_token(std::span<const float> row, const SamplingParams& params, double uniform,
                DrawScratch& scratch) {
    const ScoredToken best = argmax(row);
    // Nothing is left, or one token has all: no distribution to draw from.
    if (!std::isfinite(best.value)) return {best.token, {best.value, best.token}};

    reserve(scratch, row.size());
    const float bound = value_bound(row, params, best.value, scratch);
    std::span<const float> values = row;
    const bool filtered = bound > kMinusInf;
    if (filtered) {
        tokens_at_least(row, bound, scratch.filtered);
        scratch.values.clear();
        for (const ScoredToken& scored : scratch.filtered) scratch.values.push_back(scored.value);
        values = scratch.values;
    }
    const std::span<const float> weights(scratch.weights.data(), values.size());
    const double sum =
        exp_sum(values, best.value, 1.0F / params.temperature, scratch.weights.data());

    KeptTokens kept{bound, static_cast<TokenId>(row.size())};
    TokenId drawn = kNoToken;  // Index into values.
    if (params.top_p >= 1) {
        drawn = static_cast<TokenId>(find_in_blocks(weights, uniform * sum));
    } else {
        const double target = static_cast<double>(params.top_p) * sum;
        collect_candidates(values, weights, best.value, params.temperature, target,
                           scratch.candidates);
        scratch.ranked.assign(scratch.candidates.begin(), scratch.candidates.end());
        const ScoredToken last = last_of_prefix(scratch.ranked, weights, target);
        kept = {last.value, last.token};
        drawn = draw_among(scratch.candidates, weights, kept, uniform);
    }
    if (filtered) {
        if (params.top_p < 1) {
            kept.token_max = scratch.filtered[static_cast<size_t>(kept.token_max)].token;
        }
        drawn = scratch.filtered[static_cast<size_t>(drawn)].token;
    }
    return {drawn, kept};
}

}  // namespace weir
