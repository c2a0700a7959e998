#include "engine/engine_thread.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "os/clock.h"

namespace weir {

namespace {

int64_t read_clock(void*) { return monotonic_us(); }

/// The IO thread's side of one request.
struct Entry {
    RequestProgress progress;
    EngineClient::OutputHandler handler;
    bool waits_for_first_token = true;
};

class Engine final : public EngineThread {
 public:
    Engine(EngineThreadOptions options, Executor& executor)
        : options_(std::move(options)),
          core_(options_.scheduler, options_.cache, options_.seed, executor, read_clock, nullptr),
          thread_([this] { run(); }) {}

    ~Engine() override { stop(); }

    RequestId next_id() override { return next_id_.fetch_add(1, std::memory_order_relaxed); }
    Result<void> check_admission(int64_t num_requests) override;
    Result<void> submit(std::vector<NewRequest> requests, const RequestFacts& facts,
                        OutputHandler handler) override;
    void abort(RequestId id, bool stopped_by_string) override;
    void deliver() override;
    int64_t num_unfinished() const override { return unfinished_.load(); }
    bool healthy() const override;
    std::string fatal_error() const override;
    bool reset_prefix_cache(bool reset_running_requests) override;
    void set_pause(PauseState state) override;
    PauseState pause() const override { return pause_.load(); }
    int64_t abort_requests(const std::vector<RequestId>& ids) override;
    void refuse_new() override { refusing_.store(true); }
    void abort_rest() override;
    void stop() override;
    int64_t heartbeat_age_us() const override;
    int64_t outbox_size() const override;

 private:
    using Command = std::function<void(EngineCore&)>;

    // Engine thread.
    void run();
    Result<void> loop();
    bool wait_for_work();
    void hand_over(StepOutput& output);
    void die(const std::string& text);

    // Any thread.
    void run_command(const Command& command);
    std::shared_ptr<Entry> find(RequestId id);
    std::shared_ptr<Entry> take(RequestId id);
    void forget(const Entry& entry);
    int64_t end_by_force(const std::vector<RequestId>& ids, AbortCause cause);
    std::vector<RequestId> unfinished_ids();
    void deliver_output(RequestOutput& output, int64_t now_us, int64_t& iteration_tokens);

    const EngineThreadOptions options_;
    std::atomic<RequestId> next_id_{1};
    std::atomic<int64_t> unfinished_{0};
    std::atomic<int64_t> queued_tokens_{0};  // Prompt tokens without a first token.
    std::atomic<int64_t> heartbeat_us_{0};   // 0: idle.
    std::atomic<bool> refusing_{false};
    std::atomic<bool> dead_{false};
    std::atomic<PauseState> pause_{PauseState::kRunning};

    mutable std::mutex inbox_mutex_;
    std::condition_variable inbox_filled_;
    std::condition_variable command_done_;
    std::vector<NewRequest> inbox_;
    std::vector<RequestId> aborts_;
    std::vector<const Command*> commands_;
    bool stopping_ = false;
    std::string fatal_error_;

    mutable std::mutex outbox_mutex_;
    std::vector<RequestOutput> outbox_;
    bool woken_ = false;

    std::mutex entries_mutex_;
    std::unordered_map<RequestId, std::shared_ptr<Entry>> entries_;

    // Engine thread only.
    EngineCore core_;
    std::vector<NewRequest> arrivals_;
    std::vector<RequestId> step_aborts_;
    std::vector<const Command*> step_commands_;

    std::vector<RequestOutput> delivering_;  // IO thread only.
    std::mutex join_mutex_;
    std::thread thread_;  // Last: it uses everything above.
};

// ---- Engine thread ----

void Engine::run() {
    try {
        Result<void> ended = loop();
        if (!ended) die(ended.error().text);
    } catch (const std::exception& error) {
        die(concat("exception in the engine thread: ", error.what()));
    } catch (...) {
        die("unknown exception in the engine thread");
    }
}

/// False: stop. Moves what came in to the engine's own vectors.
bool Engine::wait_for_work() {
    std::unique_lock lock(inbox_mutex_);
    const auto filled = [&] {
        return stopping_ || !inbox_.empty() || !aborts_.empty() || !commands_.empty();
    };
    if (!core_.has_work()) {
        heartbeat_us_.store(0);
        inbox_filled_.wait(lock, filled);
    }
    if (stopping_) return false;
    arrivals_.clear();
    step_aborts_.clear();
    std::swap(arrivals_, inbox_);
    std::swap(step_aborts_, aborts_);
    if (!commands_.empty()) {
        std::swap(step_commands_, commands_);
        for (const Command* command : step_commands_) (*command)(core_);
        step_commands_.clear();
        command_done_.notify_all();
    }
    return true;
}

Result<void> Engine::loop() {
    StepOutput output;
    while (wait_for_work()) {
        const int64_t begin_us = monotonic_us();
        heartbeat_us_.store(begin_us);
        const StepInput input{.now_us = begin_us, .arrivals = arrivals_, .aborts = step_aborts_};
        TRY_VOID(core_.step(input, output));
        const int64_t end_us = monotonic_us();
        heartbeat_us_.store(end_us);
        if (options_.observer != nullptr) {
            options_.observer->on_step(output.stats, end_us - begin_us);
        }
        hand_over(output);
    }
    return {};
}

void Engine::hand_over(StepOutput& output) {
    if (output.outputs.empty()) return;
    bool wake = false;
    {
        const std::lock_guard lock(outbox_mutex_);
        for (RequestOutput& news : output.outputs) outbox_.push_back(std::move(news));
        wake = !std::exchange(woken_, true);
    }
    if (wake && options_.wake) options_.wake();
}

void Engine::die(const std::string& text) {
    {
        const std::lock_guard lock(inbox_mutex_);
        fatal_error_ = text;
        dead_.store(true);
        commands_.clear();
    }
    command_done_.notify_all();
    if (options_.on_fatal) options_.on_fatal(text);
}

// ---- Requests ----

Result<void> Engine::check_admission(int64_t num_requests) {
    if (dead_.load()) {
        return fail(ErrorCode::kInternal, concat("the engine has failed: ", fatal_error()));
    }
    if (refusing_.load()) return fail(ErrorCode::kUnavailable, "the server is stopping");
    const QueueLimits& limits = options_.limits;
    const int64_t unfinished = unfinished_.load();
    if (limits.max_num_queued_reqs > 0 && unfinished + num_requests > limits.max_num_queued_reqs) {
        if (options_.observer) options_.observer->on_rejected(RejectReason::kMaxNumQueuedReqs);
        return fail(ErrorCode::kQueueFull,
                    concat("the queue is full: ", unfinished, " requests are unfinished, ",
                           limits.max_num_queued_reqs,
                           " are allowed (--max-num-queued-reqs); try again later"));
    }
    const int64_t tokens = queued_tokens_.load();
    if (limits.max_num_queued_tokens > 0 && tokens >= limits.max_num_queued_tokens) {
        if (options_.observer) options_.observer->on_rejected(RejectReason::kMaxNumQueuedTokens);
        return fail(ErrorCode::kQueueFull,
                    concat("the queue is full: ", tokens, " prompt tokens wait, ",
                           limits.max_num_queued_tokens,
                           " are allowed (--max-num-queued-tokens); try again later"));
    }
    return {};
}

Result<void> Engine::submit(std::vector<NewRequest> requests, const RequestFacts& facts,
                            OutputHandler handler) {
    TRY_VOID(check_admission(static_cast<int64_t>(requests.size())));
    int64_t tokens = 0;
    {
        const std::lock_guard lock(entries_mutex_);
        for (size_t i = 0; i < requests.size(); ++i) {
            auto entry = std::make_shared<Entry>();
            entry->progress.id = requests[i].id;
            entry->progress.facts = facts;
            entry->progress.facts.max_tokens = requests[i].params.max_tokens;
            entry->progress.facts.last_child = facts.last_child && i + 1 == requests.size();
            entry->progress.num_prompt_tokens = static_cast<int32_t>(requests[i].token_ids.size());
            entry->handler = handler;
            tokens += entry->progress.num_prompt_tokens;
            const bool fresh = entries_.emplace(requests[i].id, std::move(entry)).second;
            CHECK(fresh);
        }
    }
    unfinished_.fetch_add(static_cast<int64_t>(requests.size()));
    queued_tokens_.fetch_add(tokens);
    {
        const std::lock_guard lock(inbox_mutex_);
        for (NewRequest& request : requests) inbox_.push_back(std::move(request));
    }
    inbox_filled_.notify_one();
    return {};
}

std::shared_ptr<Entry> Engine::find(RequestId id) {
    const std::lock_guard lock(entries_mutex_);
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : found->second;
}

std::shared_ptr<Entry> Engine::take(RequestId id) {
    std::shared_ptr<Entry> entry;
    {
        const std::lock_guard lock(entries_mutex_);
        const auto found = entries_.find(id);
        if (found == entries_.end()) return nullptr;
        entry = std::move(found->second);
        entries_.erase(found);
    }
    forget(*entry);
    return entry;
}

/// The request counts as finished from now on.
void Engine::forget(const Entry& entry) {
    unfinished_.fetch_sub(1);
    if (entry.waits_for_first_token) queued_tokens_.fetch_sub(entry.progress.num_prompt_tokens);
}

void Engine::abort(RequestId id, bool stopped_by_string) {
    const std::shared_ptr<Entry> entry = take(id);
    if (!entry) return;
    if (options_.observer != nullptr) {
        const int64_t now_us = monotonic_us();
        if (stopped_by_string) {
            options_.observer->on_finish(entry->progress, FinishReason::kStop, now_us);
        } else {
            options_.observer->on_abort(entry->progress, AbortCause::kClient, now_us);
        }
    }
    {
        const std::lock_guard lock(inbox_mutex_);
        aborts_.push_back(id);
    }
    inbox_filled_.notify_one();
}

// ---- IO thread ----

void Engine::deliver() {
    {
        const std::lock_guard lock(outbox_mutex_);
        woken_ = false;
        std::swap(delivering_, outbox_);
    }
    const int64_t now_us = monotonic_us();
    int64_t iteration_tokens = 0;
    for (size_t i = 0; i < delivering_.size(); ++i) {
        deliver_output(delivering_[i], now_us, iteration_tokens);
        // All outputs of a step bear its time.
        const bool step_ends =
            i + 1 == delivering_.size() || delivering_[i + 1].token_us != delivering_[i].token_us;
        if (step_ends && iteration_tokens > 0 && options_.observer != nullptr) {
            options_.observer->on_iteration(std::exchange(iteration_tokens, 0));
        }
    }
    delivering_.clear();
}

void Engine::deliver_output(RequestOutput& output, int64_t now_us, int64_t& iteration_tokens) {
    const bool finished = output.finish_reason != FinishReason::kNone;
    const std::shared_ptr<Entry> entry = find(output.id);
    if (!entry) return;  // Aborted meanwhile: its tokens are dropped.
    RequestProgress& progress = entry->progress;
    progress.num_cached_tokens = output.num_cached_tokens;
    progress.num_preemptions = output.num_preemptions;
    progress.queued_us = output.queued_us;
    progress.scheduled_us = output.scheduled_us;
    if (entry->waits_for_first_token && (output.token != kNoToken || finished)) {
        entry->waits_for_first_token = false;
        queued_tokens_.fetch_sub(progress.num_prompt_tokens);
    }
    if (output.token != kNoToken) {
        const bool first = progress.first_token_us == 0;
        const int64_t gap_us = first ? 0 : output.token_us - progress.last_token_us;
        if (first) {
            progress.first_token_us = output.token_us;
            iteration_tokens += progress.num_prompt_tokens - progress.num_cached_tokens;
        }
        progress.last_token_us = output.token_us;
        progress.num_output_tokens += 1;
        iteration_tokens += 1;
        if (options_.observer) options_.observer->on_token(progress, gap_us, now_us);
    }
    if (finished) {
        take(output.id);
        if (options_.observer) {
            options_.observer->on_finish(progress, output.finish_reason, now_us);
        }
    }
    entry->handler(output);
}

// ---- Control ----

/// Runs `command` on the engine thread between two steps and waits for it; does nothing if the
/// engine is dead or stopping.
void Engine::run_command(const Command& command) {
    std::unique_lock lock(inbox_mutex_);
    if (stopping_ || dead_.load()) return;
    bool done = false;
    const Command noted = [&](EngineCore& core) {
        command(core);
        done = true;
    };
    commands_.push_back(&noted);
    inbox_filled_.notify_one();
    command_done_.wait(lock, [&] { return done || stopping_ || dead_.load(); });
    std::erase(commands_, &noted);
}

bool Engine::reset_prefix_cache(bool reset_running_requests) {
    bool reset = false;
    run_command([&](EngineCore& core) { reset = core.reset_prefix_cache(reset_running_requests); });
    return reset;
}

void Engine::set_pause(PauseState state) {
    run_command([&](EngineCore& core) { core.set_pause(state); });
    pause_.store(state);
}

/// Ends the requests with FinishReason::kAbort, in the order given; unknown ids are ignored.
int64_t Engine::end_by_force(const std::vector<RequestId>& ids, AbortCause cause) {
    int64_t ended = 0;
    for (const RequestId id : ids) {
        const std::shared_ptr<Entry> entry = take(id);
        if (!entry) continue;
        ended += 1;
        if (options_.observer) options_.observer->on_abort(entry->progress, cause, monotonic_us());
        RequestOutput output;
        output.id = id;
        output.finish_reason = FinishReason::kAbort;
        entry->handler(output);
        const std::lock_guard lock(inbox_mutex_);
        aborts_.push_back(id);
    }
    inbox_filled_.notify_one();
    return ended;
}

/// In the order of their arrival.
std::vector<RequestId> Engine::unfinished_ids() {
    std::vector<RequestId> ids;
    {
        const std::lock_guard lock(entries_mutex_);
        for (const auto& [id, entry] : entries_) ids.push_back(id);
    }
    std::sort(ids.begin(), ids.end());
    return ids;
}

int64_t Engine::abort_requests(const std::vector<RequestId>& ids) {
    return end_by_force(ids.empty() ? unfinished_ids() : ids, AbortCause::kApi);
}

void Engine::abort_rest() { end_by_force(unfinished_ids(), AbortCause::kShutdown); }

void Engine::stop() {
    refusing_.store(true);
    {
        const std::lock_guard lock(inbox_mutex_);
        stopping_ = true;
    }
    inbox_filled_.notify_all();
    command_done_.notify_all();
    const std::lock_guard lock(join_mutex_);
    if (thread_.joinable()) thread_.join();
}

bool Engine::healthy() const {
    return !dead_.load() && heartbeat_age_us() <= options_.heartbeat_us_max;
}

std::string Engine::fatal_error() const {
    const std::lock_guard lock(inbox_mutex_);
    return fatal_error_;
}

int64_t Engine::heartbeat_age_us() const {
    const int64_t last_us = heartbeat_us_.load();
    return last_us == 0 ? 0 : std::max<int64_t>(0, monotonic_us() - last_us);
}

int64_t Engine::outbox_size() const {
    const std::lock_guard lock(outbox_mutex_);
    return static_cast<int64_t>(outbox_.size());
}

}  // namespace

std::unique_ptr<EngineThread> EngineThread::start(EngineThreadOptions options, Executor& executor) {
    return std::make_unique<Engine>(std::move(options), executor);
}

}  // namespace weir
