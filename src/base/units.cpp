#include "base/units.h"

#include <cstdio>

namespace weir {

std::string mib(int64_t bytes) { return std::to_string(bytes / kMiB) + " MiB"; }

std::string gib(int64_t bytes) {
    char text[64];
    std::snprintf(text, sizeof text, "%.2f GiB",
                  static_cast<double>(bytes) / static_cast<double>(kGiB));
    return text;
}

std::string with_commas(int64_t value) {
    std::string digits = std::to_string(value);
    const size_t first = value < 0 ? 1 : 0;
    for (size_t i = digits.size(); i > first + 3;) {
        i -= 3;
        digits.insert(i, ",");
    }
    return digits;
}

}  // namespace weir
