#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metrics/metric_values.h"

namespace weir {

/// Name of the gauge that shows when a family began: "_total" becomes "_created", else it is
/// appended.
std::string created_name(std::string_view name);

/// The _bucket, _count and _sum lines of one series.
void append_histogram(std::string& out, std::string_view name, const std::vector<Label>& labels,
                      const MetricHistogram& values);

}  // namespace weir
