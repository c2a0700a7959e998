#include "engine/engine_metrics.h"

#include <cstdio>

namespace weir {

namespace {

double seconds(int64_t from_us, int64_t to_us) {
    return to_us > from_us ? static_cast<double>(to_us - from_us) * 1e-6 : 0.0;
}

/// Index of the label value in the catalogue's order.
size_t reason_index(FinishReason reason) {
    switch (reason) {
        case FinishReason::kStop: return 0;
        case FinishReason::kLength: return 1;
        case FinishReason::kError: return 3;
        case FinishReason::kRepetition: return 4;
        default: return 2;  // abort
    }
}

}  // namespace

EngineMetrics::EngineMetrics(Metrics& metrics) : values_(metrics.values()) {
    values_.engine_sleep_state[0].set(1);
}

void EngineMetrics::on_step(const StepStats& stats, int64_t duration_us) {
    values_.num_requests_running->set(stats.num_running);
    values_.num_requests_waiting->set(stats.num_waiting);
    values_.num_requests_waiting_by_reason[0].set(stats.num_waiting - stats.num_waiting_deferred);
    values_.num_requests_waiting_by_reason[1].set(stats.num_waiting_deferred);
    values_.kv_cache_usage_perc->set(stats.kv_cache_usage);
    values_.num_preemptions_total->add(stats.num_preempted);
    values_.prefix_cache_queries_total->add(static_cast<double>(stats.prefix_cache_queries));
    values_.prefix_cache_hits_total->add(static_cast<double>(stats.prefix_cache_hits));
    if (stats.idle) return;
    values_.steps_total->add(1);
    values_.step_duration_seconds->observe(static_cast<double>(duration_us) * 1e-6);
    values_.step_scheduled_tokens_max->set_max(stats.num_scheduled_tokens);
    values_.step_requests_max->set_max(stats.num_scheduled_requests);
    values_.prefill_chunks_total[0].add(stats.num_partial_prefills);
    values_.prefill_chunks_total[1].add(stats.num_last_prefills);
}

void EngineMetrics::on_token(const RequestProgress& request, int64_t gap_us, int64_t now_us) {
    values_.generation_tokens_total->add(1);
    if (request.num_output_tokens > 1) {
        values_.inter_token_latency_seconds->observe(static_cast<double>(gap_us) * 1e-6);
        return;
    }
    const int32_t cached = request.num_cached_tokens;
    values_.time_to_first_token_seconds->observe(seconds(request.facts.arrival_us, now_us));
    values_.prompt_tokens_total->add(request.num_prompt_tokens);
    values_.prompt_tokens_by_source_total[0].add(request.num_prompt_tokens - cached);
    values_.prompt_tokens_by_source_total[1].add(cached);
    values_.prompt_tokens_cached_total->add(cached);
    values_.prompt_tokens_cached_by_source_total[0].add(cached);
}

void EngineMetrics::on_iteration(int64_t tokens) {
    values_.iteration_tokens_total->observe(static_cast<double>(tokens));
}

void EngineMetrics::on_finish(const RequestProgress& request, FinishReason reason,
                              int64_t now_us) {
    values_.request_success_total[reason_index(reason)].add(1);
    values_.request_prompt_tokens->observe(request.num_prompt_tokens);
    values_.request_generation_tokens->observe(request.num_output_tokens);
    values_.request_params_max_tokens->observe(request.facts.max_tokens);
    values_.e2e_request_latency_seconds->observe(seconds(request.facts.arrival_us, now_us));
    values_.request_queue_time_seconds->observe(seconds(request.queued_us, request.scheduled_us));
    values_.request_prefill_time_seconds->observe(
        seconds(request.scheduled_us, request.first_token_us));
    values_.request_decode_time_seconds->observe(
        seconds(request.first_token_us, request.last_token_us));
    values_.request_inference_time_seconds->observe(
        seconds(request.scheduled_us, request.last_token_us));
    values_.request_num_preemptions->observe(request.num_preemptions);
    values_.request_prefill_kv_computed_tokens->observe(request.num_prompt_tokens -
                                                        request.num_cached_tokens);
    const double decode = seconds(request.first_token_us, request.last_token_us);
    const int32_t gaps = request.num_output_tokens - 1;
    values_.request_time_per_output_token_seconds->observe(gaps > 0 ? decode / gaps : 0.0);
    if (request.facts.last_child) {
        values_.request_params_n->observe(request.facts.n);
        values_.request_max_num_generation_tokens->observe(request.num_output_tokens);
    }
}

void EngineMetrics::on_abort(const RequestProgress&, AbortCause cause, int64_t) {
    values_.request_success_total[reason_index(FinishReason::kAbort)].add(1);
    values_.requests_aborted_total[static_cast<size_t>(cause)].add(1);
}

void EngineMetrics::on_rejected(RejectReason reason) {
    values_.admission_rejections_total[static_cast<size_t>(reason)].add(1);
    values_.requests_refused_total[static_cast<size_t>(reason)].add(1);
}

StatsLine::Line StatsLine::next(const MetricValues& values, double interval_seconds) {
    const double prompt = values.prompt_tokens_by_source_total[0].value();
    const double generated = values.generation_tokens_total->value();
    const double prompt_rate = (prompt - prompt_tokens_) / interval_seconds;
    const double generated_rate = (generated - generated_tokens_) / interval_seconds;
    prompt_tokens_ = prompt;
    generated_tokens_ = generated;
    const double queries = values.prefix_cache_queries_total->value();
    const double hit_rate =
        queries > 0 ? 100 * values.prefix_cache_hits_total->value() / queries : 0.0;
    char text[400];
    std::snprintf(text, sizeof text,
                  "Engine 000: Avg prompt throughput: %.1f tokens/s, Avg generation throughput: "
                  "%.1f tokens/s, Running: %d reqs, Waiting: %d reqs, GPU KV cache usage: %.1f%%, "
                  "Prefix cache hit rate: %.1f%%",
                  prompt_rate, generated_rate,
                  static_cast<int>(values.num_requests_running->value()),
                  static_cast<int>(values.num_requests_waiting->value()),
                  100 * values.kv_cache_usage_perc->value(), hit_rate);
    const bool quiet = prompt_rate <= 0 && generated_rate <= 0;
    Line line{text, quiet && was_quiet_};
    was_quiet_ = quiet;
    return line;
}

}  // namespace weir
