#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "metrics/metric_table.h"

namespace weir {

// The text format of Prometheus, as prometheus_client for Python writes it.

using Label = std::pair<std::string, std::string>;

/// "86.0", "4.429529088e+09", "+Inf": a point or an exponent always, from 1e6 on with an exponent.
std::string format_metric_value(double value);

/// `engine="0",model_name="m"`: sorted by name, values escaped, without braces.
std::string format_labels(std::span<const Label> labels);

/// The two comment lines before a family.
void append_family(std::string& out, std::string_view name, MetricType type, std::string_view help);

/// One line; `labels` as format_labels() makes them.
void append_sample(std::string& out, std::string_view name, std::string_view labels, double value);

}  // namespace weir
