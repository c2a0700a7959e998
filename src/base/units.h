#pragma once

#include <cstdint>
#include <string>

namespace weir {

constexpr int64_t kKiB = int64_t{1} << 10;
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;

/// Rounded up; both arguments positive.
template <typename T>
constexpr T div_ceil(T a, T b) {
    return (a + b - 1) / b;
}

template <typename T>
constexpr T round_up(T a, T multiple) {
    return div_ceil(a, multiple) * multiple;
}

/// "110 MiB", rounded down to whole MiB.
std::string mib(int64_t bytes);
/// "3.25 GiB", two decimals.
std::string gib(int64_t bytes);
/// "46,592": thousands separators, as vLLM logs numbers.
std::string with_commas(int64_t value);

}  // namespace weir
