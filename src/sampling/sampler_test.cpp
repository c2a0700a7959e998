#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/random.h"
#include "base/testing.h"
#include "sampling/draw.h"

namespace weir {
namespace {

constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

/// A request and what was sampled from one row.
struct Case {
    std::vector<float> row;
    SamplingParams params;
    std::vector<TokenId> token_ids = {0};
    int32_t num_prompt_tokens = 1;
    TokenId eos_token_id = kNoToken;
    uint64_t seed = 1;
    LogprobsMode mode = LogprobsMode::kRawLogprobs;

    SampledToken sample(std::vector<TokenLogprob>& pool) const {
        Sampler sampler(static_cast<int32_t>(row.size()), 1, mode);
        std::vector<float> logits = row;
        return sampler.sample(logits, input(), pool);
    }
    TokenId token() const {
        std::vector<TokenLogprob> pool;
        return sample(pool).token;
    }
    std::vector<TokenLogprob> logprobs() const {
        std::vector<TokenLogprob> pool;
        const SampledToken sampled = sample(pool);
        EXPECT_EQ(sampled.logprobs.begin, 0);
        EXPECT_EQ(sampled.logprobs.count, static_cast<int32_t>(pool.size()));
        return pool;
    }
    SamplingInput input() const {
        return {.slot = 0,
                .is_new_in_slot = true,
                .params = &params,
                .token_ids = token_ids,
                .num_prompt_tokens = num_prompt_tokens,
                .eos_token_id = eos_token_id,
                .sampling_seed = seed};
    }
    /// Tokens that `draws` seeds give, with their counts.
    std::map<TokenId, int> histogram(int draws) {
        std::map<TokenId, int> counts;
        for (int i = 0; i < draws; ++i) {
            seed = static_cast<uint64_t>(i);
            ++counts[token()];
        }
        return counts;
    }
};

Case greedy_case(std::vector<float> row) {
    Case c{.row = std::move(row), .params = {}};
    c.params.temperature = 0;
    return c;
}

std::vector<float> random_row(Random& random, size_t size, double width) {
    std::vector<float> row(size);
    for (float& x : row) x = static_cast<float>((random.uniform() - 0.5) * width);
    return row;
}

// --- Greedy and edits ---------------------------------------------------------------------------

TEST(Sampler, GreedyTakesTheLowestIdOfTiesAndIgnoresNan) {
    EXPECT_EQ(greedy_case({1, 3, 3, 2}).token(), 1);
    EXPECT_EQ(greedy_case({std::nanf(""), -3, -2, std::nanf("")}).token(), 2);
    EXPECT_EQ(greedy_case({kMinusInf, kMinusInf}).token(), 0);
    for (Random random : test_seeds()) {
        SCOPED_TRACE(random.replay());
        const auto size = static_cast<size_t>(random.between(1, 3000));
        std::vector<float> row(size);
        for (float& x : row) x = static_cast<float>(random.below(50));
        const auto want = std::max_element(row.begin(), row.end()) - row.begin();
        EXPECT_EQ(greedy_case(row).token(), want);
    }
}

TEST(Sampler, AllowedTokenIdsMaskAllOthers) {
    Case c = greedy_case({5, 4, 3, 2});
    c.params.allowed_token_ids = {2, 3, 99};
    EXPECT_EQ(c.token(), 2);
}

TEST(Sampler, BadWordsMatchTheOutputOnly) {
    Case c = greedy_case({1, 2, 9, 3});
    c.params.bad_words = {{2}};
    EXPECT_EQ(c.token(), 3);
    c.params.bad_words = {{0, 1, 2}};
    c.token_ids = {0, 1};
    c.num_prompt_tokens = 2;
    EXPECT_EQ(c.token(), 2) << "the prompt must not count";
    c.num_prompt_tokens = 1;
    EXPECT_EQ(c.token(), 2) << "half of the prefix is prompt";
    c.num_prompt_tokens = 0;
    EXPECT_EQ(c.token(), 3);
    c.token_ids = {0, 1, 0};
    EXPECT_EQ(c.token(), 2) << "the output does not end with the prefix";
}

TEST(Sampler, MinTokensMasksEosAndStopIdsUntilReached) {
    Case c = greedy_case({1, 9, 8, 2});
    c.eos_token_id = 1;
    c.params.stop_token_ids = {2, 2};
    EXPECT_EQ(c.token(), 1);
    c.params.min_tokens = 1;
    EXPECT_EQ(c.token(), 3);
    c.token_ids = {0, 3};  // One output token: reached.
    EXPECT_EQ(c.token(), 1);
    c.token_ids = {0};
    c.params.allowed_token_ids = {1, 2};  // Nothing else is left: the end is kept.
    EXPECT_EQ(c.token(), 1);
}

TEST(Sampler, LogitBiasIsAdded) {
    Case c = greedy_case({1, 2, 3});
    c.params.logit_bias = {{0, 2.5F}, {2, -100.0F}, {77, 1.0F}};
    EXPECT_EQ(c.token(), 0);
}

TEST(Sampler, RepetitionPenaltyCountsThePromptTheOthersDoNot) {
    Case c = greedy_case({4, 3.5F, -1, -9});
    c.token_ids = {0, 0, 1};
    c.num_prompt_tokens = 3;
    c.params.repetition_penalty = 8;
    EXPECT_EQ(c.token(), 0);  // 0.5 against 0.4375.
    c.params.repetition_penalty = 1;
    c.params.presence_penalty = 2;
    c.params.frequency_penalty = 2;
    EXPECT_EQ(c.token(), 0) << "prompt tokens have neither presence nor frequency";
    c.num_prompt_tokens = 0;
    c.params.frequency_penalty = 0;
    EXPECT_EQ(c.token(), 0);  // 2 against 1.5: presence counts once.
    c.params.frequency_penalty = 0.6F;
    EXPECT_EQ(c.token(), 1);  // 0.8 against 0.9: token 0 came twice.
}

TEST(Sampler, RepetitionPenaltyMovesNegativeLogitsDown) {
    Case c = greedy_case({-1, -1.5F});
    c.params.repetition_penalty = 2;
    EXPECT_EQ(c.token(), 1);  // Token 0 is the prompt: -2.
}

TEST(Sampler, PenaltyCountsFollowTheRequestInItsSlot) {
    Sampler sampler(3, 2, LogprobsMode::kRawLogprobs);
    SamplingParams params;
    params.temperature = 0;
    params.presence_penalty = 2;
    std::vector<TokenLogprob> pool;
    std::vector<TokenId> tokens = {2};
    const auto step = [&](bool is_new, int32_t num_prompt) {
        std::vector<float> logits = {3, 2, 1.5F};
        const SamplingInput input{.slot = 1,
                                  .is_new_in_slot = is_new,
                                  .params = &params,
                                  .token_ids = tokens,
                                  .num_prompt_tokens = num_prompt,
                                  .eos_token_id = kNoToken,
                                  .sampling_seed = 5};
        tokens.push_back(sampler.sample(logits, input, pool).token);
        return tokens.back();
    };
    EXPECT_EQ(step(true, 1), 0);
    EXPECT_EQ(step(false, 1), 1);
    EXPECT_EQ(step(false, 1), 2);
    EXPECT_EQ(step(false, 1), 0);
    tokens = {0};  // Another request whose first step in the slot did not sample.
    EXPECT_EQ(step(false, 1), 0) << "counts of the former owner";
    tokens = {0, 0, 1};  // Resumed after a preemption.
    EXPECT_EQ(step(true, 1), 2);
}

// --- Property: a naive double-precision model
// -----------------------------------------------------

struct Ranked {
    double value;
    TokenId token;
};

/// Steps 9 to 11 of reference 6 by sorting; probabilities of kept tokens, 0 for the others.
/// `fuzzy`: tokens whose fate hangs on rounding.
std::vector<double> naive_distribution(const std::vector<float>& row, const SamplingParams& params,
                                       std::vector<bool>& fuzzy) {
    std::vector<Ranked> order;
    for (size_t i = 0; i < row.size(); ++i) {
        order.push_back({row[i] / double{params.temperature}, static_cast<TokenId>(i)});
    }
    std::sort(order.begin(), order.end(), [](const Ranked& a, const Ranked& b) {
        return a.value > b.value || (a.value == b.value && a.token < b.token);
    });
    const double max = order[0].value;
    std::vector<double> weights(row.size(), 0);
    fuzzy.assign(row.size(), false);
    const auto k = static_cast<size_t>(params.top_k);
    const double kth = params.top_k > 0 && k < row.size() ? order[k - 1].value : kMinusInf;
    double sum = 0;
    for (const Ranked& r : order) {
        const double p = std::exp(r.value - max);
        const auto at = static_cast<size_t>(r.token);
        fuzzy[at] = params.min_p > 0 && std::abs(p / params.min_p - 1) < 1e-4;
        if (p < params.min_p || r.value < kth) continue;
        weights[at] = p;
        sum += p;
    }
    double higher = 0;
    double kept = 0;
    for (const Ranked& r : order) {
        double& weight = weights[static_cast<size_t>(r.token)];
        const double own = weight;
        if (std::abs(higher / sum - params.top_p) < 1e-5)
            fuzzy[static_cast<size_t>(r.token)] = true;
        if (higher / sum >= params.top_p) weight = 0;
        higher += own;
        kept += weight;
    }
    for (double& weight : weights) weight /= kept;
    return weights;
}

SamplingParams random_params(Random& random) {
    SamplingParams params;
    params.temperature = static_cast<float>(0.05 + 2 * random.uniform());
    if (random.chance(0.5)) params.top_k = static_cast<int32_t>(random.between(-1, 60));
    if (random.chance(0.5)) params.top_p = static_cast<float>(0.01 + 0.99 * random.uniform());
    if (random.chance(0.3)) params.min_p = static_cast<float>(random.uniform());
    return params;
}

TEST(SamplerProperty, KeptSetAndDrawAgreeWithASortingModel) {
    for (Random random : test_seeds()) {
        SCOPED_TRACE(random.replay());
        DrawScratch scratch;
        for (int round = 0; round < 200; ++round) {
            const auto size = static_cast<size_t>(random.between(1, 700));
            std::vector<float> row = random_row(random, size, 1 + 20 * random.uniform());
            if (random.chance(0.3)) {
                for (float& x : row) x = std::round(x);  // Ties.
            }
            if (random.chance(0.2))
                row[static_cast<size_t>(random.below(static_cast<int64_t>(size)))] = kMinusInf;
            if (std::all_of(row.begin(), row.end(), [](float x) { return x == kMinusInf; }))
                continue;
            const SamplingParams params = random_params(random);
            std::vector<bool> fuzzy;
            const std::vector<double> want = naive_distribution(row, params, fuzzy);
            const double u = random.uniform();
            const Draw draw = draw_token(row, params, u, scratch);
            const auto drawn = static_cast<size_t>(draw.token);
            SCOPED_TRACE(testing::Message()
                         << "size " << size << " T " << params.temperature << " k " << params.top_k
                         << " p " << params.top_p << " min_p " << params.min_p << " u " << u);
            bool any_fuzzy = false;
            for (size_t i = 0; i < size; ++i) {
                any_fuzzy = any_fuzzy || fuzzy[i];
                if (fuzzy[i] || row[i] == kMinusInf) continue;
                const bool kept = draw.kept.contains(row[i], static_cast<TokenId>(i));
                // A weight may be below what a float holds.
                ASSERT_EQ(kept, want[i] > 0) << "token " << i << " value " << row[i];
            }
            ASSERT_TRUE(draw.kept.contains(row[drawn], draw.token));
            if (any_fuzzy) continue;
            const double before = std::accumulate(want.begin(), want.begin() + draw.token, 0.0);
            ASSERT_GE(u, before - 1e-4);
            ASSERT_LE(u, before + want[drawn] + 1e-4);
        }
    }
}

TEST(SamplerProperty, TopTokensAgreeWithSorting) {
    for (Random random : test_seeds()) {
        SCOPED_TRACE(random.replay());
        std::vector<ScoredToken> top;
        for (int round = 0; round < 50; ++round) {
            const auto size = static_cast<size_t>(random.between(1, 5000));
            std::vector<float> row(size);
            for (float& x : row) x = static_cast<float>(random.below(round % 2 ? 40 : 1'000'000));
            const auto k = static_cast<size_t>(random.between(1, round % 3 ? 30 : 6000));
            std::vector<ScoredToken> want;
            for (size_t i = 0; i < size; ++i) want.push_back({row[i], static_cast<TokenId>(i)});
            std::sort(want.begin(), want.end(), ranks_before);
            want.resize(std::min(k, size));
            top_tokens(row, k, top);
            ASSERT_EQ(top.size(), want.size());
            for (size_t i = 0; i < top.size(); ++i) ASSERT_EQ(top[i].token, want[i].token) << i;
            EXPECT_EQ(count_at_least(row, want.back().value),
                      std::count_if(row.begin(), row.end(),
                                    [&](float x) { return x >= want.back().value; }));
        }
    }
}

TEST(SamplerProperty, ExpSumAgreesWithDouble) {
    for (Random random : test_seeds()) {
        SCOPED_TRACE(random.replay());
        const auto size = static_cast<size_t>(random.between(1, 3000));
        const std::vector<float> row = random_row(random, size, 60);
        const float max = argmax(row).value;
        std::vector<float> weights(size);
        const double sum = exp_sum(row, max, 0.7F, weights.data());
        double want = 0;
        for (size_t i = 0; i < size; ++i) {
            const double one = std::exp((row[i] - max) * double{0.7F});
            ASSERT_NEAR(weights[i], one, 4e-6 * one + 1e-37);
            want += one;
        }
        EXPECT_NEAR(sum, want, 2e-6 * want);
        EXPECT_EQ(exp_sum(row, max, 0.7F), sum);
        EXPECT_LT(find_in_blocks(weights, 0), size);
        EXPECT_GT(weights[find_in_blocks(weights, sum)], 0);
        EXPECT_GT(weights[find_in_blocks(weights, sum * 2)], 0);
    }
}

// --- Distribution and each parameter
// ---------------------------------------------------------------

/// Pearson's statistic of `counts` against probabilities; expected counts below 5 are pooled.
double chi_square(const std::map<TokenId, int>& counts, const std::vector<double>& p, int draws,
                  int& freedom) {
    double statistic = 0, rest_want = 0, rest_got = 0;
    freedom = -1;
    for (size_t i = 0; i < p.size(); ++i) {
        const auto found = counts.find(static_cast<TokenId>(i));
        const double got = found == counts.end() ? 0 : found->second;
        const double want = p[i] * draws;
        if (want == 0) {
            EXPECT_EQ(got, 0) << "token " << i << " was masked";
        }
        if (want < 5) {
            rest_want += want;
            rest_got += got;
            continue;
        }
        statistic += (got - want) * (got - want) / want;
        ++freedom;
    }
    if (rest_want > 0) {
        statistic += (rest_got - rest_want) * (rest_got - rest_want) / std::max(rest_want, 1.0);
        ++freedom;
    }
    return statistic;
}

TEST(SamplerDistribution, ChiSquareOfFixedSeedsIsOrdinary) {
    Random random(3);
    for (int round = 0; round < 12; ++round) {
        Case c{.row = random_row(random, 60, 8), .params = random_params(random)};
        if (round == 0) c.params = {};
        std::vector<bool> fuzzy;
        const std::vector<double> p = naive_distribution(c.row, c.params, fuzzy);
        if (std::find(fuzzy.begin(), fuzzy.end(), true) != fuzzy.end()) continue;
        int freedom = 0;
        const double statistic = chi_square(c.histogram(20000), p, 20000, freedom);
        // Mean `freedom`, deviation sqrt(2 * freedom): five deviations.
        EXPECT_LE(statistic, freedom + 5 * std::sqrt(2.0 * std::max(freedom, 1))) << round;
    }
}

TEST(SamplerDistribution, OutputIndexAndSeedGiveIndependentNumbers) {
    std::vector<int> cells(16 * 16, 0);
    for (uint64_t seed = 0; seed < 200; ++seed) {
        for (int64_t index = 0; index < 200; ++index) {
            const double a = draw_uniform(seed, index);
            const double b = draw_uniform(seed, index + 1);
            const double d = draw_uniform(seed + 1, index);
            ASSERT_TRUE(a >= 0 && a < 1);
            ASSERT_NE(a, d);
            ++cells[static_cast<size_t>(a * 16) * 16 + static_cast<size_t>(b * 16)];
        }
    }
    double statistic = 0;
    const double want = 200.0 * 200 / 256;
    for (const int cell : cells) statistic += (cell - want) * (cell - want) / want;
    EXPECT_LT(statistic, 255 + 5 * std::sqrt(2.0 * 255));
}

TEST(Sampler, TemperatureSharpensOrFlattens) {
    Case c{.row = {2, 1, 0}, .params = {}};
    c.params.temperature = 0.1F;
    const int cold = c.histogram(1000)[0];
    c.params.temperature = 2;
    const int hot = c.histogram(1000)[0];
    EXPECT_GT(cold, 990);
    EXPECT_LT(hot, 600);
}

TEST(Sampler, TopKKeepsTies) {
    Case c{.row = {1, 1, 1, 0.9F, 0}, .params = {}};
    c.params.top_k = 2;
    EXPECT_EQ(c.histogram(500).size(), 3U);
    c.params.top_k = -1;
    EXPECT_EQ(c.histogram(500).size(), 5U);
}

TEST(Sampler, TopPKeepsTheShortestPrefixThatReachesIt) {
    Case c{.row = {std::log(0.5F), std::log(0.3F), std::log(0.15F), std::log(0.05F)}, .params = {}};
    c.params.top_p = 0.79F;
    EXPECT_EQ(c.histogram(500).size(), 2U);
    c.params.top_p = 0.81F;
    EXPECT_EQ(c.histogram(500).size(), 3U);
    c.params.top_p = 1e-6F;  // At least one stays.
    EXPECT_EQ(c.histogram(100).size(), 1U);
    c.params.top_p = 0.62F;  // Of the top two, 0.625 and 0.375: the first alone reaches it.
    c.params.top_k = 2;
    EXPECT_EQ(c.histogram(500).size(), 1U) << "top_p acts on what top_k left, renormalised";
}

TEST(Sampler, MinPIsRelativeToTheMaximum) {
    Case c{.row = {std::log(0.6F), std::log(0.3F), std::log(0.1F)}, .params = {}};
    c.params.min_p = 0.4F;
    EXPECT_EQ(c.histogram(500).size(), 2U);
    c.params.min_p = 1;
    EXPECT_EQ(c.histogram(100).size(), 1U);
}

TEST(Sampler, MinPIsTakenAfterTheTemperature) {
    Case c{.row = {2, 0}, .params = {}};
    c.params.min_p = 0.2F;  // exp(-2) = 0.135.
    EXPECT_EQ(c.histogram(500).size(), 1U);
    c.params.temperature = 2;  // exp(-1) = 0.37.
    EXPECT_EQ(c.histogram(500).size(), 2U);
}

TEST(Sampler, SameSeedAndIndexSameTokenWhateverElseRuns) {
    Random random(11);
    const std::vector<float> row = random_row(random, 500, 10);
    Sampler sampler(500, 4, LogprobsMode::kRawLogprobs);
    SamplingParams params;
    params.top_p = 0.9F;
    std::vector<TokenLogprob> pool;
    const auto sample = [&](int32_t slot, uint64_t seed, std::vector<TokenId> tokens) {
        std::vector<float> logits = row;
        const SamplingInput input{.slot = slot,
                                  .is_new_in_slot = true,
                                  .params = &params,
                                  .token_ids = tokens,
                                  .num_prompt_tokens = 1,
                                  .eos_token_id = kNoToken,
                                  .sampling_seed = seed};
        return sampler.sample(logits, input, pool).token;
    };
    const TokenId alone = sample(0, 42, {7});
    bool seed_matters = false, index_matters = false;
    for (uint64_t other = 0; other < 20; ++other) {
        seed_matters |= sample(1, other, {3, 4}) != alone;
        index_matters |= sample(2, 42, std::vector<TokenId>(other + 2, 1)) != alone;
        EXPECT_EQ(sample(3, 42, {9}), alone);
    }
    EXPECT_TRUE(seed_matters);
    EXPECT_TRUE(index_matters);
}

// --- Log-probabilities
// -----------------------------------------------------------------------------

void expect_entry(const TokenLogprob& got, TokenId token, double logprob, int32_t rank) {
    EXPECT_EQ(got.token, token);
    if (std::isinf(logprob)) {
        EXPECT_EQ(got.logprob, kMinusInf);
    } else {
        EXPECT_NEAR(got.logprob, logprob, 2e-6);
    }
    EXPECT_EQ(got.rank, rank);
}

TEST(SamplerLogprobs, RawModeShowsTheRowBeforeTheEdits) {
    Case c = greedy_case({std::log(0.5F), std::log(0.3F), std::log(0.2F)});
    c.params.logprobs = 2;
    c.params.logit_bias = {{2, 10.0F}};
    const std::vector<TokenLogprob> got = c.logprobs();
    ASSERT_EQ(got.size(), 3U);
    expect_entry(got[0], 2, std::log(0.2), 3);
    expect_entry(got[1], 0, std::log(0.5), 1);
    expect_entry(got[2], 1, std::log(0.3), 2);
}

TEST(SamplerLogprobs, TheSampledTokenIsNotRepeated) {
    Case c = greedy_case({std::log(0.5F), std::log(0.3F), std::log(0.2F)});
    c.params.logprobs = 2;
    std::vector<TokenLogprob> got = c.logprobs();
    ASSERT_EQ(got.size(), 2U);
    expect_entry(got[0], 0, std::log(0.5), 1);
    expect_entry(got[1], 1, std::log(0.3), 2);
    c.params.logprobs = 0;
    EXPECT_EQ(c.logprobs().size(), 1U);
    c.params.logprobs = -1;
    EXPECT_EQ(c.logprobs().size(), 3U);
    c.params.logprobs = 77;
    EXPECT_EQ(c.logprobs().size(), 3U);
    c.params.logprobs.reset();
    EXPECT_TRUE(c.logprobs().empty());
}

TEST(SamplerLogprobs, ModesDiffer) {
    Case c = greedy_case({2, 1, 0});
    c.params.logprobs = 2;
    c.params.logit_bias = {{0, -1.5F}};
    c.mode = LogprobsMode::kRawLogits;
    EXPECT_EQ(c.logprobs()[0].logprob, 1.0F);
    EXPECT_EQ(c.logprobs()[1].logprob, 2.0F);
    c.mode = LogprobsMode::kProcessedLogits;
    EXPECT_EQ(c.logprobs()[1].logprob, 0.5F);
    c.mode = LogprobsMode::kProcessedLogprobs;
    const double z = std::exp(0.5) + std::exp(1.0) + 1;
    expect_entry(c.logprobs()[0], 1, std::log(std::exp(1.0) / z), 1);

    c.params.temperature = 0.5F;
    c.params.top_k = 2;
    c.params.logprobs = 3;
    const std::vector<TokenLogprob> got = c.logprobs();
    const double kept = std::exp(1.0) + std::exp(2.0);
    for (const TokenLogprob& entry : got) {
        const double values[] = {std::exp(1.0) / kept, std::exp(2.0) / kept, 0};
        const int32_t ranks[] = {2, 1, 3};
        expect_entry(entry, entry.token, std::log(values[entry.token]), ranks[entry.token]);
    }
}

TEST(SamplerLogprobs, TiesGetTheWorstRankAndExtraIdsAreAdded) {
    Case c = greedy_case({1, 1, 1, 0});
    c.params.logprobs = 1;
    c.params.logprob_token_ids = {3, 0, 3, 1, 500};
    const std::vector<TokenLogprob> got = c.logprobs();
    ASSERT_EQ(got.size(), 3U);
    EXPECT_EQ(got[0].rank, 3);
    EXPECT_EQ(got[1].token, 3);
    EXPECT_EQ(got[1].rank, 4);
    EXPECT_EQ(got[2].token, 1);
}

TEST(SamplerLogprobs, DescribePutsTheActualTokenFirst) {
    const Sampler sampler(4, 1, LogprobsMode::kRawLogprobs);
    const std::vector<float> row = {std::log(0.4F), std::log(0.3F), std::log(0.2F), std::log(0.1F)};
    std::vector<TokenLogprob> pool(2);
    const LogprobRange range = sampler.describe(row, 3, 2, pool);
    EXPECT_EQ(range.begin, 2);
    ASSERT_EQ(range.count, 3);
    expect_entry(pool[2], 3, std::log(0.1), 4);
    expect_entry(pool[3], 0, std::log(0.4), 1);
    expect_entry(pool[4], 1, std::log(0.3), 2);
    EXPECT_EQ(sampler.describe(row, 1, 2, pool).count, 2);
    EXPECT_EQ(sampler.describe(row, 1, -1, pool).count, 4);
    EXPECT_EQ(sampler.describe(row, 1, 0, pool).count, 1);
}

}  // namespace
}  // namespace weir
