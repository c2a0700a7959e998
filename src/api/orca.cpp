#include "api/orca.h"

#include "base/text.h"

namespace weir {

HttpHeaders orca_headers(const HttpRequest& request, const std::function<EngineLoad()>& load) {
    const std::string* format = request.header("endpoint-load-metrics-format");
    if (!format || !load) return {};
    const EngineLoad now = load();
    if (equals_ignore_case(*format, "TEXT")) {
        return {{"endpoint-load-metrics",
                 concat("TEXT named_metrics.kv_cache_usage_perc=", now.kv_cache_usage,
                        ", named_metrics.num_requests_waiting=", now.num_waiting)}};
    }
    if (equals_ignore_case(*format, "JSON")) {
        return {{"endpoint-load-metrics",
                 concat("JSON {\"named_metrics\": {\"kv_cache_usage_perc\": ", now.kv_cache_usage,
                        ", \"num_requests_waiting\": ", now.num_waiting, "}}")}};
    }
    return {};
}

}  // namespace weir
