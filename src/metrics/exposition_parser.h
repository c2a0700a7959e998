#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metrics/exposition_writer.h"

namespace weir {

struct ExpositionSample {
    std::string name;           // As written, with _bucket, _sum and the like.
    std::vector<Label> labels;  // Sorted by name.
    double value = 0;

    /// Value of a label, or null.
    const std::string* label(std::string_view label_name) const;
};

struct ExpositionFamily {
    std::string name;
    std::string type = "untyped";
    std::string help;
    std::vector<ExpositionSample> samples;
};

/// What GET /metrics answered.
struct Exposition {
    std::vector<ExpositionFamily> families;  // In the order of the text.

    const ExpositionFamily* find(std::string_view family) const;
    /// The sample of that name with these labels (others may be there too), if there is exactly
    /// one.
    std::optional<double> value(std::string_view sample,
                                const std::vector<Label>& labels = {}) const;
    /// Sum over all samples of that name with these labels; nothing if there are none.
    std::optional<double> sum(std::string_view sample, const std::vector<Label>& labels = {}) const;
};

/// Input comes from other servers: bounded, and nothing recurses.
struct ExpositionLimits {
    size_t bytes_max = size_t{64} << 20;
    size_t labels_max = 256;
};

/// Prometheus' text format 0.0.4 (time stamps are read and dropped). Samples belong to the family
/// that was announced last, if their name is its own with or without a suffix, else to a family of
/// their own. Fails with kBadSchema and "line N: what".
Result<Exposition> parse_exposition(std::string_view text, const ExpositionLimits& limits = {});

}  // namespace weir
