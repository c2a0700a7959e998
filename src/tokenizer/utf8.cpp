#include "tokenizer/utf8.h"

#include <cstring>

namespace weir {
namespace {

/// What a lead byte asks for: length of the character (0: begins nothing) and the range of the
/// second byte (RFC 3629, section 4).
struct Lead {
    uint32_t bytes;
    unsigned char second_min;
    unsigned char second_max;
};

Lead lead_of(unsigned char byte) {
    if (byte < 0x80) return {1, 0, 0};
    if (byte < 0xc2) return {0, 0, 0};
    if (byte < 0xe0) return {2, 0x80, 0xbf};
    if (byte == 0xe0) return {3, 0xa0, 0xbf};
    if (byte == 0xed) return {3, 0x80, 0x9f};
    if (byte < 0xf0) return {3, 0x80, 0xbf};
    if (byte == 0xf0) return {4, 0x90, 0xbf};
    if (byte < 0xf4) return {4, 0x80, 0xbf};
    if (byte == 0xf4) return {4, 0x80, 0x8f};
    return {0, 0, 0};
}

/// Bytes at text[pos] that may begin a character: the whole one, or a cut or broken one.
struct Subpart {
    uint32_t bytes;  // At least 1.
    bool whole;
    bool cut_by_end;  // Not whole, and more text could complete it.
};

Subpart subpart_at(std::string_view text, size_t pos) {
    const Lead lead = lead_of(static_cast<unsigned char>(text[pos]));
    if (lead.bytes == 0) return {1, false, false};
    uint32_t bytes = 1;
    for (; bytes < lead.bytes; ++bytes) {
        if (pos + bytes == text.size()) return {bytes, false, true};
        const auto next = static_cast<unsigned char>(text[pos + bytes]);
        const unsigned char low = bytes == 1 ? lead.second_min : 0x80;
        const unsigned char high = bytes == 1 ? lead.second_max : 0xbf;
        if (next < low || next > high) return {bytes, false, false};
    }
    return {bytes, true, false};
}

/// Eight ASCII bytes at once.
bool ascii8(const char* text) {
    uint64_t word;
    std::memcpy(&word, text, sizeof word);
    return (word & 0x8080808080808080ULL) == 0;
}

}  // namespace

Utf8Char decode_utf8(std::string_view text, size_t pos) {
    if (!subpart_at(text, pos).whole) return {0, 0};
    return decode_valid_utf8(text.data() + pos);
}

size_t valid_utf8_prefix(std::string_view text) {
    size_t pos = 0;
    while (pos < text.size()) {
        if (pos + 8 <= text.size() && ascii8(text.data() + pos)) {
            pos += 8;
            continue;
        }
        const Subpart part = subpart_at(text, pos);
        if (!part.whole) break;
        pos += part.bytes;
    }
    return pos;
}

size_t invalid_utf8_prefix(std::string_view text) {
    size_t pos = 0;
    while (pos < text.size()) {
        const Subpart part = subpart_at(text, pos);
        if (part.whole) break;
        pos += part.bytes;
    }
    return pos;
}

void append_utf8(std::string& out, char32_t c) {
    const auto low6 = [](char32_t bits) { return static_cast<char>(0x80 | (bits & 0x3f)); };
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        out += static_cast<char>(0xc0 | c >> 6);
        out += low6(c);
    } else if (c < 0x10000) {
        out += static_cast<char>(0xe0 | c >> 12);
        out += low6(c >> 6);
        out += low6(c);
    } else {
        out += static_cast<char>(0xf0 | c >> 18);
        out += low6(c >> 12);
        out += low6(c >> 6);
        out += low6(c);
    }
}

size_t append_utf8_lossy(std::string& out, std::string_view text, bool keep_tail) {
    size_t pos = 0;
    while (pos < text.size()) {
        const size_t valid = valid_utf8_prefix(text.substr(pos));
        out.append(text.substr(pos, valid));
        pos += valid;
        if (pos == text.size()) break;
        const Subpart part = subpart_at(text, pos);
        if (part.cut_by_end && keep_tail) break;
        out += "\xef\xbf\xbd";
        pos += part.bytes;
    }
    return pos;
}

}  // namespace weir
