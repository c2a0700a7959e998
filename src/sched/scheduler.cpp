#include "sched/scheduler.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "base/units.h"
#include "kv/planted_bug.h"

namespace weir {
namespace {

KvCacheManager::Options kv_options(const CacheConfig& cache) {
    const std::optional<BlockHashAlgo> algo = parse_block_hash_algo(cache.prefix_caching_hash_algo);
    CHECK(algo.has_value());
    return {.num_blocks = cache.num_gpu_blocks,
            .block_size = cache.block_size,
            .enable_prefix_caching = cache.enable_prefix_caching,
            .hash_algo = *algo};
}

/// A pair of optional limits: 0 means "as the other".
int32_t limit(int32_t value, int32_t otherwise) {
    return value > 0 ? std::min(value, otherwise) : otherwise;
}

}  // namespace

Scheduler::Scheduler(const SchedulerConfig& config, const CacheConfig& cache, uint64_t seed)
    : config_(config),
      seed_(seed),
      max_num_running_(limit(config.max_num_active_seqs, config.max_num_seqs) +
                       (PLANTED(kSeqsOffByOne) ? 1 : 0)),
      tokens_per_step_(limit(config.max_num_scheduled_tokens, config.max_num_batched_tokens)),
      watermark_blocks_(static_cast<int32_t>(config.watermark * cache.num_gpu_blocks)),
      kv_(kv_options(cache)),
      waiting_(config.scheduling_policy) {
    CHECK(config_.max_num_seqs >= 1 && tokens_per_step_ >= 1);
    CHECK(config_.max_model_len >= 2);
    CHECK(0 <= config_.watermark && config_.watermark < 1);
    // Else a request alone in the node could wait for ever.
    CHECK(kv_.pool().num_usable() >= div_ceil(config_.max_model_len, cache.block_size));
    CHECK(config_.enable_chunked_prefill || tokens_per_step_ >= config_.max_model_len);
    const size_t num_slots = static_cast<size_t>(max_num_running_);
    for (size_t slot = num_slots; slot > 0; --slot) {
        free_slots_.push_back(static_cast<int32_t>(slot - 1));
    }
    running_.reserve(num_slots);
    scheduled_.reserve(num_slots);
    scheduled_states_.reserve(num_slots);
}

void Scheduler::add(NewRequest&& request, int64_t now_us) {
    CHECK(!request.token_ids.empty());
    CHECK(request.token_ids.size() < static_cast<size_t>(config_.max_model_len));
    auto state = std::make_unique<RequestState>();
    state->id = request.id;
    state->params = std::move(request.params);
    state->arrival_us = request.arrival_us;
    state->priority = request.priority;
    state->cache_salt = std::move(request.cache_salt);
    state->eos_token_id = request.eos_token_id;
    const std::optional<int64_t>& seed = state->params.seed;
    state->sampling_seed =
        seed ? mix64(static_cast<uint64_t>(*seed)) : mix64(mix64(seed_) ^ request.id);
    state->token_ids = std::move(request.token_ids);
    state->num_prompt_tokens = state->num_tokens();
    state->queued_us = now_us;
    kv_.hash_full_blocks(state->kv, state->token_ids, state->cache_salt);
    waiting_.push(*state);
    CHECK(requests_.emplace(state->id, std::move(state)).second);
}

const RequestState* Scheduler::find(RequestId id) const {
    const auto found = requests_.find(id);
    return found == requests_.end() ? nullptr : found->second.get();
}

RequestState* Scheduler::find(RequestId id) {
    return const_cast<RequestState*>(std::as_const(*this).find(id));
}

void Scheduler::remove(RequestState& request) {
    if (request.status == RequestStatus::kRunning) {
        const auto position = std::find(running_.begin(), running_.end(), &request);
        CHECK(position != running_.end());
        take_out_of_running(static_cast<size_t>(position - running_.begin()));
    } else {
        waiting_.remove(request);
    }
    if (request.scheduled_index >= 0) {
        scheduled_states_[static_cast<size_t>(request.scheduled_index)] = nullptr;
    }
    requests_.erase(request.id);
}

void Scheduler::append_token(RequestState& request, TokenId token) {
    request.token_ids.push_back(token);
    kv_.hash_full_blocks(request.kv, request.token_ids, request.cache_salt);
}

/// The step of reference 1.2; its numbers stand at the parts below.
const SchedulerOutput& Scheduler::schedule(int64_t now_us) {
    begin_step();
    schedule_running();
    // 5. Nothing is admitted in a step that preempted: the victim would be the first to come back.
    if (facts_.num_preempted == 0 || PLANTED(kAdmitsAfterPreemption)) schedule_waiting(now_us);

    // 6. From here on the scheduled tokens count as computed.
    output_.num_tokens = 0;
    for (size_t i = 0; i < scheduled_.size(); ++i) {
        const int32_t num_new_tokens = scheduled_[i].num_scheduled_tokens;
        scheduled_states_[i]->num_computed_tokens += num_new_tokens;
        output_.num_tokens += num_new_tokens;
    }
    output_.requests = scheduled_;
    facts_.num_preempted += std::exchange(num_preempted_between_steps_, 0);
    CHECK(output_.num_tokens <= config_.max_num_batched_tokens || PLANTED(kBudgetOffByOne));
    return output_;
}

void Scheduler::clear_step() {
    for (RequestState* request : scheduled_states_) {
        if (request != nullptr) request->scheduled_index = -1;
    }
    scheduled_.clear();
    scheduled_states_.clear();
}

/// 1. and 2. Without draft tokens both budgets of the reference shrink alike: one is enough.
void Scheduler::begin_step() {
    clear_step();
    facts_ = {};
    token_budget_ = pause_ == PauseState::kPausedAll ? 0 : tokens_per_step_;
    if (PLANTED(kBudgetOffByOne) && token_budget_ > 0) token_budget_ += 1;
    prefill_cap_ = long_prefill_cap();
}

/// 2. Most tokens of one request in this step; int32 max: no cap. Off while one request is alone,
/// and without chunked prefill, which promises that a prompt is never cut.
int32_t Scheduler::long_prefill_cap() const {
    const int32_t num_requests = static_cast<int32_t>(running_.size()) + waiting_.size();
    const int32_t threshold = config_.long_prefill_token_threshold;
    if (threshold == 0 || num_requests <= 1 || !config_.enable_chunked_prefill) {
        return std::numeric_limits<int32_t>::max();
    }
    if (!config_.long_prefill_token_threshold_adaptive) return threshold;
    return std::max(threshold, config_.max_num_batched_tokens / num_requests);
}

/// 3. Running requests in order of admission. One that gets no block takes it from a victim, until
/// the victim is itself.
void Scheduler::schedule_running() {
    for (size_t i = 0; i < running_.size() && token_budget_ > 0;) {
        RequestState& request = *running_[i];
        const int32_t num_new_tokens =
            std::min({request.num_tokens() - request.num_computed_tokens, prefill_cap_,
                      token_budget_, config_.max_model_len - request.num_computed_tokens - 1});
        CHECK(num_new_tokens > 0);  // Zero needs drafts or steps in flight; weir has neither.
        const SlotDemand demand{.num_computed_tokens = request.num_computed_tokens,
                                .num_new_tokens = num_new_tokens,
                                .num_tokens = request.num_tokens()};
        while (!kv_.allocate_slots(request.kv, demand, {})) {
            const size_t victim = victim_index();
            const bool itself = running_[victim] == &request;
            preempt(victim);
            if (itself) return;
            if (victim < i) i -= 1;
        }
        enter_step(request, num_new_tokens, false);
        ++i;
    }
}

/// 5. Waiting requests in the queue's order, until one does not fit: nobody overtakes it.
void Scheduler::schedule_waiting(int64_t now_us) {
    if (pause_ != PauseState::kRunning) return;
    RequestState* request = waiting_.front();
    while (token_budget_ > 0 && request != nullptr) {
        if (static_cast<int32_t>(running_.size()) >= max_num_running_) return;
        RequestState* next = PLANTED(kHeadOvertaken) ? request->queue_next : nullptr;
        if (admit(*request, now_us)) {
            request = waiting_.front();
        } else {
            request = next;
        }
    }
}

/// 5., one request: prefix look-up, its share of the budget, its blocks. False: it does not fit.
bool Scheduler::admit(RequestState& request, int64_t now_us) {
    std::span<const BlockId> hits;
    // Prompt log-probabilities need every row: such a request never reads the cache (2.4).
    const bool reads_cache = kv_.prefix_caching() && !request.params.prompt_logprobs.has_value();
    if (reads_cache) hits = kv_.find_prefix(request.kv, request.num_tokens());
    const int32_t num_hit_tokens = static_cast<int32_t>(hits.size()) * kv_.block_size();

    int32_t num_new_tokens = std::min(request.num_tokens() - num_hit_tokens, prefill_cap_);
    if (!config_.enable_chunked_prefill && num_new_tokens > token_budget_) return false;
    num_new_tokens = std::min(num_new_tokens, token_budget_);
    const SlotDemand demand{
        .num_computed_tokens = num_hit_tokens,
        .num_new_tokens = num_new_tokens,
        .num_tokens = request.num_tokens(),
        .num_reserved_tokens = config_.scheduler_reserve_full_isl ? request.num_tokens() : 0,
        .watermark_blocks = running_.empty() ? 0 : watermark_blocks_};
    if (!kv_.allocate_slots(request.kv, demand, hits)) return false;

    if (reads_cache && (request.num_preemptions == 0 || PLANTED(kHitsCountedAgain))) {
        facts_.prefix_cache_queries += request.num_tokens();
        facts_.prefix_cache_hits += num_hit_tokens;
    }
    if (request.num_cached_tokens < 0) request.num_cached_tokens = num_hit_tokens;
    request.num_computed_tokens = num_hit_tokens;
    start(request, now_us);
    enter_step(request, num_new_tokens, !PLANTED(kStaleSlot) || request.num_preemptions == 0);
    return true;
}

void Scheduler::start(RequestState& request, int64_t now_us) {
    waiting_.remove(request);
    running_.push_back(&request);
    request.status = RequestStatus::kRunning;
    CHECK(!free_slots_.empty());
    request.slot = free_slots_.back();
    free_slots_.pop_back();
    if (request.scheduled_us < 0) request.scheduled_us = now_us;
    // All that it can grow to, so that its decode steps allocate nothing.
    const int64_t num_tokens_max = std::min<int64_t>(
        config_.max_model_len, int64_t{request.num_prompt_tokens} + request.params.max_tokens + 1);
    const int64_t num_blocks_max = div_ceil<int64_t>(num_tokens_max, kv_.block_size());
    request.token_ids.reserve(static_cast<size_t>(num_tokens_max));
    request.kv.block_ids.reserve(static_cast<size_t>(num_blocks_max));
    request.kv.block_hashes.reserve(static_cast<size_t>(num_blocks_max));
}

void Scheduler::enter_step(RequestState& request, int32_t num_new_tokens, bool is_new_in_slot) {
    token_budget_ -= num_new_tokens;
    const int32_t num_computed = request.num_computed_tokens;
    facts_.num_prompt_tokens +=
        std::clamp(request.num_prompt_tokens - num_computed, 0, num_new_tokens);
    request.scheduled_index = static_cast<int32_t>(scheduled_.size());
    scheduled_states_.push_back(&request);
    scheduled_.push_back({.slot = request.slot,
                          .is_new_in_slot = is_new_in_slot,
                          .id = request.id,
                          .num_computed_tokens = num_computed,
                          .num_scheduled_tokens = num_new_tokens,
                          .num_prompt_tokens = request.num_prompt_tokens,
                          .token_ids = request.token_ids,
                          .block_ids = request.kv.block_ids,
                          .samples = num_computed + num_new_tokens == request.num_tokens(),
                          .params = &request.params,
                          .eos_token_id = request.eos_token_id,
                          .sampling_seed = request.sampling_seed});
}

/// Under priority a victim may have its rows in this step already: they go back to the budget.
void Scheduler::leave_step(RequestState& request) {
    if (request.scheduled_index < 0) return;
    const auto index = request.scheduled_index;
    const ScheduledRequest& row = scheduled_[static_cast<size_t>(index)];
    token_budget_ += row.num_scheduled_tokens;
    facts_.num_prompt_tokens -= std::clamp(request.num_prompt_tokens - row.num_computed_tokens, 0,
                                           row.num_scheduled_tokens);
    scheduled_.erase(scheduled_.begin() + index);
    scheduled_states_.erase(scheduled_states_.begin() + index);
    for (size_t i = static_cast<size_t>(index); i < scheduled_states_.size(); ++i) {
        scheduled_states_[i]->scheduled_index -= 1;
    }
    request.scheduled_index = -1;
}

/// 1.3: fcfs takes the most recently admitted; priority the least important, then the latest, and
/// of equals the one admitted first.
size_t Scheduler::victim_index() const {
    CHECK(!running_.empty());
    if (PLANTED(kWrongVictim)) return 0;
    if (config_.scheduling_policy == SchedulingPolicy::kFcfs) return running_.size() - 1;
    const auto key = [](const RequestState* r) { return std::pair(r->priority, r->arrival_us); };
    const auto victim = std::max_element(
        running_.begin(), running_.end(),
        [&](const RequestState* a, const RequestState* b) { return key(a) < key(b); });
    return static_cast<size_t>(victim - running_.begin());
}

/// 1.4: the request forgets what it computed, keeps its tokens and waits to compute them again.
void Scheduler::preempt(size_t running_index) {
    RequestState& request = *running_[running_index];
    leave_step(request);
    // vLLM leaves blocks findable that this step was to fill; a later request would read garbage.
    kv_.forget_uncomputed(request.kv, request.num_computed_tokens);
    take_out_of_running(running_index);
    if (!PLANTED(kPreemptedKeepsComputed)) request.num_computed_tokens = 0;
    request.status = RequestStatus::kPreempted;
    request.num_preemptions += 1;
    facts_.num_preempted += 1;
    waiting_.push_preempted(request);
}

void Scheduler::take_out_of_running(size_t running_index) {
    RequestState& request = *running_[running_index];
    kv_.free(request.kv);
    free_slots_.push_back(request.slot);
    request.slot = -1;
    running_.erase(running_.begin() + static_cast<ptrdiff_t>(running_index));
}

bool Scheduler::has_work() const {
    switch (pause_) {
        case PauseState::kRunning: return !running_.empty() || !waiting_.empty();
        case PauseState::kPausedNew: return !running_.empty();
        case PauseState::kPausedAll: return false;
    }
    CHECK(false);
}

bool Scheduler::reset_prefix_cache(bool preempt_running) {
    clear_step();
    facts_ = {};
    // The last one first: each goes to the front of the queue, so their order stays.
    while (preempt_running && !running_.empty()) preempt(running_.size() - 1);
    num_preempted_between_steps_ += facts_.num_preempted;
    return kv_.reset_prefix_cache();
}

}  // namespace weir
