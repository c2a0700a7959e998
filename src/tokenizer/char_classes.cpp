#include "tokenizer/char_classes.h"

#include <utf8proc.h>

#include "tokenizer/utf8.h"

namespace weir {
namespace {

// Every assigned character with a class lies below, but for the variation selectors of plane 14.
constexpr char32_t kTableEnd = 0x33480;

uint8_t classify(char32_t c) {
    if ((c >= 0x09 && c <= 0x0d) || c == 0x85) return char_class::kSpace;
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LT: return char_class::kLetter | char_class::kUpper;
        case UTF8PROC_CATEGORY_LL: return char_class::kLetter | char_class::kLower;
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO: return char_class::kLetter;
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME: return char_class::kMark;
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_NO: return char_class::kNumber;
        case UTF8PROC_CATEGORY_PC:
        case UTF8PROC_CATEGORY_PD:
        case UTF8PROC_CATEGORY_PS:
        case UTF8PROC_CATEGORY_PE:
        case UTF8PROC_CATEGORY_PI:
        case UTF8PROC_CATEGORY_PF:
        case UTF8PROC_CATEGORY_PO: return char_class::kPunct;
        case UTF8PROC_CATEGORY_SM:
        case UTF8PROC_CATEGORY_SC:
        case UTF8PROC_CATEGORY_SK:
        case UTF8PROC_CATEGORY_SO: return char_class::kSymbol;
        case UTF8PROC_CATEGORY_ZS:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP: return char_class::kSpace;
        default: return 0;
    }
}

/// Begin of the character that ends at `end` > 0: the lead byte at most three back.
size_t char_begin(std::string_view text, size_t end) {
    size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 && (text[begin] & 0xc0) == 0x80) --begin;
    return begin;
}

}  // namespace

CharClasses::CharClasses() : table_(kTableEnd) {
    for (char32_t c = 0; c < kTableEnd; ++c) table_[c] = classify(c);
}

uint8_t CharClasses::of_high(char32_t c) { return classify(c); }

size_t CharClasses::space_run_begin(std::string_view text, size_t end) const {
    while (end > 0) {
        const size_t begin = char_begin(text, end);
        const Utf8Char c = decode_utf8(text, begin);
        if (c.bytes != end - begin || !(of(c.code_point) & char_class::kSpace)) break;
        end = begin;
    }
    return end;
}

size_t CharClasses::space_run_end(std::string_view text, size_t begin) const {
    while (begin < text.size()) {
        const Utf8Char c = decode_utf8(text, begin);
        if (c.bytes == 0 || !(of(c.code_point) & char_class::kSpace)) break;
        begin += c.bytes;
    }
    return begin;
}

bool CharClasses::is_word(char32_t c) const {
    return (of(c) & (char_class::kLetter | char_class::kMark | char_class::kNumber)) ||
           utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_PC;
}

bool CharClasses::word_char_before(std::string_view text, size_t pos) const {
    if (pos == 0) return false;
    const size_t begin = char_begin(text, pos);
    const Utf8Char c = decode_utf8(text, begin);
    return c.bytes == pos - begin && is_word(c.code_point);
}

bool CharClasses::word_char_at(std::string_view text, size_t pos) const {
    if (pos >= text.size()) return false;
    const Utf8Char c = decode_utf8(text, pos);
    return c.bytes > 0 && is_word(c.code_point);
}

}  // namespace weir
