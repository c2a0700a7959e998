#include "sim/invariants.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "base/units.h"

namespace weir {
namespace {

#define HOLDS(condition, ...) \
    if (!(condition)) return concat(__VA_ARGS__)

auto queue_key(const RequestState& r) { return std::tuple(r.priority, r.arrival_us, r.id); }
auto victim_key(const RequestState& r) { return std::tuple(r.priority, r.arrival_us); }

}  // namespace

InvariantChecker::InvariantChecker(const SimPlan& plan)
    : plan_(plan), num_holders_(static_cast<size_t>(plan.cache.num_gpu_blocks)) {
    for (const SimRequest& request : plan.requests) seen(request.id);
}

InvariantChecker::Seen& InvariantChecker::seen(RequestId id) {
    if (seen_.size() <= id) seen_.resize(id + 1);
    return seen_[id];
}

void InvariantChecker::note_reset(const Scheduler& scheduler) {
    reset_ = true;
    const auto note = [&](const RequestState& r) { seen(r.id).num_preemptions = r.num_preemptions; };
    scheduler.waiting().for_each(note);
}

std::string InvariantChecker::check(const Scheduler& scheduler,
                                    std::span<const ScriptExecutor::Scheduled> step,
                                    const StepStats& stats) {
    std::string broken = check_blocks(scheduler);
    if (broken.empty()) broken = check_prefixes(scheduler);
    if (broken.empty()) broken = check_tables(scheduler);
    if (broken.empty()) broken = check_budgets(step);
    if (broken.empty()) broken = check_order(scheduler, step);
    if (broken.empty()) broken = check_stats(scheduler, step, stats);
    reset_ = false;
    return broken;
}

/// Each block is free or held, and counted once per holder.
std::string InvariantChecker::check_blocks(const Scheduler& scheduler) {
    const BlockPool& pool = scheduler.kv().pool();
    std::fill(num_holders_.begin(), num_holders_.end(), 0);
    for (const RequestState* request : scheduler.running()) {
        for (BlockId id : request->kv.block_ids) {
            HOLDS(id > 0 && id < pool.num_blocks(), "request ", request->id, " holds block ", id);
            num_holders_[static_cast<size_t>(id)] += 1;
        }
    }
    int32_t num_free = 0;
    for (BlockId id = 1; id < pool.num_blocks(); ++id) {
        const int32_t holders = num_holders_[static_cast<size_t>(id)];
        HOLDS(pool.ref_count(id) == holders, "block ", id, " counts ", pool.ref_count(id),
              " holders, but has ", holders);
        num_free += holders == 0 ? 1 : 0;
    }
    HOLDS(pool.num_free() == num_free, pool.num_free(), " blocks are said to be free, but ",
          num_free, " are");
    int32_t num_listed = 0;
    for (BlockId id : pool.free_list()) {
        num_listed += 1;
        HOLDS(num_holders_[static_cast<size_t>(id)] == 0, "block ", id, " is free and held");
        num_holders_[static_cast<size_t>(id)] = -1;  // Twice in the list fails here.
    }
    HOLDS(num_listed == num_free, "the free list has ", num_listed, " of ", num_free, " blocks");
    return "";
}

/// A cached block is findable, and so are the blocks before it: tails are evicted before heads.
std::string InvariantChecker::check_prefixes(const Scheduler& scheduler) {
    const BlockPool& pool = scheduler.kv().pool();
    for (const RequestState* request : scheduler.running()) {
        const std::vector<BlockHash>& hashes = request->kv.block_hashes;
        for (size_t& i = seen(request->id).num_hashes; i < hashes.size(); ++i) {
            if (i > 0) parents_.emplace(hashes[i].words[0], hashes[i - 1]);
        }
    }
    for (BlockId id = 1; id < pool.num_blocks(); ++id) {
        if (!pool.has_hash(id)) continue;
        HOLDS(pool.find(pool.hash(id)).has_value(), "cached block ", id, " cannot be found");
        if (pool.ref_count(id) > 0) continue;
        const auto parent = parents_.find(pool.hash(id).words[0]);
        HOLDS(parent == parents_.end() || pool.find(parent->second).has_value(), "cached block ",
              id, " outlived the block before it");
    }
    return "";
}

/// A sequence has exactly the slots of its computed tokens; who waits has none.
std::string InvariantChecker::check_tables(const Scheduler& scheduler) const {
    std::vector<bool> slots(static_cast<size_t>(plan_.scheduler.max_num_seqs), false);
    for (const RequestState* request : scheduler.running()) {
        const int32_t num_blocks = div_ceil(request->num_computed_tokens, plan_.cache.block_size);
        HOLDS(static_cast<int32_t>(request->kv.block_ids.size()) == num_blocks, "request ",
              request->id, " holds ", request->kv.block_ids.size(), " blocks for ",
              request->num_computed_tokens, " tokens");
        HOLDS(request->num_computed_tokens < request->num_tokens(), "request ", request->id,
              " has computed its last token");
        const auto slot = static_cast<size_t>(request->slot);
        HOLDS(slot < slots.size() && !slots[slot], "slot ", request->slot, " is taken twice");
        slots[slot] = true;
    }
    std::string broken;
    scheduler.waiting().for_each([&](const RequestState& request) {
        if (request.kv.block_ids.empty() && request.num_computed_tokens == 0) return;
        broken = concat("request ", request.id, " waits with ", request.kv.block_ids.size(),
                        " blocks and ", request.num_computed_tokens, " computed tokens");
    });
    return broken;
}

std::string InvariantChecker::check_budgets(std::span<const ScriptExecutor::Scheduled> step) const {
    const SchedulerConfig& flags = plan_.scheduler;
    int32_t num_tokens = 0;
    for (const ScriptExecutor::Scheduled& row : step) {
        num_tokens += row.num_scheduled_tokens;
        const int32_t threshold = flags.long_prefill_token_threshold;
        HOLDS(!flags.enable_chunked_prefill || threshold == 0 || step.size() < 2 ||
                  flags.long_prefill_token_threshold_adaptive ||
                  row.num_scheduled_tokens <= threshold,
              "request ", row.id, " has ", row.num_scheduled_tokens, " rows over the threshold");
        HOLDS(flags.enable_chunked_prefill ||
                  row.num_computed_tokens + row.num_scheduled_tokens == row.num_tokens,
              "the prompt of request ", row.id, " was cut without chunked prefill");
    }
    HOLDS(num_tokens <= flags.max_num_batched_tokens, num_tokens,
          " tokens exceed max_num_batched_tokens");
    HOLDS(flags.max_num_scheduled_tokens == 0 || num_tokens <= flags.max_num_scheduled_tokens,
          num_tokens, " tokens exceed max_num_scheduled_tokens");
    const int32_t num_seqs = static_cast<int32_t>(step.size());
    HOLDS(num_seqs <= flags.max_num_seqs, num_seqs, " requests exceed max_num_seqs");
    HOLDS(flags.max_num_active_seqs == 0 || num_seqs <= flags.max_num_active_seqs, num_seqs,
          " requests exceed max_num_active_seqs");
    return "";
}

std::string InvariantChecker::check_order(const Scheduler& scheduler,
                                          std::span<const ScriptExecutor::Scheduled> step) {
    preempted_.clear();
    scheduler.waiting().for_each([&](const RequestState& request) {
        Seen& before = seen(request.id);
        if (request.num_preemptions > before.num_preemptions) preempted_.push_back(&request);
        before.num_preemptions = request.num_preemptions;
    });
    const bool admitted = std::any_of(step.begin(), step.end(), [&](const auto& row) {
        const RequestState* request = scheduler.find(row.id);
        const int32_t num_starts = request == nullptr ? 1 : request->num_preemptions + 1;
        return row.is_new_in_slot && num_starts > seen(row.id).num_admissions;
    });
    HOLDS(preempted_.empty() || !admitted, "a step that preempted admitted a request");
    return plan_.scheduler.scheduling_policy == SchedulingPolicy::kFcfs
               ? check_fcfs(scheduler)
               : check_priority(scheduler, step);
}

/// Nobody overtakes: victims are the latest arrivals, and come back before all later ones.
std::string InvariantChecker::check_fcfs(const Scheduler& scheduler) const {
    RequestId last = 0;
    std::string broken;
    const auto follow = [&](const RequestState& request) {
        if (request.id < last) {
            broken = concat("request ", request.id, " stands behind ", last, " under fcfs");
        }
        last = request.id;
    };
    for (const RequestState* request : scheduler.running()) follow(*request);
    scheduler.waiting().for_each(follow);
    return broken;
}

std::string InvariantChecker::check_priority(
    const Scheduler& scheduler, std::span<const ScriptExecutor::Scheduled> step) const {
    for (const RequestState* victim : preempted_) {
        for (const RequestState* request : scheduler.running()) {
            HOLDS(victim_key(*request) <= victim_key(*victim), "request ", victim->id,
                  " was preempted before the less important ", request->id);
        }
    }
    std::string broken;
    for (const ScriptExecutor::Scheduled& row : step) {
        const RequestState* admitted = scheduler.find(row.id);
        if (!row.is_new_in_slot || admitted == nullptr) continue;
        scheduler.waiting().for_each([&](const RequestState& request) {
            if (queue_key(*admitted) < queue_key(request)) return;
            broken = concat("request ", row.id, " overtook ", request.id, " under priority");
        });
    }
    return broken;
}

std::string InvariantChecker::check_stats(const Scheduler& scheduler,
                                          std::span<const ScriptExecutor::Scheduled> step,
                                          const StepStats& stats) {
    int32_t num_tokens = 0;
    int64_t queries = 0, hits = 0;
    for (const ScriptExecutor::Scheduled& row : step) {
        num_tokens += row.num_scheduled_tokens;
        if (!row.is_new_in_slot) continue;
        const SimRequest& request = plan_.requests[row.id - 1];
        if (seen(row.id).num_admissions++ > 0 || request.prompt_logprobs) continue;
        queries += row.num_tokens;
        hits += row.num_computed_tokens;
    }
    if (!plan_.cache.enable_prefix_caching) queries = 0;
    HOLDS(stats.num_scheduled_tokens == num_tokens, "scheduled tokens: counted ",
          stats.num_scheduled_tokens, ", are ", num_tokens);
    HOLDS(stats.prefix_cache_queries == queries, "prefix cache queries: counted ",
          stats.prefix_cache_queries, ", are ", queries);
    HOLDS(stats.prefix_cache_hits == hits, "prefix cache hits: counted ", stats.prefix_cache_hits,
          ", are ", hits);
    HOLDS(reset_ || stats.num_preempted == static_cast<int32_t>(preempted_.size()),
          "preemptions: counted ", stats.num_preempted, ", are ", preempted_.size());
    HOLDS(stats.num_running == static_cast<int32_t>(scheduler.running().size()), "num_running");
    int32_t num_waiting = 0;
    scheduler.waiting().for_each([&](const RequestState&) { num_waiting += 1; });
    HOLDS(stats.num_waiting == num_waiting, "num_waiting is ", stats.num_waiting, ", ", num_waiting,
          " wait");
    const BlockPool& pool = scheduler.kv().pool();
    const int32_t num_held = pool.num_usable() - pool.num_free();
    HOLDS(std::abs(stats.kv_cache_usage * pool.num_usable() - num_held) < 1e-6, "kv_cache_usage");
    const bool could_run = scheduler.pause() == PauseState::kRunning
                               ? stats.num_running + stats.num_waiting > 0
                               : scheduler.pause() == PauseState::kPausedNew && stats.num_running > 0;
    HOLDS(!(stats.idle && could_run), "an idle step though there is work");
    return "";
}

#undef HOLDS

}  // namespace weir
