// Filters that make numbers, or take any value.

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/text.h"
#include "tokenizer/jinja_filters.h"
#include "tokenizer/jinja_format.h"
#include "tokenizer/jinja_string.h"

namespace weir::jinja {
namespace {

using V = Value;
using R = Result<Value>;

std::string without_underscores(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const bool between = text[i] == '_' && i > 0 && i + 1 < text.size() && text[i - 1] != '_';
        if (!between) out += text[i];
    }
    return out;
}

/// int(text, base) of Python; nullopt where it raises ValueError.
Result<std::optional<Int>> parse_int(std::string_view text, int64_t base) {
    const Text stripped = strip(Text(text, true), nullptr, Side::kBoth);
    std::string digits = without_underscores(stripped.view());
    const bool negative = digits.starts_with('-');
    if (negative || digits.starts_with('+')) digits.erase(0, 1);
    if (digits.size() > 2 && digits[0] == '0') {
        const char mark = static_cast<char>(digits[1] | 0x20);
        const int64_t marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
        if (marked != 0 && (base == marked || base == 0)) {
            digits.erase(0, 2);
            base = marked;
        }
    }
    if (base == 0) base = 10;
    Int value = 0;
    for (const char c : digits) {
        const char low = static_cast<char>(c | 0x20);
        const int digit = c >= '0' && c <= '9'       ? c - '0'
                          : low >= 'a' && low <= 'z' ? low - 'a' + 10
                                                     : 99;
        if (digit >= base) return std::optional<Int>();
        if (__builtin_mul_overflow(value, Int{base}, &value) ||
            __builtin_add_overflow(value, Int{digit}, &value)) {
            return bad("an integer grows beyond 128 bits");
        }
    }
    if (digits.empty()) return std::optional<Int>();
    return std::optional<Int>(negative ? -value : value);
}

/// float(text) of Python.
std::optional<double> parse_float(std::string_view text) {
    const Text stripped = strip(Text(text, true), nullptr, Side::kBoth);
    const std::string digits = without_underscores(stripped.view());
    // strtod takes hexadecimal numbers and "nan(...)" as well, Python does not.
    const bool word = digits.find_first_of("xX()") != std::string::npos;
    if (digits.empty() || word || digits.size() > 400) return std::nullopt;
    char* end = nullptr;
    const double value = std::strtod(digits.c_str(), &end);
    if (end != digits.c_str() + digits.size()) return std::nullopt;
    return value;
}

R int_of_double(double value, const V& otherwise, bool untrusted) {
    if (!std::isfinite(value)) return otherwise;
    if (std::fabs(value) >= 1e38) return bad("an integer grows beyond 128 bits");
    return V::integer(static_cast<Int>(value), untrusted);
}

R int_filter(Interp&, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("int", "default? base?", args));
    const V otherwise = bound[0] ? *bound[0] : V::integer(0);
    TRY(const int64_t base, bound.number(1, 10));
    if (base != 0 && (base < 2 || base > 36)) return bad("int() base must be >= 2 and <= 36, or 0");
    const bool untrusted = self.untrusted();
    if (self.is_integral()) return V::integer(self.as_int(), untrusted);
    if (self.is_float()) return int_of_double(self.as_float(), otherwise, untrusted);
    if (self.is_undefined()) return bad(self.undefined_message());
    if (!self.is_text()) return otherwise;
    TRY(const std::optional<Int> value, parse_int(self.view(), base));
    if (value) return V::integer(*value, untrusted);
    const std::optional<double> real = parse_float(self.view());
    return real ? int_of_double(*real, otherwise, untrusted) : otherwise;
}

R float_filter(Interp&, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("float", "default?", args));
    const V otherwise = bound[0] ? *bound[0] : V::real(0);
    if (self.is_number()) return V::real(self.as_float(), self.untrusted());
    if (self.is_undefined()) return bad(self.undefined_message());
    if (!self.is_text()) return otherwise;
    const std::optional<double> value = parse_float(self.view());
    return value ? V::real(*value, self.untrusted()) : otherwise;
}

R abs_filter(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args("abs", "", args));
    if (self.is_undefined()) return bad(self.undefined_message());
    if (!self.is_number())
        return bad(concat("bad operand type for abs(): '", type_name(self), "'"));
    if (self.is_float()) return V::real(std::fabs(self.as_float()), self.untrusted());
    if (self.as_int() >= 0) return V::integer(self.as_int(), self.untrusted());
    return in.binary(Op::kSub, V::integer(0), self);
}

/// Python's round: exact in decimal, halves to even.
double round_decimal(double value, int64_t digits) {
    if (!std::isfinite(value) || digits > 320) return value;
    if (digits < 0) {
        const double scale = std::pow(10.0, static_cast<double>(-digits));
        return std::isinf(scale) ? std::copysign(0.0, value)
                                 : std::nearbyint(value / scale) * scale;
    }
    char buffer[720];
    std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(digits), value);
    return std::strtod(buffer, nullptr);
}

R round_filter(Interp&, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("round", "precision? method?", args));
    TRY(const int64_t digits, bound.number(0, 0));
    TRY(const Text method, bound.text(1, "common"));
    if (self.is_undefined()) return bad(self.undefined_message());
    if (!self.is_number()) {
        return bad(concat("type ", type_name(self), " doesn't define __round__ method"));
    }
    if (method.view() == "common") {
        if (self.is_integral() && digits >= 0) return V::integer(self.as_int(), self.untrusted());
        const double rounded = round_decimal(self.as_float(), digits);
        if (self.is_integral()) return V::integer(static_cast<Int>(rounded), self.untrusted());
        return V::real(rounded, self.untrusted());
    }
    if (method.view() != "ceil" && method.view() != "floor") {
        return bad("method must be common, ceil or floor");
    }
    const double scale = std::pow(10.0, static_cast<double>(digits));
    const double scaled = self.as_float() * scale;
    const double whole = method.view() == "ceil" ? std::ceil(scaled) : std::floor(scaled);
    return V::real(whole / scale, self.untrusted());
}

R default_filter(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("default", "default_value? boolean?", args));
    const bool replaced = self.is_undefined() || (bound.flag(1, false) && !self.truthy());
    if (!replaced) return self;
    return bound[0] ? R(*bound[0]) : in.text("", true);
}

R length_filter(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args("length", "", args));
    TRY(const int64_t length, in.length(self));
    return V::integer(length);
}

R attr(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("attr", "name", args));
    TRY(const Text name, bound.text(0, ""));
    if (self.is_dict() && !find_method(self, name.view())) {  // Attributes only, never keys.
        return in.undefined(concat("'dict object' has no attribute '", name.view(), "'"));
    }
    return in.attribute(self, name.view());
}

constexpr Filter kFilters[] = {
    {"int", int_filter},       {"float", float_filter},     {"abs", abs_filter},
    {"round", round_filter},   {"default", default_filter}, {"d", default_filter},
    {"length", length_filter}, {"count", length_filter},    {"attr", attr}};

}  // namespace

std::span<const Filter> number_filters() { return kFilters; }

}  // namespace weir::jinja
