#include "metrics/exposition_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace weir {
namespace {

void append_escaped(std::string& out, std::string_view text, bool quotes) {
    for (const char c : text) {
        if (c == '\\') {
            out += "\\\\";
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '"' && quotes) {
            out += "\\\"";
        } else {
            out += c;
        }
    }
}

}  // namespace

std::string format_metric_value(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
    // Shortest digits that read back equal; positive numbers from 1e6 on as Go writes them, the
    // others as Python does: fixed from 1e-4 on, else with an exponent.
    const double size = std::abs(value);
    const bool fixed = value == 0 || (size >= 1e-4 && size < (value > 0 ? 1e6 : 1e16));
    std::array<char, 64> digits;
    const auto format = fixed ? std::chars_format::fixed : std::chars_format::scientific;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, format).ptr;
    std::string text(digits.data(), end);
    if (fixed && text.find('.') == std::string::npos) text += ".0";
    return text;
}

std::string format_labels(std::span<const Label> labels) {
    std::vector<const Label*> sorted;
    for (const Label& label : labels) sorted.push_back(&label);
    std::sort(sorted.begin(), sorted.end(),
              [](const Label* a, const Label* b) { return a->first < b->first; });
    std::string out;
    for (const Label* label : sorted) {
        if (!out.empty()) out += ',';
        out += label->first;
        out += "=\"";
        append_escaped(out, label->second, true);
        out += '"';
    }
    return out;
}

void append_family(std::string& out, std::string_view name, MetricType type,
                   std::string_view help) {
    out += "# HELP ";
    out += name;
    out += ' ';
    append_escaped(out, help, false);
    out += "\n# TYPE ";
    out += name;
    out += ' ';
    out += to_string(type);
    out += '\n';
}

void append_sample(std::string& out, std::string_view name, std::string_view labels, double value) {
    out += name;
    if (!labels.empty()) {
        out += '{';
        out += labels;
        out += '}';
    }
    out += ' ';
    out += format_metric_value(value);
    out += '\n';
}

}  // namespace weir
