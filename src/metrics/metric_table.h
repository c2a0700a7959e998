#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace weir {

enum class MetricType { kCounter, kGauge, kHistogram, kSummary, kInfo };

/// Labels that all series of a metric share.
enum class MetricScope { kEngine, kModel, kProcess };

/// Families of histogram bounds (reference 3.2).
enum class BucketFamily {
    kNone,
    kRequestLatency,
    kTimeToFirstToken,
    kInterTokenLatency,
    kIterationTokens,
    kRequestParamsN,
    kRequestNumPreemptions,
    kRequestTokens,
};

enum class MetricId {
#define WEIR_METRIC(id, ...) id,
#include "metrics/catalogue.def"
#undef WEIR_METRIC
};

/// A row of WEIR_METRIC.
struct MetricInfo {
    std::string_view name;
    MetricType type;
    MetricScope scope;
    std::string_view labels;  // "reason=capacity,deferred", or empty.
    BucketFamily buckets;
    std::string_view help;
    std::string_view when;
};

struct MetricAlias {
    std::string_view name;
    MetricId of;
    std::string_view why;
};

/// A row of WEIR_DYNAMIC or WEIR_ABSENT (help is empty then); labels are separated by blanks.
struct DynamicMetric {
    std::string_view name;
    MetricType type;
    std::string_view labels;
    std::string_view help;
    std::string_view when;
};

/// The catalogue, for documentation, rules and the linter. Indexed by MetricId.
std::span<const MetricInfo> metric_table();
std::span<const MetricAlias> metric_aliases();
std::span<const DynamicMetric> dynamic_metrics();
std::span<const DynamicMetric> absent_metrics();

/// "counter", as in a # TYPE line.
std::string_view to_string(MetricType type);

/// Bounds that replace a family's own ones (--custom-histogram-buckets).
using CustomBuckets = std::vector<std::pair<BucketFamily, std::vector<double>>>;

/// {"request_latency": [0.1, 1]}. Fails with kBadConfig unless the families are known and their
/// bounds are not empty, finite, above 0 and strictly increasing.
Result<CustomBuckets> parse_custom_buckets(const Json& json);

/// Upper bounds without +Inf. `max_model_len` ends the family kRequestTokens.
std::vector<double> bucket_bounds(BucketFamily family, int32_t max_model_len,
                                  const CustomBuckets& custom);

}  // namespace weir
