#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/metric_values.h"

namespace weir {

/// One answered HTTP request.
struct HttpMetric {
    std::string_view handler;  // Route template; an unknown one counts as "none".
    std::string_view method;   // An unknown one counts as "other".
    int status = 0;
    std::optional<int64_t> request_bytes;  // Declared length; none counts as 0.
    std::optional<int64_t> response_bytes;
    double seconds = 0;  // Until the last byte.
};

/// The http_* family (reference 3.4). The label sets are bounded by the handlers given at the
/// start, so that no client can make them grow. observe() may be called by any thread and does not
/// allocate.
class HttpMetrics {
 public:
    explicit HttpMetrics(std::vector<std::string> handlers);
    ~HttpMetrics();
    void observe(const HttpMetric& request);
    /// Only series that have a value. `created_seconds` 0: without _created.
    void append_exposition(std::string& out, double created_seconds) const;

 private:
    struct Handler;
    struct Method;
    const Handler& handler(std::string_view name) const;

    std::vector<std::unique_ptr<Handler>> handlers_;  // "none" first.
    MetricHistogram highr_;
};

}  // namespace weir
