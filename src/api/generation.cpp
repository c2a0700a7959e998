#include "api/generation.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "api/errors.h"
#include "api/json_text.h"
#include "api/orca.h"
#include "base/check.h"
#include "base/text.h"
#include "os/clock.h"

namespace weir {

namespace {

constexpr std::string_view kDone = "data: [DONE]\n\n";

int32_t narrow(int64_t value) {
    return static_cast<int32_t>(std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(),
                                                    std::numeric_limits<int32_t>::max()));
}

std::vector<Choice> make_choices(const GenerationJob& job, const Tokenizer& tokenizer) {
    std::vector<Choice> choices;
    choices.reserve(job.prompts.size() * static_cast<size_t>(job.shape.n));
    for (size_t prompt = 0; prompt < job.prompts.size(); ++prompt) {
        for (int32_t i = 0; i < job.shape.n; ++i) {
            choices.emplace_back(job, tokenizer, prompt, static_cast<int32_t>(choices.size()));
        }
    }
    return choices;
}

/// Child i of n: its own seed (reference 6), all else alike.
NewRequest make_request(const GenerationJob& job, const ApiOptions& options, const Choice& choice) {
    NewRequest request;
    request.id = choice.request;
    request.token_ids = job.prompts[choice.prompt].ids;
    request.params = job.params;
    request.params.max_tokens = std::max(job.max_tokens[choice.prompt], 1);
    if (request.params.seed) {
        const auto child = static_cast<uint64_t>(choice.index % job.shape.n);
        request.params.seed =
            static_cast<int64_t>(static_cast<uint64_t>(*request.params.seed) + child);
    }
    request.arrival_us = job.arrival_wall_us;
    request.priority = narrow(job.shape.priority);
    request.cache_salt = job.shape.cache_salt;
    request.eos_token_id = options.eos_token_id;
    return request;
}

void append_ms(std::string& out, std::string_view name, int64_t us) {
    out += concat("\"", name, "\":", static_cast<double>(us) / 1000);
}

}  // namespace

Generation::Generation(std::shared_ptr<ApiContext> context, Exchange exchange, GenerationJob job,
                       MakeFormat make_format)
    : context_(std::move(context)), exchange_(std::move(exchange)), job_(std::move(job)) {
    const Tokenizer& tokenizer = *context_->parts.tokenizer;
    format_ = make_format(job_, context_->options, tokenizer);
    choices_ = make_choices(job_, tokenizer);
    ++context_->num_generations;
}

Generation::~Generation() {
    --context_->num_generations;
    if (!context_->options.dev_mode) return;
    for (const Choice& choice : choices_) context_->live.remove(job_.id, choice.request);
}

void Generation::start() {
    EngineClient& engine = *context_->parts.engine;
    std::vector<NewRequest> requests;
    requests.reserve(choices_.size());
    for (Choice& choice : choices_) {
        choice.request = engine.next_id();
        // Outputs are matched to choices by binary search.
        CHECK(choice.index == 0 ||
              choices_[static_cast<size_t>(choice.index) - 1].request < choice.request);
        requests.push_back(make_request(job_, context_->options, choice));
        if (context_->options.dev_mode) context_->live.add(job_.id, choice.request);
    }
    RequestFacts facts;
    facts.arrival_us = job_.arrival_us;
    facts.n = job_.shape.n;
    facts.max_tokens = job_.max_tokens.front();
    auto self = shared_from_this();
    const Result<void> submitted =
        engine.submit(std::move(requests), facts,
                      [self](const RequestOutput& output) { self->on_output(output); });
    if (!submitted) {
        done_ = true;
        exchange_.responder->send(error_response(submitted.error()));
        return;
    }
    exchange_.responder->on_close([weak = weak_from_this()] {
        if (auto alive = weak.lock()) alive->on_close();
    });
    if (!job_.shape.stream) return;
    HttpHeaders headers = extra_headers();
    headers.emplace_back("Content-Type", "text/event-stream; charset=utf-8");
    headers.emplace_back("Cache-Control", "no-cache");
    headers.emplace_back("X-Accel-Buffering", "no");  // nginx would hold frames back.
    exchange_.responder->begin_stream(200, std::move(headers));
    arm_keep_alive();
}

void Generation::on_output(const RequestOutput& output) {
    if (done_) return;
    const auto self = shared_from_this();  // abort() may drop the handler that holds us.
    const auto place = std::ranges::lower_bound(choices_, output.id, {}, &Choice::request);
    CHECK(place != choices_.end() && place->request == output.id);
    Choice& choice = *place;
    if (choice.finished()) return;
    if (output.finish_reason == FinishReason::kError) {
        fail_all({ErrorCode::kInternal, "Internal server error", ""});
        return;
    }
    const bool tell_engine = choice.take(job_, output);
    if (choice.finished()) ++num_finished_;
    if (tell_engine) context_->parts.engine->abort(choice.request, true);
    const bool news = output.token != kNoToken || choice.finished();
    if (job_.shape.stream && news) {
        const bool due =
            !choice.started || choice.finished() || choice.num_unsent >= job_.shape.stream_interval;
        if (due) send_delta(choice);
    }
    finish_if_done();
}

void Generation::send_delta(Choice& choice) {
    buffer_.clear();
    const bool last = all_finished() && !job_.shape.include_usage;
    if (job_.shape.continuous_usage) {
        const Usage now = usage();
        format_->append_frame(buffer_, choice, &now, last);
    } else {
        format_->append_frame(buffer_, choice, nullptr, last);
    }
    choice.clear_unsent();
    if (all_finished()) {
        finish_stream();
        return;
    }
    exchange_.responder->write(buffer_);
    wrote_since_tick_ = true;
}

/// `buffer_` holds the last frame: it leaves together with the end.
void Generation::finish_stream() {
    if (job_.shape.include_usage) format_->append_usage_frame(buffer_, usage());
    buffer_ += kDone;
    done_ = true;
    exchange_.responder->write(buffer_);
    exchange_.responder->end_stream();
    summarise();
}

void Generation::finish_if_done() {
    if (done_ || !all_finished()) return;
    CHECK(!job_.shape.stream);
    finish_whole();
}

void Generation::finish_whole() {
    done_ = true;
    const ApiOptions& options = context_->options;
    const bool with_metrics = options.enable_per_request_metrics && choices_.size() == 1;
    std::string extras;
    if (options.enable_request_timings) extras = ",\"timings\":" + timings_json();
    HttpResponse response = json_response(
        200, format_->body(choices_, usage(), with_metrics ? metrics_json() : "null", extras));
    for (auto& header : extra_headers()) response.headers.push_back(std::move(header));
    if (options.enable_request_timings) {
        const Choice& first = choices_.front();
        const auto ms = [](int64_t us) {
            return static_cast<double>(std::max<int64_t>(us, 0)) / 1000;
        };
        response.headers.emplace_back(
            "Server-Timing", concat("queue;dur=", ms(first.scheduled_us - first.queued_us),
                                    ", prefill;dur=", ms(first.first_token_us - first.scheduled_us),
                                    ", decode;dur=", ms(first.last_token_us - first.first_token_us),
                                    ", total;dur=", ms(elapsed_us())));
    }
    exchange_.responder->send(std::move(response));
    summarise();
}

/// The engine failed: one error for the whole request, whatever its choices have sent already.
void Generation::fail_all(const Error& error) {
    abort_rest();
    done_ = true;
    if (!job_.shape.stream) {
        exchange_.responder->send(error_response(error));
    } else {
        buffer_ = concat("data: ", error_json(error), "\n\n", kDone);
        exchange_.responder->write(buffer_);
        exchange_.responder->end_stream();
    }
    summarise();
}

void Generation::on_close() {
    if (done_) return;
    const auto self = shared_from_this();
    done_ = true;
    abort_rest();
    summarise();
}

void Generation::abort_rest() {
    for (Choice& choice : choices_) {
        if (choice.finished()) continue;
        choice.finish = FinishReason::kAbort;
        ++num_finished_;
        context_->parts.engine->abort(choice.request, false);
    }
}

void Generation::arm_keep_alive() {
    const double seconds = context_->options.sse_keep_alive_interval;
    if (seconds <= 0 || !context_->parts.after) return;
    const std::chrono::milliseconds delay(
        std::max<int64_t>(1, static_cast<int64_t>(seconds * 1000)));
    keep_alive_ = context_->parts.after(delay, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self || self->done_) return;
        if (!self->wrote_since_tick_) self->exchange_.responder->write(": keep-alive\n\n");
        self->wrote_since_tick_ = false;
        self->arm_keep_alive();
    });
}

Usage Generation::usage() const {
    Usage sum;
    size_t counted = 0;  // Prompts are counted once, however many choices they have.
    for (const Choice& choice : choices_) {
        sum.completion_tokens += choice.num_tokens;
        if (choice.prompt != counted) continue;
        ++counted;
        sum.prompt_tokens += static_cast<int64_t>(job_.prompts[choice.prompt].ids.size());
        sum.cached_tokens += choice.num_cached_tokens;
    }
    return sum;
}

int64_t Generation::elapsed_us() const { return monotonic_us() - job_.arrival_us; }

std::string Generation::metrics_json() const {
    const Choice& choice = choices_.front();
    const int64_t decode = choice.last_token_us - choice.first_token_us;
    const int64_t generation = choice.last_token_us - choice.scheduled_us;
    std::string out = "{";
    append_ms(out, "time_to_first_token_ms", choice.first_token_us - choice.scheduled_us);
    out += ',';
    append_ms(out, "generation_time_ms", generation);
    out += ',';
    append_ms(out, "queue_time_ms", choice.scheduled_us - choice.queued_us);
    out += ",\"mean_itl_ms\":";
    if (choice.num_tokens > 1) {
        out += concat(static_cast<double>(decode) / 1000 / (choice.num_tokens - 1));
    } else {
        out += "null";
    }
    out += ",\"tokens_per_second\":";
    if (generation > 0) {
        out += concat(choice.num_tokens * 1e6 / static_cast<double>(generation));
    } else {
        out += "null";
    }
    out += '}';
    return out;
}

std::string Generation::timings_json() const {
    const Choice& choice = choices_.front();
    std::string out = "{";
    append_ms(out, "queue_ms", choice.scheduled_us - choice.queued_us);
    out += ',';
    append_ms(out, "prefill_ms", choice.first_token_us - choice.scheduled_us);
    out += ',';
    append_ms(out, "decode_ms", choice.last_token_us - choice.first_token_us);
    out += ',';
    append_ms(out, "total_ms", elapsed_us());
    out += '}';
    return out;
}

HttpHeaders Generation::extra_headers() const {
    return orca_headers(exchange_.request, context_->parts.load);
}

void Generation::summarise() {
    keep_alive_.reset();
    if (!context_->parts.observe_request) return;
    const Choice& first = choices_.front();
    const Usage sum = usage();
    RequestSummary summary;
    summary.id = job_.id;
    summary.route = exchange_.route;
    summary.stream = job_.shape.stream;
    summary.num_prompts = static_cast<int32_t>(job_.prompts.size());
    summary.n = job_.shape.n;
    summary.prompt_tokens = sum.prompt_tokens;
    summary.cached_tokens = sum.cached_tokens;
    summary.completion_tokens = sum.completion_tokens;
    for (const Choice& choice : choices_) summary.num_preemptions += choice.num_preemptions;
    if (first.scheduled_us > 0) summary.queue_us = first.scheduled_us - job_.arrival_us;
    if (first.first_token_us > 0) summary.prefill_us = first.first_token_us - first.scheduled_us;
    summary.decode_us = first.last_token_us - first.first_token_us;
    summary.total_us = elapsed_us();
    summary.reason = to_string(first.finish);
    context_->parts.observe_request(summary);
}

}  // namespace weir
