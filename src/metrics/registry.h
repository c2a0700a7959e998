#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/http_metrics.h"
#include "metrics/metric_table.h"
#include "metrics/metric_values.h"

namespace weir {

struct MetricsOptions {
    std::string model_name;  // The first --served-model-name, else the model as given.
    std::string engine = "0";
    int32_t max_model_len = 2048;
    bool disable_log_stats = false;          // No vllm:* metrics and no aliases.
    bool created_series = false;             // --metric-created-series
    bool aliases = true;                     // --metric-aliases
    CustomBuckets custom_buckets;            // parse_custom_buckets()
    std::vector<std::string> http_handlers;  // Route templates that http_* may show.
    double created_seconds = 0;              // Wall clock at the start, for _created.
};

/// What process_* shows (os/process.h read_process_info()).
struct ProcessValues {
    double virtual_memory_bytes = 0;
    double resident_memory_bytes = 0;
    double start_time_seconds = 0;
    double cpu_seconds = 0;
    double open_fds = 0;
    double max_fds = 0;
};

/// What vllm:cache_config_info shows; the other labels of vLLM are constants here.
struct CacheConfigFacts {
    int32_t block_size = 16;
    bool user_specified_block_size = false;
    std::string cache_dtype = "auto";
    bool enable_prefix_caching = true;
    std::string prefix_caching_hash_algo = "sha256";
    double gpu_memory_utilization = 0.92;
    std::optional<int64_t> kv_cache_memory_bytes;
    int64_t num_gpu_blocks = 0;
    std::optional<int64_t> num_gpu_blocks_override;
    int64_t kv_cache_size_tokens = 0;
    double kv_cache_max_concurrency = 0;
    std::optional<int32_t> sliding_window;
};

/// All metrics of one process: values, and their text. Handed to those who count; no singleton.
class Metrics {
 public:
    explicit Metrics(MetricsOptions options);

    MetricValues& values() { return values_; }
    const MetricValues& values() const { return values_; }

    /// Any thread.
    void http_observe(const HttpMetric& request) { http_.observe(request); }
    void set_cache_config(const CacheConfigFacts& facts);
    void set_build_info(std::string_view version, std::string_view isa);

    /// Body of GET /metrics; its Content-Type is kContentType. Any thread.
    std::string exposition(const ProcessValues& process) const;
    static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

 private:
    MetricsOptions options_;
    MetricValues values_;
    HttpMetrics http_;
};

}  // namespace weir
