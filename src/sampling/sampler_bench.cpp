#include <benchmark/benchmark.h>

#include <cmath>

#include "base/random.h"
#include "sampling/sampler.h"

namespace weir {
namespace {

/// A row like a model's: normal noise with a few tokens far above.
std::vector<float> model_like_row(size_t size) {
    Random random(7);
    std::vector<float> row(size);
    for (float& x : row) {
        const double r = std::sqrt(-2 * std::log(1 - random.uniform()));
        x = static_cast<float>(2.5 * r * std::cos(6.283185307 * random.uniform()));
    }
    for (int i = 0; i < 40; ++i) {
        row[static_cast<size_t>(random.below(static_cast<int64_t>(size)))] +=
            8 + 0.2F * static_cast<float>(i);
    }
    return row;
}

void run(benchmark::State& state, const SamplingParams& params) {
    const std::vector<float> row = model_like_row(static_cast<size_t>(state.range(0)));
    Sampler sampler(static_cast<int32_t>(row.size()), 1, LogprobsMode::kRawLogprobs);
    const std::vector<TokenId> tokens(200, 5);
    std::vector<float> logits = row;
    std::vector<TokenLogprob> pool;
    uint64_t seed = 0;
    for (auto _ : state) {
        if (params.has_penalties()) logits = row;
        pool.clear();
        const SamplingInput input{.slot = 0,
                                  .is_new_in_slot = seed == 0,
                                  .params = &params,
                                  .token_ids = tokens,
                                  .num_prompt_tokens = 100,
                                  .eos_token_id = 2,
                                  .sampling_seed = ++seed};
        benchmark::DoNotOptimize(sampler.sample(logits, input, pool));
    }
    state.SetItemsProcessed(state.iterations());
}

SamplingParams with(auto&& change) {
    SamplingParams params;
    change(params);
    return params;
}

void greedy(benchmark::State& s) {
    run(s, with([](auto& p) { p.temperature = 0; }));
}
void temperature(benchmark::State& s) {
    run(s, with([](auto& p) { p.temperature = 0.8F; }));
}
void top_k_50(benchmark::State& s) {
    run(s, with([](auto& p) { p.top_k = 50; }));
}
void top_p_95(benchmark::State& s) {
    run(s, with([](auto& p) { p.top_p = 0.95F; }));
}
void top_p_95_hot(benchmark::State& s) {
    run(s, with([](auto& p) { p.top_p = 0.95F, p.temperature = 2; }));
}
void top_k_and_p(benchmark::State& s) {
    run(s, with([](auto& p) { p.top_k = 50, p.top_p = 0.95F; }));
}
void min_p(benchmark::State& s) {
    run(s, with([](auto& p) { p.min_p = 0.05F; }));
}
void greedy_logprobs_5(benchmark::State& s) {
    run(s, with([](auto& p) { p.temperature = 0, p.logprobs = 5; }));
}
void greedy_penalties(benchmark::State& s) {
    run(s, with([](auto& p) { p.temperature = 0, p.repetition_penalty = 1.1F; }));
}

#define WEIR_VOCABULARIES Arg(49152)->Arg(262144)->Unit(benchmark::kMicrosecond)
BENCHMARK(greedy)->WEIR_VOCABULARIES;
BENCHMARK(temperature)->WEIR_VOCABULARIES;
BENCHMARK(top_k_50)->WEIR_VOCABULARIES;
BENCHMARK(top_p_95)->WEIR_VOCABULARIES;
BENCHMARK(top_p_95_hot)->WEIR_VOCABULARIES;
BENCHMARK(top_k_and_p)->WEIR_VOCABULARIES;
BENCHMARK(min_p)->WEIR_VOCABULARIES;
BENCHMARK(greedy_logprobs_5)->WEIR_VOCABULARIES;
BENCHMARK(greedy_penalties)->WEIR_VOCABULARIES;

}  // namespace
}  // namespace weir
