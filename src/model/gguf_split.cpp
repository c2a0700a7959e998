#include "model/gguf_split.h"

#include <charconv>

#include "base/text.h"

namespace weir {

namespace {

constexpr size_t kDigits = 5;

/// Exactly five digits, or nothing.
std::optional<int32_t> five_digits(std::string_view text) {
    int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (text.size() != kDigits || !whole || value < 0) return std::nullopt;
    return value;
}

std::string padded(int32_t number) {
    const std::string digits = std::to_string(number);
    return std::string(digits.size() < kDigits ? kDigits - digits.size() : 0, '0') + digits;
}

}  // namespace

std::optional<SplitName> parse_split_name(std::string_view path) {
    constexpr std::string_view kEnd = ".gguf";
    constexpr std::string_view kOf = "-of-";
    if (!path.ends_with(kEnd)) return std::nullopt;
    path.remove_suffix(kEnd.size());
    const size_t tail = 1 + kDigits + kOf.size() + kDigits;  // "-00002-of-00003"
    if (path.size() < tail) return std::nullopt;
    const std::string_view stem = path.substr(0, path.size() - tail);
    path.remove_prefix(stem.size());
    const auto number = five_digits(path.substr(1, kDigits));
    const auto count = five_digits(path.substr(path.size() - kDigits));
    const bool form = path[0] == '-' && path.substr(1 + kDigits, kOf.size()) == kOf;
    if (!form || !number || !count || *number < 1 || *number > *count) return std::nullopt;
    return SplitName{.stem = std::string(stem), .number = *number, .count = *count};
}

std::string split_path(const SplitName& name, int32_t number) {
    return concat(name.stem, "-", padded(number), "-of-", padded(name.count), ".gguf");
}

}  // namespace weir
