#include "cmd/node.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <utility>

#include "api/api_server.h"
#include "base/text.h"
#include "cmd/node_parts.h"
#include "cmd/page/page.h"
#include "engine/engine_metrics.h"
#include "engine/engine_thread.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/process.h"
#include "os/signals.h"
#include "threads/worker_pool.h"

namespace weir {

namespace {

constexpr int32_t kFrontEndThreads = 2;
constexpr int64_t kFrontEndQueueMax = 4096;
constexpr int kEngineFailed = 3;

/// Milliseconds of each phase of the start, one log line each.
class Phases {
 public:
    explicit Phases(Logger& log) : log_(log), begin_us_(monotonic_us()), last_us_(begin_us_) {}
    void done(std::string_view what) {
        const int64_t now_us = monotonic_us();
        log_.info(concat(what, " took ", (now_us - last_us_) / 1000, " ms"));
        last_us_ = now_us;
    }
    int64_t total_ms() const { return (monotonic_us() - begin_us_) / 1000; }

 private:
    Logger& log_;
    int64_t begin_us_, last_us_;
};

/// Everything that runs; members are made in this order and taken down in the reverse one.
class Node {
 public:
    Node(const LoadedConfig& loaded, Logger& log)
        : loaded_(loaded), config_(loaded.config), log_(log) {}

    Result<void> build();
    Result<int> serve();

 private:
    void start_engine();
    Result<void> start_api();
    void announce(const Phases& phases);
    std::string exposition();
    void on_signal(int number);
    void check_drained();
    void log_stats();
    void log_request(const RequestSummary& summary);

    const LoadedConfig& loaded_;
    const ServeConfig& config_;
    Logger& log_;
    std::atomic<int> signals_{0};
    std::atomic<bool> failed_{false};
    int64_t drain_until_us_ = 0;
    StatsLine stats_line_;
    std::chrono::milliseconds stats_interval_{10000};

    std::unique_ptr<SignalWatcher> signal_watcher_;
    std::unique_ptr<HttpServer> server_;
    NodePlan plan_;
    ApiOptions api_options_;
    std::unique_ptr<Metrics> metrics_;
    std::unique_ptr<EngineMetrics> observer_;
    std::unique_ptr<Tokenizer> tokenizer_;
    std::unique_ptr<ChatTemplate> chat_template_;
    std::unique_ptr<Executor> executor_;
    std::unique_ptr<EngineThread> engine_;
    std::unique_ptr<WorkerPool> front_end_;
    std::unique_ptr<ApiServer> api_;
    std::shared_ptr<void> stats_timer_, drain_timer_;
};

Result<void> Node::build() {
    Phases phases(log_);
    TRY(signal_watcher_, SignalWatcher::start([this](int number) { on_signal(number); }));
    TRY(server_, HttpServer::create(http_options(config_)));
    TRY_VOID(server_->bind());
    phases.done("Reserving the address");
    TRY(plan_, plan_node(loaded_, log_));
    TRY(api_options_, api_options(loaded_, plan_));
    TRY(MetricsOptions metrics, metrics_options(config_, api_options_));
    metrics_ = std::make_unique<Metrics>(std::move(metrics));
    metrics_->set_cache_config(cache_facts(loaded_, plan_));
    metrics_->set_build_info(WEIR_VERSION, plan_.kernels->isa);
    phases.done("Reading the model's header");
    TRY(tokenizer_, make_tokenizer(std::move(plan_.tokenizer.spec)));
    TRY(chat_template_, load_chat_template(config_, plan_));
    phases.done("Tokenizer and chat template");
    CpuExecutorOptions options;
    options.scheduler = plan_.scheduler;
    options.cache = plan_.cache;
    options.num_threads = plan_.num_threads;
    options.kernels = plan_.kernels;
    options.logprobs_mode = config_.logprobs_mode == "processed_logprobs"
                                ? LogprobsMode::kProcessedLogprobs
                            : config_.logprobs_mode == "raw_logits" ? LogprobsMode::kRawLogits
                            : config_.logprobs_mode == "processed_logits"
                                ? LogprobsMode::kProcessedLogits
                                : LogprobsMode::kRawLogprobs;
    TRY(executor_, make_cpu_executor(plan_.files, options));
    phases.done("Loading weights");
    log_.info(concat("Computing with ", plan_.kernels->isa, " on ", plan_.num_threads, " threads"));
    start_engine();
    TRY_VOID(start_api());
    announce(phases);
    return {};
}

void Node::start_engine() {
    observer_ = std::make_unique<EngineMetrics>(*metrics_);
    EngineThreadOptions options;
    options.scheduler = plan_.scheduler;
    options.cache = plan_.cache;
    options.seed = static_cast<uint64_t>(config_.seed);
    options.limits.max_num_queued_reqs = config_.max_num_queued_reqs.value_or(0);
    // By default: a token id costs 4 bytes; a 64th of a GiB of waiting prompts is plenty.
    options.limits.max_num_queued_tokens =
        loaded_.source_of("max-num-queued-tokens") == FlagSource::kDefault
            ? int64_t{4} << 20
            : config_.max_num_queued_tokens.value_or(0);
    options.observer = observer_.get();
    options.wake = [this] { server_->post([this] { engine_->deliver(); }); };
    options.on_fatal = [this](const std::string& text) {
        log_.error(concat("EngineCore encountered a fatal error. ", text));
        failed_.store(true);
        server_->stop();
    };
    MetricValues& values = metrics_->values();
    values.unfinished_requests_max->set(static_cast<double>(options.limits.max_num_queued_reqs));
    values.queued_prompt_tokens_max->set(
        static_cast<double>(options.limits.max_num_queued_tokens));
    engine_ = EngineThread::start(std::move(options), *executor_);
}

Result<void> Node::start_api() {
    front_end_ = std::make_unique<WorkerPool>(kFrontEndThreads, kFrontEndQueueMax);
    ApiParts parts;
    parts.engine = engine_.get();
    parts.tokenizer = tokenizer_.get();
    parts.chat_template = chat_template_.get();
    parts.offload = [this](std::function<void()> work) {
        return front_end_->submit(std::move(work));
    };
    parts.post = [this](std::function<void()> work) { server_->post(std::move(work)); };
    parts.after = [this](std::chrono::milliseconds delay, std::function<void()> work) {
        return server_->after(delay, std::move(work));
    };
    parts.metrics = [this] { return exposition(); };
    parts.load = [this] {
        const MetricValues& values = metrics_->values();
        return EngineLoad{values.kv_cache_usage_perc->value(),
                          static_cast<int64_t>(values.num_requests_waiting->value())};
    };
    parts.observe_http = [this](const HttpObservation& seen) {
        if (!seen.counted) return;
        metrics_->http_observe({seen.handler, seen.method, seen.status, seen.request_bytes,
                                seen.response_bytes,
                                static_cast<double>(seen.duration_us) * 1e-6});
    };
    parts.observe_request = [this](const RequestSummary& summary) { log_request(summary); };
    parts.server_info = [this](bool) { return print_config(loaded_); };
    parts.log = &log_;
    parts.chat_page = page_html();
    parts.id_seed = (uint64_t{std::random_device{}()} << 32) ^ std::random_device{}();
    api_ = std::make_unique<ApiServer>(api_options_, std::move(parts));
    return server_->listen([this](HttpRequest&& request, std::shared_ptr<HttpResponder> responder) {
        api_->handle(std::move(request), std::move(responder));
    });
}

void Node::announce(const Phases& phases) {
    std::string url;
    if (!config_.uds.empty()) {
        url = concat("unix:", config_.uds);
    } else {
        const bool tls = !config_.ssl_certfile.empty();
        url = concat(tls ? "https://" : "http://", config_.host.empty() ? "0.0.0.0" : config_.host,
                     ":", server_->port());
    }
    log_.info(concat("Starting weir server on ", url));
    if (config_.uds.empty()) {
        std::string local = url;
        if (const size_t at = local.find("0.0.0.0"); at != std::string::npos) {
            local.replace(at, 7, "127.0.0.1");
        }
        log_.info(concat("Try: curl ", local,
                         "/v1/chat/completions -H 'Content-Type: application/json' -d "
                         "'{\"messages\":[{\"role\":\"user\",\"content\":\"Hello!\"}],"
                         "\"max_tokens\":32}'"));
        log_.info(concat("Page: ", local, "/"));
    }
    log_.info(concat("Application startup complete. (", phases.total_ms(), " ms)"));
}

std::string Node::exposition() {
    MetricValues& values = metrics_->values();
    values.engine_healthy->set(engine_->healthy() ? 1 : 0);
    values.heartbeat_age_seconds->set(static_cast<double>(engine_->heartbeat_age_us()) * 1e-6);
    values.unfinished_requests->set(static_cast<double>(engine_->num_unfinished()));
    values.outbox_outputs->set(static_cast<double>(engine_->outbox_size()));
    const HttpServerCounters http = server_->counters();
    values.http_connections_open->set(static_cast<double>(http.connections_open));
    values.http_connections_total->set(static_cast<double>(http.connections_total));
    values.http_connections_refused_total->set(
        static_cast<double>(http.connections_refused_total));
    values.http_bad_requests_total->set(static_cast<double>(http.bad_requests_total));
    values.http_sent_bytes_total->set(static_cast<double>(http.bytes_sent_total));
    values.log_lines_total->set(static_cast<double>(log_.lines_written()));
    values.log_write_errors_total->set(static_cast<double>(log_.write_errors()));
    const ProcessInfo process = read_process_info();
    return metrics_->exposition({static_cast<double>(process.virtual_bytes),
                                 static_cast<double>(process.resident_bytes),
                                 process.start_time_seconds, process.cpu_seconds,
                                 static_cast<double>(process.open_fds),
                                 static_cast<double>(process.max_fds)});
}

void Node::log_request(const RequestSummary& s) {
    const auto ms = [](int64_t us) { return static_cast<double>(us / 10) / 100; };
    log_.info("Finished request",
              {{"id", s.id}, {"route", s.route}, {"stream", s.stream}, {"n", s.n},
               {"prompt_tokens", s.prompt_tokens}, {"cached_tokens", s.cached_tokens},
               {"completion_tokens", s.completion_tokens}, {"queue_ms", ms(s.queue_us)},
               {"prefill_ms", ms(s.prefill_us)}, {"decode_ms", ms(s.decode_us)},
               {"total_ms", ms(s.total_us)}, {"reason", s.reason}});
}

void Node::log_stats() {
    const double seconds = static_cast<double>(stats_interval_.count()) / 1000;
    const StatsLine::Line line = stats_line_.next(metrics_->values(), seconds);
    line.quiet ? log_.debug(line.text) : log_.info(line.text);
    stats_timer_ = server_->after(stats_interval_, [this] { log_stats(); });
}

/// On the signal thread: the first signal drains, the second ends.
void Node::on_signal(int) {
    if (!server_) return;
    if (signals_.fetch_add(1) > 0) {
        server_->stop();
        return;
    }
    log_.info("[shutdown] API server: shutdown triggered");
    server_->stop_accepting();
    server_->post([this] {
        if (engine_) engine_->refuse_new();
        drain_until_us_ =
            monotonic_us() + static_cast<int64_t>(config_.shutdown_timeout * 1'000'000);
        check_drained();
    });
}

/// IO thread: ends the loop when nothing is in flight, or aborts the rest when time is up.
void Node::check_drained() {
    if (server_->requests_in_flight() == 0) return server_->stop();
    if (monotonic_us() >= drain_until_us_) {
        engine_->abort_rest();
        // The answers just made leave with the next turns of the loop.
        drain_timer_ = server_->after(std::chrono::milliseconds(200), [this] { server_->stop(); });
        return;
    }
    drain_timer_ = server_->after(std::chrono::milliseconds(10), [this] { check_drained(); });
}

Result<int> Node::serve() {
    const Result<int64_t> seconds =
        parse_human_int(environment_variable("VLLM_LOG_STATS_INTERVAL").value_or("10"));
    stats_interval_ = std::chrono::milliseconds(1000 * std::max<int64_t>(1, seconds.value_or(10)));
    if (!config_.disable_log_stats) {
        stats_timer_ = server_->after(stats_interval_, [this] { log_stats(); });
    }
    server_->run();
    stats_timer_.reset();
    drain_timer_.reset();
    engine_->stop();
    front_end_.reset();
    log_.info("Application shutdown complete.");
    return failed_.load() ? kEngineFailed : 0;
}

}  // namespace

Result<int> run_node(const LoadedConfig& loaded, Logger& log) {
    log.info(concat("weir server version ", WEIR_VERSION));
    log.info(concat("non-default args: ", non_default_args(loaded)));
    for (const std::string& notice : loaded.notices) log.warning(notice);
    Node node(loaded, log);
    TRY_VOID(node.build());
    return node.serve();
}

}  // namespace weir
