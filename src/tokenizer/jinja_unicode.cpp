#include "tokenizer/jinja_unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "tokenizer/jinja_text.h"

namespace weir::jinja {
namespace {

struct Special {
    char32_t c;
    std::string_view upper;
    std::string_view title;
};
// Letters whose upper case is several characters, as far as living scripts use them. Missing: Greek
// with iota subscript, which Python writes out (its forms differ for title case as well).
constexpr std::array<Special, 13> kSpecial = {{{0xDF, "SS", "Ss"},
                                               {0x149, "\u02BCN", "\u02BCN"},
                                               {0x1F0, "J\u030C", "J\u030C"},
                                               {0x390, "\u0399\u0308\u0301", "\u0399\u0308\u0301"},
                                               {0x3B0, "\u03A5\u0308\u0301", "\u03A5\u0308\u0301"},
                                               {0x587, "\u0535\u0552", "\u0535\u0582"},
                                               {0xFB00, "FF", "Ff"},
                                               {0xFB01, "FI", "Fi"},
                                               {0xFB02, "FL", "Fl"},
                                               {0xFB03, "FFI", "Ffi"},
                                               {0xFB04, "FFL", "Ffl"},
                                               {0xFB05, "ST", "St"},
                                               {0xFB06, "ST", "St"}}};

const Special* special(char32_t c) {
    if (c < 0xDF) return nullptr;
    const auto found = std::find_if(kSpecial.begin(), kSpecial.end(),
                                    [c](const Special& entry) { return entry.c == c; });
    return found == kSpecial.end() ? nullptr : &*found;
}

utf8proc_int32_t code(char32_t c) { return static_cast<utf8proc_int32_t>(c); }

}  // namespace

bool is_alpha(char32_t c) {
    if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const utf8proc_category_t category = utf8proc_category(code(c));
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_alnum(char32_t c) {
    if (c < 0x80) return is_alpha(c) || (c >= '0' && c <= '9');
    const utf8proc_category_t category = utf8proc_category(code(c));
    return is_alpha(c) || (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

bool is_upper(char32_t c) { return utf8proc_category(code(c)) == UTF8PROC_CATEGORY_LU; }

bool is_lower(char32_t c) { return utf8proc_category(code(c)) == UTF8PROC_CATEGORY_LL; }

bool is_printable(char32_t c) {
    if (c < 0x80) return c >= 0x20 && c < 0x7F;
    const utf8proc_category_t category = utf8proc_category(code(c));
    // Separators, controls, formats, surrogates, private and unassigned ones stand at both ends.
    return category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZS;
}

void append_upper(std::string& out, char32_t c) {
    if (const Special* entry = special(c)) {
        out += entry->upper;
    } else {
        append_utf8(out, static_cast<char32_t>(utf8proc_toupper(code(c))));
    }
}

void append_lower(std::string& out, char32_t c) {
    if (c == 0x130) {
        out += "i\u0307";
    } else {
        append_utf8(out, static_cast<char32_t>(utf8proc_tolower(code(c))));
    }
}

void append_title(std::string& out, char32_t c) {
    if (const Special* entry = special(c)) {
        out += entry->title;
    } else {
        append_utf8(out, static_cast<char32_t>(utf8proc_totitle(code(c))));
    }
}

}  // namespace weir::jinja
