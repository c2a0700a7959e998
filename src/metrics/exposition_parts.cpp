#include "metrics/exposition_parts.h"

#include <limits>

#include "base/text.h"

namespace weir {

std::string created_name(std::string_view name) {
    constexpr std::string_view kTotal = "_total";
    if (name.ends_with(kTotal)) name.remove_suffix(kTotal.size());
    return concat(name, "_created");
}

void append_histogram(std::string& out, std::string_view name, const std::vector<Label>& labels,
                      const MetricHistogram& values) {
    const std::string bucket = concat(name, "_bucket");
    std::vector<Label> with_le = labels;
    with_le.emplace_back("le", "");
    int64_t total = 0;
    // Each bucket is read once, so _count agrees with them whatever other threads add meanwhile.
    for (size_t i = 0; i <= values.bounds().size(); ++i) {
        const bool is_last = i == values.bounds().size();
        total += values.count(i);
        with_le.back().second = format_metric_value(
            is_last ? std::numeric_limits<double>::infinity() : values.bounds()[i]);
        append_sample(out, bucket, format_labels(with_le), static_cast<double>(total));
    }
    const std::string plain = format_labels(labels);
    append_sample(out, concat(name, "_count"), plain, static_cast<double>(total));
    append_sample(out, concat(name, "_sum"), plain, values.sum());
}

}  // namespace weir
