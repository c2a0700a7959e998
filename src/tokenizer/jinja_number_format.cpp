// Numbers and padding as Python's % and format() write them.

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.h"
#include "tokenizer/jinja_format.h"

namespace weir::jinja {
namespace {

std::string digits_of(Int value, int base) {
    std::string out;
    do {
        int digit = static_cast<int>(value % base);
        if (digit < 0) digit = -digit;
        out += "0123456789abcdef"[digit];
        value /= base;
    } while (value != 0);
    std::reverse(out.begin(), out.end());
    return out;
}

std::string grouped(const std::string& digits, char separator) {
    const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
    std::string out;
    for (size_t i = 0; i < whole; ++i) {
        if (i > 0 && (whole - i) % 3 == 0) out += separator;
        out += digits[i];
    }
    return out + digits.substr(whole);
}

std::string upper(std::string text) {
    for (char& c : text) {
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    }
    return text;
}

/// |value| in the form of C's e, f or g.
std::string float_digits(double value, char type, int64_t precision, bool alternate) {
    const double size = std::fabs(value);
    const bool capital = type < 'a';
    if (!std::isfinite(size)) {
        const std::string text = std::isnan(size) ? "nan" : "inf";
        return capital ? upper(text) : text;
    }
    const char format[] = {'%', alternate ? '#' : '0', '.', '*', type, '\0'};
    char buffer[700];
    std::snprintf(buffer, sizeof buffer, format, static_cast<int>(precision), size);
    return buffer;
}

struct Digits {
    bool negative;
    std::string prefix;
    std::string text;
};

Result<Digits> integer_digits(const Value& value, const NumberStyle& style) {
    const Int number = value.as_int();
    const int base = style.type == 'x' || style.type == 'X' ? 16
                     : style.type == 'o'                    ? 8
                     : style.type == 'b'                    ? 2
                                                            : 10;
    std::string text = digits_of(number, base);
    if (style.type == 'X') text = upper(text);
    return Digits{number < 0, style.alternate ? radix_prefix(style.type) : "", std::move(text)};
}

Result<Digits> real_digits(const Value& value, const NumberStyle& style) {
    const double number = value.as_float();
    const bool negative = std::signbit(number) && !std::isnan(number);
    if (style.precision > kPrecisionMax) return bad("precision too big");
    if (style.type == '%') {
        const int64_t precision = style.precision < 0 ? 6 : style.precision;
        return Digits{negative, "", float_digits(number * 100, 'f', precision, false) + "%"};
    }
    if (style.type == '\0' && style.precision < 0)
        return Digits{negative, "", float_text(std::fabs(number))};
    const char type = style.type == '\0' || style.type == 'n' ? 'g' : style.type;
    int64_t precision = style.precision < 0 ? 6 : style.precision;
    std::string text = float_digits(number, type, precision, style.alternate);
    const bool bare = style.type == '\0' && std::isfinite(number) &&
                      text.find_first_of(".e") == std::string::npos;
    if (bare) text += ".0";  // Like g, but a float stays one to see.
    return Digits{negative, "", std::move(text)};
}

}  // namespace

std::string radix_prefix(char type) {
    switch (type) {
        case 'x': return "0x";
        case 'X': return "0X";
        case 'o': return "0o";
        case 'b': return "0b";
        default: return "";
    }
}

Text padded(const Text& text, const NumberStyle& style, char default_align) {
    const auto length = static_cast<int64_t>(count_chars(text.view()));
    if (style.width <= length) return text;
    const int64_t missing = std::min(style.width - length, static_cast<int64_t>(kTextBytesMax) + 1);
    const char align = style.align ? style.align : default_align;
    // The odd one goes to the right; only str.center ('c') puts it to the left if the width is odd.
    int64_t left = missing;
    if (align == '<') left = 0;
    if (align == '^') left = missing / 2;
    if (align == 'c') left = missing / 2 + (missing & style.width & 1);
    Text out;
    for (int64_t i = 0; i < left && !out.overflow(); ++i) out.append(style.fill, true);
    out.append(text);
    for (int64_t i = left; i < missing && !out.overflow(); ++i) out.append(style.fill, true);
    return out;
}

Result<std::string> number_text(const Value& value, const NumberStyle& style) {
    constexpr std::string_view kReal = "eEfFgG%";
    const bool real = kReal.find(style.type) != std::string_view::npos || value.is_float();
    if (style.width > kWidthMax) return bad(concat("a width of ", style.width, " is too large"));
    TRY(Digits digits, real ? real_digits(value, style) : integer_digits(value, style));
    if (style.grouping) digits.text = grouped(digits.text, style.grouping);
    std::string sign = digits.negative ? "-" : style.sign == '-' ? "" : std::string(1, style.sign);
    sign += digits.prefix;
    const auto width = static_cast<size_t>(std::max<int64_t>(style.width, 0));
    if (style.align == '=' && sign.size() + digits.text.size() < width) {
        std::string fill;
        for (size_t i = sign.size() + digits.text.size(); i < width; ++i) fill += style.fill;
        return sign + fill + digits.text;
    }
    return sign + digits.text;
}

}  // namespace weir::jinja
