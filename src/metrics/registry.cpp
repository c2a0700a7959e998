#include "metrics/registry.h"

#include "base/check.h"
#include "base/text.h"
#include "metrics/exposition_parts.h"
#include "metrics/exposition_writer.h"

namespace weir {
namespace {

/// "reason=capacity,deferred" as labels, one for each value; one empty label if there is none.
std::vector<Label> series_labels(std::string_view labels) {
    if (labels.empty()) return {Label{}};
    const size_t equals = labels.find('=');
    CHECK(equals != std::string_view::npos);
    std::vector<Label> series;
    for (const std::string_view value : split(labels.substr(equals + 1), ',')) {
        series.emplace_back(labels.substr(0, equals), value);
    }
    return series;
}

size_t num_series(MetricId id) {
    return series_labels(metric_table()[static_cast<size_t>(id)].labels).size();
}

std::vector<Label> scope_labels(MetricScope scope, const MetricsOptions& options) {
    switch (scope) {
        case MetricScope::kEngine:
            return {{"engine", options.engine}, {"model_name", options.model_name}};
        case MetricScope::kModel: return {{"model_name", options.model_name}};
        case MetricScope::kProcess: break;
    }
    return {};
}

/// Writes one family; knows nothing of the others.
class FamilyWriter {
 public:
    FamilyWriter(std::string& out, const MetricsOptions& options) : out_(out), options_(options) {}

    template <typename T>
    void write(const MetricInfo& info, std::string_view name, std::string_view help,
               const MetricSeries<T>& series) {
        if (options_.disable_log_stats && name.starts_with("vllm:")) return;
        append_family(out_, name, info.type, help);
        for_each(info, series, [&](const std::vector<Label>& labels, const T& value) {
            append(name, labels, value);
        });
        const bool accumulates =
            info.type == MetricType::kCounter || info.type == MetricType::kHistogram;
        if (!accumulates || !options_.created_series) return;
        const std::string created = created_name(name);
        append_family(out_, created, MetricType::kGauge, help);
        for_each(info, series, [&](const std::vector<Label>& labels, const T&) {
            append_sample(out_, created, format_labels(labels), options_.created_seconds);
        });
    }

 private:
    template <typename T>
    void for_each(const MetricInfo& info, const MetricSeries<T>& series, auto&& act) {
        const std::vector<Label> own = series_labels(info.labels);
        CHECK(own.size() == series.size());
        for (size_t i = 0; i < own.size(); ++i) {
            std::vector<Label> labels = scope_labels(info.scope, options_);
            if (!own[i].first.empty()) labels.push_back(own[i]);
            act(labels, series[i]);
        }
    }
    void append(std::string_view name, const std::vector<Label>& labels, const MetricValue& value) {
        append_sample(out_, name, format_labels(labels), value.value());
    }
    void append(std::string_view name, const std::vector<Label>& labels,
                const MetricHistogram& value) {
        append_histogram(out_, name, labels, value);
    }
    void append(std::string_view name, const std::vector<Label>&, const MetricInfoLabels& value) {
        const std::vector<Label> labels = value.labels();
        if (!labels.empty()) append_sample(out_, name, format_labels(labels), 1);
    }

    std::string& out_;
    const MetricsOptions& options_;
};

void set_bounds(MetricSeries<MetricHistogram>& series, const MetricInfo& info,
                const MetricsOptions& options) {
    for (size_t i = 0; i < series.size(); ++i) {
        series[i].set_bounds(
            bucket_bounds(info.buckets, options.max_model_len, options.custom_buckets));
    }
}
template <typename T>
void set_bounds(MetricSeries<T>&, const MetricInfo&, const MetricsOptions&) {}

void append_process(std::string& out, const ProcessValues& process) {
    const double values[] = {process.virtual_memory_bytes,
                             process.resident_memory_bytes,
                             process.start_time_seconds,
                             process.cpu_seconds,
                             process.open_fds,
                             process.max_fds};
    size_t next = 0;
    for (const DynamicMetric& metric : dynamic_metrics()) {
        if (!metric.name.starts_with("process_")) continue;
        CHECK(next < std::size(values));
        append_family(out, metric.name, metric.type, metric.help);
        append_sample(out, metric.name, "", values[next++]);
    }
}

/// Python's words, since vLLM's labels are str() of its fields.
std::string python(bool value) { return value ? "True" : "False"; }
template <typename T>
std::string python(const std::optional<T>& value) {
    return value ? concat(*value) : "None";
}

/// str() of a Python float: the exposition's form, but fixed up to 1e16.
std::string python_float(double value) {
    const std::string text = concat(value);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

}  // namespace

MetricValues::MetricValues()
    :
#define WEIR_METRIC(id, ...) id(num_series(MetricId::id)),
#include "metrics/catalogue.def"
#undef WEIR_METRIC
      end_of_members_(0) {
}

Metrics::Metrics(MetricsOptions options)
    : options_(std::move(options)), http_(options_.http_handlers) {
    const std::span<const MetricInfo> table = metric_table();
#define WEIR_METRIC(id, ...) \
    set_bounds(values_.id, table[static_cast<size_t>(MetricId::id)], options_);
#include "metrics/catalogue.def"
#undef WEIR_METRIC
    values_.engine_sleep_state[0].set(1);
    values_.engine_healthy->set(1);
}

void Metrics::set_cache_config(const CacheConfigFacts& facts) {
    const std::string block_size = concat(facts.block_size);
    values_.cache_config_info->set({
        {"_block_size_resolved", "True"},
        {"block_size", block_size},
        {"cache_dtype", facts.cache_dtype},
        {"cache_hit_alignment_tokens", "None"},
        {"effective_attention_block_size", block_size},
        {"enable_mamba_shared_prefix_checkpoint", "False"},
        {"enable_prefix_caching", python(facts.enable_prefix_caching)},
        {"engine", options_.engine},
        {"gpu_memory_utilization", python_float(facts.gpu_memory_utilization)},
        {"hash_block_size", "None"},
        {"is_attention_free", "False"},
        {"kv_cache_dtype_skip_layers", "[]"},
        {"kv_cache_layout", "None"},
        {"kv_cache_max_concurrency", python_float(facts.kv_cache_max_concurrency)},
        {"kv_cache_memory_bytes", python(facts.kv_cache_memory_bytes)},
        {"kv_cache_size_tokens", concat(facts.kv_cache_size_tokens)},
        {"kv_offloading_backend", "native"},
        {"kv_offloading_size", "None"},
        {"kv_sharing_fast_prefill", "False"},
        {"mamba_block_size", "None"},
        {"mamba_cache_dtype", "auto"},
        {"mamba_cache_mode", "none"},
        {"mamba_page_size_padded", "None"},
        {"mamba_ssm_cache_dtype", "auto"},
        {"num_cpu_blocks", "None"},
        {"num_gpu_blocks", concat(facts.num_gpu_blocks)},
        {"num_gpu_blocks_override", python(facts.num_gpu_blocks_override)},
        {"prefix_cache_retention_interval", "0"},
        {"prefix_caching_hash_algo", facts.prefix_caching_hash_algo},
        {"prefix_match_unit", "None"},
        {"replayssm_buffer_len", "16"},
        {"skip_page_size_padded", "None"},
        {"sliding_window", python(facts.sliding_window)},
        {"swa_bounded_replay", "True"},
        {"use_kda_recoverssm", "False"},
        {"use_replayssm", "False"},
        {"user_specified_block_size", python(facts.user_specified_block_size)},
    });
}

void Metrics::set_build_info(std::string_view version, std::string_view isa) {
    values_.build_info->set({{"isa", std::string(isa)}, {"version", std::string(version)}});
}

std::string Metrics::exposition(const ProcessValues& process) const {
    std::string out;
    out.reserve(size_t{64} << 10);
    append_process(out, process);
    FamilyWriter writer(out, options_);
#define WEIR_METRIC(id, ...)                                                        \
    {                                                                               \
        const MetricInfo& info = metric_table()[static_cast<size_t>(MetricId::id)]; \
        writer.write(info, info.name, info.help, values_.id);                       \
    }
#include "metrics/catalogue.def"
#undef WEIR_METRIC
    if (options_.aliases) {
#define WEIR_ALIAS(alias, of, why)                                                             \
    {                                                                                          \
        const MetricInfo& info = metric_table()[static_cast<size_t>(MetricId::of)];            \
        writer.write(info, alias, concat("Alias of ", info.name, ": ", why, "."), values_.of); \
    }
#include "metrics/catalogue.def"
#undef WEIR_ALIAS
    }
    http_.append_exposition(out, options_.created_series ? options_.created_seconds : 0);
    return out;
}

}  // namespace weir
