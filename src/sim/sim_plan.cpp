#include "sim/sim_plan.h"

#include <algorithm>

#include "base/random.h"
#include "base/text.h"
#include "base/units.h"
#include "sim/script_executor.h"

namespace weir {
namespace {

int32_t between(Random& random, int32_t low, int32_t high) {
    return static_cast<int32_t>(random.between(low, high));
}

/// Small numbers are where the borders lie, so they come more often.
int32_t skewed(Random& random, int32_t low, int32_t high) {
    return random.chance(0.5) ? between(random, low, low + (high - low) / 4)
                              : between(random, low, high);
}

void draw_flags(Random& random, SimPlan& plan) {
    SchedulerConfig& scheduler = plan.scheduler;
    CacheConfig& cache = plan.cache;
    constexpr int32_t kBlockSizes[] = {1, 2, 4, 8, 16, 16};
    cache.block_size = kBlockSizes[random.below(6)];
    cache.enable_prefix_caching = random.chance(0.85);
    // The fast hash but for a few: SHA-256 would be half of the run time.
    cache.prefix_caching_hash_algo = random.chance(0.05) ? "sha256" : "xxhash";

    scheduler.max_model_len = between(random, 2, random.chance(0.3) ? 160 : 48);
    scheduler.max_num_seqs = skewed(random, 1, 16);
    scheduler.max_num_active_seqs =
        random.chance(0.2) ? between(random, 1, scheduler.max_num_seqs) : 0;
    scheduler.enable_chunked_prefill = random.chance(0.75);
    const int32_t tokens_min = scheduler.enable_chunked_prefill
                                   ? scheduler.max_num_seqs
                                   : std::max(scheduler.max_model_len, scheduler.max_num_seqs);
    scheduler.max_num_batched_tokens = skewed(random, tokens_min, tokens_min + 100);
    if (scheduler.enable_chunked_prefill && random.chance(0.1)) {
        scheduler.max_num_scheduled_tokens = between(random, 1, scheduler.max_num_batched_tokens);
    }
    if (random.chance(0.3)) {
        scheduler.long_prefill_token_threshold = between(random, 1, scheduler.max_model_len);
        scheduler.long_prefill_token_threshold_adaptive = random.chance(0.3);
    }
    if (random.chance(0.4)) scheduler.scheduling_policy = SchedulingPolicy::kPriority;
    scheduler.scheduler_reserve_full_isl = random.chance(0.6);
    scheduler.watermark = random.chance(0.2) ? 0.3 * random.uniform() : 0;

    const int32_t blocks_min = div_ceil(scheduler.max_model_len, cache.block_size) + 1;
    cache.num_gpu_blocks = skewed(random, blocks_min, blocks_min * 4);
}

/// What this run has; each run lacks some, so that features are seen without each other as well.
struct Traits {
    bool salts, prefixes, siblings, aborts, stops, prompt_logprobs, long_outputs;
};

SimRequest draw_request(Random& random, const SimPlan& plan, const Traits& traits) {
    const int32_t max_model_len = plan.scheduler.max_model_len;
    SimRequest request;
    request.num_prompt_tokens = skewed(random, 1, max_model_len - 1);
    request.prompt_seed = random.next();
    request.seed = random.next();
    if (traits.prefixes && random.chance(0.8)) {
        request.prefix_group = between(random, 0, 2);
        request.num_prefix_tokens = between(random, 0, request.num_prompt_tokens);
    }
    if (traits.salts) request.salt = between(random, 0, 2);
    request.priority = between(random, 0, 3);
    const int32_t max_tokens_max = max_model_len - request.num_prompt_tokens;
    request.max_tokens =
        traits.long_outputs ? max_tokens_max : skewed(random, 1, max_tokens_max);
    request.ignore_eos = !traits.stops || random.chance(0.5);
    if (traits.stops && random.chance(0.3)) {
        request.min_tokens = between(random, 0, request.max_tokens);
    }
    if (traits.prompt_logprobs && random.chance(0.3)) {
        request.prompt_logprobs = true;
        if (random.chance(0.3)) request.max_tokens = request.min_tokens = 0;
    }
    return request;
}

void draw_requests(Random& random, SimPlan& plan) {
    const Traits traits{.salts = random.chance(0.3),
                        .prefixes = random.chance(0.7),
                        .siblings = random.chance(0.3),
                        .aborts = random.chance(0.4),
                        .stops = random.chance(0.5),
                        .prompt_logprobs = random.chance(0.2),
                        .long_outputs = random.chance(0.3)};
    const int32_t num_requests = skewed(random, 1, 60);
    const bool burst = random.chance(0.3);
    for (RequestId id = 1; id <= static_cast<RequestId>(num_requests); ++id) {
        SimRequest request = draw_request(random, plan, traits);
        if (traits.siblings && id > 1 && random.chance(0.4)) {
            request = plan.requests.back();
            request.seed += 1;
        } else {
            request.at_step = burst ? 0 : between(random, 0, plan.num_fault_steps - 1);
        }
        if (traits.aborts && random.chance(0.3)) {
            request.abort_at_step = request.at_step + skewed(random, 0, 60);
        }
        plan.requests.push_back(request);
    }
    std::stable_sort(plan.requests.begin(), plan.requests.end(),
                     [](const auto& a, const auto& b) { return a.at_step < b.at_step; });
    for (size_t i = 0; i < plan.requests.size(); ++i) plan.requests[i].id = i + 1;
}

void draw_faults(Random& random, SimPlan& plan) {
    using Kind = SimFault::Kind;
    const auto add = [&](Kind kind, int32_t at_step, int64_t value) {
        plan.faults.push_back({kind, std::min(at_step, plan.num_fault_steps - 1), value});
    };
    const auto any_step = [&] { return between(random, 0, plan.num_fault_steps - 1); };
    const auto times = [&](double chance) { return random.chance(chance) ? random.between(1, 4) : 0; };
    for (auto n = times(0.3); n > 0; --n) add(Kind::kSlow, any_step(), random.below(10'000'000));
    for (auto n = times(0.2); n > 0; --n) {
        const int32_t at_step = any_step();
        add(random.chance(0.5) ? Kind::kPauseNew : Kind::kPauseAll, at_step, 0);
        add(Kind::kResume, at_step + between(random, 1, 20), 0);
    }
    for (auto n = times(0.2); n > 0; --n) add(Kind::kResetCache, any_step(), 0);
    for (auto n = times(0.1); n > 0; --n) add(Kind::kResetRunning, any_step(), 0);
    for (auto n = times(0.1); n > 0; --n) add(Kind::kAbortStorm, any_step(), random.between(1, 100));
    if (random.chance(0.03)) add(Kind::kAbortAll, any_step(), 0);
    if (random.chance(0.02)) add(Kind::kExecutorFails, any_step(), 0);
    std::stable_sort(plan.faults.begin(), plan.faults.end(),
                     [](const auto& a, const auto& b) { return a.at_step < b.at_step; });
}

}  // namespace

SimPlan draw_plan(uint64_t seed) {
    Random random(mix64(seed));
    SimPlan plan;
    plan.seed = seed;
    plan.num_fault_steps = skewed(random, 10, 300);
    draw_flags(random, plan);
    draw_requests(random, plan);
    draw_faults(random, plan);
    return plan;
}

NewRequest make_request(const SimRequest& request) {
    NewRequest made;
    made.id = request.id;
    Random prefix(static_cast<uint64_t>(request.prefix_group) + 1);
    Random own(request.prompt_seed);
    for (int32_t i = 0; i < request.num_prompt_tokens; ++i) {
        Random& source = i < request.num_prefix_tokens ? prefix : own;
        made.token_ids.push_back(static_cast<TokenId>(source.below(kScriptVocabSize)));
    }
    made.params.seed = static_cast<int64_t>(request.seed);
    made.params.max_tokens = request.max_tokens;
    made.params.min_tokens = request.min_tokens;
    made.params.ignore_eos = request.ignore_eos;
    if (!request.ignore_eos) made.params.stop_token_ids = {2};
    if (request.prompt_logprobs) made.params.prompt_logprobs = 1;
    made.eos_token_id = 1;
    made.priority = request.priority;
    made.arrival_us = request.at_step;
    if (request.salt > 0) made.cache_salt = concat("tenant ", request.salt);
    return made;
}

}  // namespace weir
