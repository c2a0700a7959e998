#include "metrics/metric_table.h"

#include <array>
#include <cmath>
#include <optional>

#include "base/text.h"

namespace weir {
namespace {

using enum MetricType;
using enum MetricScope;
using enum BucketFamily;

constexpr MetricInfo kMetrics[] = {
#define WEIR_METRIC(id, name, type, scope, labels, buckets, help, when) \
    {name, type, scope, labels, buckets, help, when},
#include "metrics/catalogue.def"
#undef WEIR_METRIC
};

constexpr MetricAlias kAliases[] = {
#define WEIR_ALIAS(name, of, why) {name, MetricId::of, why},
#include "metrics/catalogue.def"
#undef WEIR_ALIAS
};

constexpr DynamicMetric kDynamic[] = {
#define WEIR_DYNAMIC(name, type, labels, help, when) {name, type, labels, help, when},
#include "metrics/catalogue.def"
#undef WEIR_DYNAMIC
};

constexpr DynamicMetric kAbsent[] = {
#define WEIR_ABSENT(name, type, labels, when) {name, type, labels, "", when},
#include "metrics/catalogue.def"
#undef WEIR_ABSENT
};

struct Family {
    BucketFamily family;
    std::string_view key;
    std::initializer_list<double> bounds;
};

const Family kFamilies[] = {
    {kRequestLatency, "request_latency", {0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                          30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680}},
    {kTimeToFirstToken, "time_to_first_token", {.001, .005, .01, .02, .04, .06, .08, .1,
                                                .25,  .5,   .75, 1,   2.5, 5,   7.5, 10,
                                                20,   40,   80,  160, 640, 2560}},
    {kInterTokenLatency,
     "inter_token_latency",
     {.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}},
    {kIterationTokens,
     "iteration_tokens",
     {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}},
    {kRequestParamsN, "request_params_n", {1, 2, 5, 10, 20}},
    {kRequestNumPreemptions, "request_num_preemptions", {1, 2, 3, 4, 5, 10, 20}},
    {kRequestTokens, "request_tokens", {}},  // Made by one_two_five().
};

/// vLLM's family that weir has no metric for; its key is accepted all the same.
constexpr std::string_view kResidencyKey = "kv_cache_residency";

std::vector<double> one_two_five(int32_t limit) {
    std::vector<double> bounds;
    for (double power = 1; power <= limit; power *= 10) {
        for (const double factor : {1.0, 2.0, 5.0}) {
            if (factor * power <= limit) bounds.push_back(factor * power);
        }
    }
    return bounds;
}

Result<std::vector<double>> parse_bounds(std::string_view key, const Json& json) {
    const auto bad = [&](std::string_view what) {
        return fail(ErrorCode::kBadConfig,
                    concat("--custom-histogram-buckets: \"", key, "\" ", what,
                           "; needed are finite numbers above 0 in increasing order"));
    };
    if (!json.is_array()) return bad("is not a list");
    if (json.size() == 0) return bad("is empty");
    std::vector<double> bounds;
    for (const Json& item : json.items()) {
        if (!item.is_number()) return bad("holds something that is not a number");
        const double bound = item.as_double();
        if (!std::isfinite(bound) || bound <= 0) return bad(concat("holds ", bound));
        if (!bounds.empty() && bound <= bounds.back()) {
            return bad(concat("has ", bound, " behind ", bounds.back()));
        }
        bounds.push_back(bound);
    }
    return bounds;
}

}  // namespace

std::span<const MetricInfo> metric_table() { return kMetrics; }
std::span<const MetricAlias> metric_aliases() { return kAliases; }
std::span<const DynamicMetric> dynamic_metrics() { return kDynamic; }
std::span<const DynamicMetric> absent_metrics() { return kAbsent; }

std::string_view to_string(MetricType type) {
    switch (type) {
        case kCounter: return "counter";
        case kHistogram: return "histogram";
        case kSummary: return "summary";
        case kGauge:
        case kInfo: break;
    }
    return "gauge";
}

Result<CustomBuckets> parse_custom_buckets(const Json& json) {
    CustomBuckets custom;
    if (json.is_null()) return custom;
    if (!json.is_object()) {
        return fail(
            ErrorCode::kBadConfig,
            "--custom-histogram-buckets is not a JSON object of the form {family: [bounds]}");
    }
    for (const JsonMember& member : json.members()) {
        TRY(std::vector<double> bounds, parse_bounds(member.name, member.value));
        if (member.name == kResidencyKey) continue;
        std::vector<std::string> known;
        bool found = false;
        for (const Family& family : kFamilies) {
            known.emplace_back(family.key);
            if (family.key != member.name) continue;
            custom.emplace_back(family.family, bounds);
            found = true;
        }
        if (found) continue;
        known.emplace_back(kResidencyKey);
        return fail(ErrorCode::kBadConfig,
                    concat("--custom-histogram-buckets: unknown family \"", member.name,
                           "\"; known are ", join(known, ", ")));
    }
    return custom;
}

std::vector<double> bucket_bounds(BucketFamily family, int32_t max_model_len,
                                  const CustomBuckets& custom) {
    for (const auto& [replaced, bounds] : custom) {
        if (replaced == family) return bounds;
    }
    if (family == kRequestTokens) return one_two_five(max_model_len);
    for (const Family& known : kFamilies) {
        if (known.family == family) return known.bounds;
    }
    return {};
}

}  // namespace weir
