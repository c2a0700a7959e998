#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

namespace detail {
inline void append_piece(std::string& out, std::string_view piece) { out += piece; }
inline void append_piece(std::string& out, const char* piece) { out += piece; }
inline void append_piece(std::string& out, char piece) { out += piece; }
inline void append_piece(std::string& out, bool piece) { out += piece ? "true" : "false"; }
template <typename T>
requires(std::integral<T> || std::floating_point<T>) void append_piece(std::string& out, T number) {
    std::array<char, 64> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), end);
}
}  // namespace detail

/// Joins strings and numbers (shortest form that reads back equal) into one text.
template <typename... Pieces>
std::string concat(const Pieces&... pieces) {
    std::string out;
    (detail::append_piece(out, pieces), ...);
    return out;
}

/// Splits at each separator; "a,,b" gives three parts, "" gives one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);
/// Without blanks (space, tab, CR, LF) at both ends.
std::string_view trim(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
/// ASCII only.
std::string to_lower(std::string_view text);
/// Same letters, ASCII case ignored.
bool equals_ignore_case(std::string_view a, std::string_view b);
/// Number of single-character edits (Levenshtein), for "did you mean".
int edit_distance(std::string_view a, std::string_view b);
/// Well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms, at most U+10FFFF).
bool is_utf8(std::string_view text);
/// At most `bytes_max` bytes, cut at a character border, with "..." when something was cut.
std::string shorten(std::string_view text, size_t bytes_max);

}  // namespace weir
