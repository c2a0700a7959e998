#include "tokenizer/jinja_string.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/text.h"
#include "tokenizer/jinja_unicode.h"
#include "tokenizer/jinja_value.h"

namespace weir::jinja {
namespace {

bool is_in(std::string_view chars, char32_t c) {
    for (size_t pos = 0; pos < chars.size();) {
        if (next_char(chars, pos) == c) return true;
    }
    return false;
}

tl::unexpected<Error> too_many() {
    return bad(concat("a list grows beyond ", kItemsMax, " items"));
}

Result<Ranges> split_blanks(std::string_view text, int64_t count_max) {
    Ranges out;
    size_t pos = 0;
    while (true) {
        size_t begin = pos;
        while (begin < text.size()) {  // Blanks before a word.
            size_t next = begin;
            if (!is_space(next_char(text, next))) break;
            begin = next;
        }
        if (begin >= text.size()) return out;
        if (out.size() >= kItemsMax) return too_many();
        if (count_max >= 0 && out.size() >= static_cast<size_t>(count_max)) {
            out.emplace_back(begin, text.size());  // The rest keeps its blanks at the end.
            return out;
        }
        size_t end = begin;
        while (end < text.size()) {
            size_t next = end;
            if (is_space(next_char(text, next))) break;
            end = next;
        }
        out.emplace_back(begin, end);
        pos = end;
    }
}

Result<Ranges> rsplit_blanks(std::string_view text, int64_t count_max) {
    Ranges out;
    size_t end = text.size();
    const auto blank_before = [text](size_t at) {
        size_t begin = prev_char(text, at);
        return is_space(next_char(text, begin));
    };
    while (true) {
        while (end > 0 && blank_before(end)) end = prev_char(text, end);
        if (end == 0) break;
        if (out.size() >= kItemsMax) return too_many();
        if (count_max >= 0 && out.size() >= static_cast<size_t>(count_max)) {
            out.emplace_back(0, end);
            break;
        }
        size_t begin = end;
        while (begin > 0 && !blank_before(begin)) begin = prev_char(text, begin);
        out.emplace_back(begin, end);
        end = begin;
    }
    std::reverse(out.begin(), out.end());
    return out;
}

/// Begins of the parts that do not overlap, from the left, or the last ones from the right.
std::vector<size_t> places(std::string_view text, std::string_view part, size_t count_max) {
    std::vector<size_t> out;
    for (size_t at = find_first(text, part); at != kNotFound && out.size() < count_max;
         at = find_first(text, part, at + part.size())) {
        out.push_back(at);
    }
    return out;
}

std::vector<size_t> places_from_right(std::string_view text, std::string_view part,
                                      size_t count_max) {
    // Byte-wise mirrored: a search from the right by the C library's linear search from the left.
    const std::string mirrored_text(text.rbegin(), text.rend());
    const std::string mirrored_part(part.rbegin(), part.rend());
    std::vector<size_t> out = places(mirrored_text, mirrored_part, count_max);
    for (size_t& at : out) at = text.size() - at - part.size();
    std::reverse(out.begin(), out.end());
    return out;
}

void append_case(std::string& out, char32_t c, Case how, bool first) {
    switch (how) {
        case Case::kUpper: append_upper(out, c); break;
        case Case::kLower: append_lower(out, c); break;
        case Case::kFold: c == 0xDF ? void(out += "ss") : append_lower(out, c); break;
        case Case::kTitle:
        case Case::kCapitalize: first ? append_title(out, c) : append_lower(out, c); break;
        case Case::kSwap: is_upper(c) ? append_lower(out, c) : append_upper(out, c); break;
    }
}

/// Maps each character by `map(out, c)`, keeping its origin.
template <typename Map>
Text mapped(const Text& text, Map map) {
    Text out;
    const std::string_view bytes = text.view();
    std::string run;
    bool run_trusted = true;
    for (size_t pos = 0; pos < bytes.size();) {
        const bool trusted = text.trusted() || text.trusted_at(pos);
        if (trusted != run_trusted) {
            out.append(run, run_trusted);
            run.clear();
            run_trusted = trusted;
        }
        map(run, next_char(bytes, pos));
    }
    out.append(run, run_trusted);
    return out;
}

}  // namespace

Text strip(const Text& text, const Text* chars, Side side) {
    const std::string_view bytes = text.view();
    const auto drop = [&](char32_t c) { return chars ? is_in(chars->view(), c) : is_space(c); };
    size_t begin = 0;
    size_t end = bytes.size();
    while (side != Side::kRight && begin < end) {
        size_t next = begin;
        if (!drop(next_char(bytes, next))) break;
        begin = next;
    }
    while (side != Side::kLeft && end > begin) {
        const size_t last = prev_char(bytes, end);
        size_t pos = last;
        if (!drop(next_char(bytes, pos))) break;
        end = last;
    }
    return text.slice(begin, end);
}

Result<Ranges> split(std::string_view text, const std::string_view* separator, int64_t count_max,
                     bool from_right) {
    if (!separator) {
        return from_right ? rsplit_blanks(text, count_max) : split_blanks(text, count_max);
    }
    if (separator->empty()) return bad("empty separator");
    const size_t limit =
        count_max < 0 ? kItemsMax : std::min(static_cast<size_t>(count_max), kItemsMax);
    const std::vector<size_t> at =
        from_right ? places_from_right(text, *separator, limit) : places(text, *separator, limit);
    if (at.size() >= kItemsMax) return too_many();
    Ranges out;
    size_t begin = 0;
    for (const size_t end : at) {
        out.emplace_back(begin, end);
        begin = end + separator->size();
    }
    out.emplace_back(begin, text.size());
    return out;
}

Result<Ranges> split_lines(std::string_view text, bool keep_ends) {
    Ranges out;
    size_t begin = 0;
    for (size_t pos = 0; pos < text.size();) {
        const size_t end = pos;
        const char32_t c = next_char(text, pos);
        if (!is_line_end(c)) continue;
        if (c == '\r' && pos < text.size() && text[pos] == '\n') ++pos;
        if (out.size() >= kItemsMax) return too_many();
        out.emplace_back(begin, keep_ends ? pos : end);
        begin = pos;
    }
    if (begin < text.size()) out.emplace_back(begin, text.size());
    return out;
}

Text replace(const Text& text, std::string_view old, const Text& with, int64_t count_max) {
    Text out;
    const std::string_view bytes = text.view();
    size_t left = count_max < 0 ? SIZE_MAX : static_cast<size_t>(count_max);
    size_t begin = 0;
    if (old.empty()) {  // Between all characters, and at both ends.
        for (; left > 0 && !out.overflow(); --left) {
            out.append(with);
            if (begin >= bytes.size()) return out;
            const size_t end = begin + char_bytes(bytes[begin]);
            out.append(text, begin, end);
            begin = end;
        }
    } else {
        for (size_t at = find_first(bytes, old); at != kNotFound && left > 0 && !out.overflow();
             at = find_first(bytes, old, begin), --left) {
            out.append(text, begin, at);
            out.append(with);
            begin = at + old.size();
        }
    }
    out.append(text, begin, bytes.size());
    return out;
}

Text with_case(const Text& text, Case how) {
    bool first = true;  // Of the text, for capitalize; of a word, for title.
    return mapped(text, [&](std::string& out, char32_t c) {
        append_case(out, c, how, first);
        first = how == Case::kTitle && !is_alpha(c);
    });
}

Text title_words(const Text& text) {
    bool first = true;
    return mapped(text, [&](std::string& out, char32_t c) {
        const bool border = is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
        if (first && !border) {
            append_upper(out, c);
        } else {
            append_lower(out, c);
        }
        first = border;
    });
}

bool all_case(std::string_view text, bool upper) {
    bool found = false;
    for (size_t pos = 0; pos < text.size();) {
        const char32_t c = next_char(text, pos);
        if (upper ? is_lower(c) : is_upper(c)) return false;
        found = found || (upper ? is_upper(c) : is_lower(c));
    }
    return found;
}

size_t find_first(std::string_view text, std::string_view part, size_t begin) {
    if (begin > text.size()) return kNotFound;
    if (part.empty()) return begin;
    // memmem is linear; std::string_view::find is not.
    const void* found = memmem(text.data() + begin, text.size() - begin, part.data(), part.size());
    if (!found) return kNotFound;
    return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

size_t find_last(std::string_view text, std::string_view part) {
    if (part.empty()) return text.size();
    const std::vector<size_t> at = places_from_right(text, part, 1);
    return at.empty() ? kNotFound : at[0];
}

size_t count_parts(std::string_view text, std::string_view part) {
    if (part.empty()) return count_chars(text) + 1;
    size_t count = 0;
    for (size_t at = find_first(text, part); at != kNotFound;
         at = find_first(text, part, at + part.size())) {
        ++count;
    }
    return count;
}

}  // namespace weir::jinja
