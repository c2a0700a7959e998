#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tokenizer/jinja_text.h"

namespace weir::jinja {

// Python's str methods on texts with origin. All take linear time.

constexpr size_t kItemsMax =
    1'000'000;  // Parts that a text may be split into, items of a repeated list.

enum class Side { kLeft, kRight, kBoth };
/// Without the given characters, or blanks if there are none given.
Text strip(const Text& text, const Text* chars, Side side);

using Ranges = std::vector<std::pair<size_t, size_t>>;  // Byte offsets [first, second).
/// At blanks if `separator` is null. `count_max` < 0: no limit. From the right if asked for, which
/// matters with a limit. Fails for an empty separator and beyond kItemsMax parts.
Result<Ranges> split(std::string_view text, const std::string_view* separator, int64_t count_max,
                     bool from_right);
Result<Ranges> split_lines(std::string_view text, bool keep_ends);

/// The new text keeps its own origin. `count_max` < 0: all.
Text replace(const Text& text, std::string_view old, const Text& with, int64_t count_max);

enum class Case { kUpper, kLower, kTitle, kCapitalize, kSwap, kFold };
Text with_case(const Text& text, Case how);
/// jinja2's title filter: words begin behind blanks, hyphens and opening brackets.
Text title_words(const Text& text);

/// There are letters with case, and all of them are upper (or lower).
bool all_case(std::string_view text, bool upper);

constexpr size_t kNotFound = static_cast<size_t>(-1);
size_t find_first(std::string_view text, std::string_view part, size_t begin = 0);
size_t find_last(std::string_view text, std::string_view part);
/// Occurrences that do not overlap.
size_t count_parts(std::string_view text, std::string_view part);

}  // namespace weir::jinja
