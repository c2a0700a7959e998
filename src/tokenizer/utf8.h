#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

/// One decoded character; `bytes` is 0 where no well-formed character begins.
struct Utf8Char {
    char32_t code_point;
    uint32_t bytes;
};

/// The character at text[pos], which must exist (RFC 3629: no surrogates, no overlong forms).
Utf8Char decode_utf8(std::string_view text, size_t pos);

/// The same for text that is known to be well-formed.
inline Utf8Char decode_valid_utf8(const char* text) {
    const auto* p = reinterpret_cast<const unsigned char*>(text);
    if (p[0] < 0x80) return {p[0], 1};
    if (p[0] < 0xe0) return {(p[0] & 0x1fu) << 6 | (p[1] & 0x3fu), 2};
    if (p[0] < 0xf0) {
        return {(p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu), 3};
    }
    return {(p[0] & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu), 4};
}

/// Length of the longest well-formed beginning of `text`. O(result).
size_t valid_utf8_prefix(std::string_view text);
/// Length of the longest beginning in which no well-formed character begins. O(result).
size_t invalid_utf8_prefix(std::string_view text);

void append_utf8(std::string& out, char32_t code_point);

/// Appends `text`, each maximal ill-formed subpart as one U+FFFD (Unicode 15, section 3.9, as
/// WHATWG and Rust do). If `keep_tail`, an incomplete character at the end, which further bytes
/// could still complete, is left out. Returns how many bytes of `text` were used.
size_t append_utf8_lossy(std::string& out, std::string_view text, bool keep_tail);

}  // namespace weir
