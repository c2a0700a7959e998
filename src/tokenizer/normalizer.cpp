#include "tokenizer/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "tokenizer/utf8.h"

namespace weir {
namespace {

// Below U+0300 no character composes with another one or decomposes for good: such text is in form
// C.
constexpr char32_t kFirstComposing = 0x300;
// The longest full decomposition of one character has 4 (canonical) code points.
constexpr size_t kDecomposedMax = 18;

int combining_class(utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; }

/// utf8proc's own ordering takes quadratic time on a long run of marks, so it is done here.
void order_marks(std::vector<utf8proc_int32_t>& text) {
    for (size_t begin = 0; begin < text.size();) {
        if (combining_class(text[begin]) == 0) {
            ++begin;
            continue;
        }
        size_t end = begin + 1;
        while (end < text.size() && combining_class(text[end]) != 0) ++end;
        std::stable_sort(text.begin() + static_cast<std::ptrdiff_t>(begin),
                         text.begin() + static_cast<std::ptrdiff_t>(end),
                         [](utf8proc_int32_t a, utf8proc_int32_t b) {
                             return combining_class(a) < combining_class(b);
                         });
        begin = end;
    }
}

/// `text` is well-formed.
void append_nfc(std::string& out, std::string_view text) {
    std::vector<utf8proc_int32_t> points;
    points.reserve(text.size());
    bool plain = true;
    for (size_t pos = 0; pos < text.size();) {
        const Utf8Char c = decode_valid_utf8(text.data() + pos);
        pos += c.bytes;
        if (c.code_point < kFirstComposing) {
            points.push_back(static_cast<utf8proc_int32_t>(c.code_point));
            continue;
        }
        plain = false;
        std::array<utf8proc_int32_t, kDecomposedMax> parts;
        int boundary = 0;
        const utf8proc_ssize_t count = utf8proc_decompose_char(
            static_cast<utf8proc_int32_t>(c.code_point), parts.data(), kDecomposedMax,
            static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE), &boundary);
        CHECK(count >= 0 && count <= static_cast<utf8proc_ssize_t>(kDecomposedMax));
        points.insert(points.end(), parts.begin(), parts.begin() + count);
    }
    if (plain) {
        out.append(text);
        return;
    }
    order_marks(points);
    const utf8proc_ssize_t count = utf8proc_normalize_utf32(
        points.data(), static_cast<utf8proc_ssize_t>(points.size()),
        static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    CHECK(count >= 0);
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
        append_utf8(out, static_cast<char32_t>(points[static_cast<size_t>(i)]));
    }
}

void append_lowercase(std::string& out, std::string_view text) {
    for (size_t pos = 0; pos < text.size();) {
        const Utf8Char c = decode_valid_utf8(text.data() + pos);
        pos += c.bytes;
        if (c.code_point ==
            0x130) {  // The only character whose lower case is two (SpecialCasing.txt).
            out += "i\xcc\x87";
            continue;
        }
        const auto lower = utf8proc_tolower(static_cast<utf8proc_int32_t>(c.code_point));
        append_utf8(out, static_cast<char32_t>(lower));
    }
}

}  // namespace

std::string Normalizer::apply(std::string_view text) const {
    std::string out;
    out.reserve(text.size());
    std::string lowered;
    while (!text.empty()) {
        const size_t valid = valid_utf8_prefix(text);
        std::string_view part = text.substr(0, valid);
        if (lowercase) {
            lowered.clear();
            append_lowercase(lowered, part);
            part = lowered;
        }
        if (nfc) {
            append_nfc(out, part);
        } else {
            out.append(part);
        }
        text.remove_prefix(valid);
        const size_t invalid = invalid_utf8_prefix(text);
        out.append(text.substr(0, invalid));
        text.remove_prefix(invalid);
    }
    return out;
}

}  // namespace weir
