// "..." % values, as Python formats.

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "tokenizer/jinja_format.h"

namespace weir::jinja {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// One walk over a % format.
class Percent {
 public:
    Percent(Interp& in, const Text& format, const Value& args)
        : in_(in), format_(format), bytes_(format.view()), args_(args) {
        is_tuple_ = args.is_list() && args.list()->type == List::Type::kTuple;
    }

    Result<Text> run() {
        while (pos_ < bytes_.size()) {
            const size_t percent = std::min(bytes_.find('%', pos_), bytes_.size());
            out_.append(format_, pos_, percent);
            pos_ = percent;
            if (pos_ >= bytes_.size()) break;
            TRY_VOID(directive());
            if (out_.overflow()) break;
        }
        const size_t given = is_tuple_ ? args_.list()->items.size() : 1;
        // A mapping, which to Python a list is as well, need not be used up.
        const bool mapping = args_.is_dict() || args_.is_undefined() ||
                             (args_.is_list() && args_.list()->is_sequence());
        if (used_ < given && (is_tuple_ || !mapping)) {
            return bad("not all arguments converted during string formatting");
        }
        return std::move(out_);
    }

 private:
    char at() const { return pos_ < bytes_.size() ? bytes_[pos_] : '\0'; }

    Result<Value> next_value() {
        if (is_tuple_ ? used_ >= args_.list()->items.size() : used_ >= 1) {
            return bad("not enough arguments for format string");
        }
        return is_tuple_ ? args_.list()->items[used_++] : (++used_, args_);
    }

    Result<int64_t> number() {
        if (at() == '*') {
            ++pos_;
            TRY(const Value value, next_value());
            if (!value.is_integral()) return bad("* wants int");
            return to_index(value);
        }
        int64_t value = 0;
        for (; is_digit(at()); ++pos_) value = std::min(value * 10 + (at() - '0'), kWidthMax + 1);
        return value;
    }

    Result<void> directive() {
        ++pos_;
        Value value;
        bool has_value = false;
        if (at() == '(') {
            const size_t end = bytes_.find(')', pos_);
            if (end == std::string_view::npos) return bad("incomplete format key");
            if (!args_.is_dict()) return bad("format requires a mapping");
            const std::string_view key = bytes_.substr(pos_ + 1, end - pos_ - 1);
            const Value* found = args_.dict()->find(key);
            if (!found) return bad(text_repr(key));
            value = *found;
            has_value = true;
            pos_ = end + 1;
        }
        NumberStyle style;
        bool zero = false;
        for (; std::string_view("-+ #0").find(at()) != std::string_view::npos && at(); ++pos_) {
            if (at() == '-') style.align = '<';
            if (at() == '+') style.sign = '+';
            if (at() == ' ' && style.sign != '+') style.sign = ' ';
            if (at() == '#') style.alternate = true;
            if (at() == '0') zero = true;
        }
        TRY(style.width, number());
        if (style.width < 0) {
            style.align = '<';
            style.width = -style.width;
        }
        if (at() == '.') {
            ++pos_;
            TRY(style.precision, number());
            style.precision = std::max<int64_t>(style.precision, 0);
        }
        while (at() == 'l' || at() == 'h' || at() == 'L') ++pos_;
        style.type = at();
        if (style.type == '\0') return bad("incomplete format");
        const bool trusted = format_.trusted_at(pos_);
        ++pos_;
        if (style.type == '%') {
            out_.append("%", trusted);
            return {};
        }
        if (!has_value) {
            TRY(value, next_value());
        }
        if (zero && style.align != '<') {
            style.align = '=';
            style.fill = "0";
        }
        return put(value, style);
    }

    Result<void> put(const Value& value, NumberStyle& style) {
        if (std::string_view("sra").find(style.type) != std::string_view::npos) {
            Text text;
            if (style.type == 's') {
                append_str(text, value, in_.meter());
            } else if (style.type == 'a' && value.is_text()) {
                text.append(text_repr(value.view(), true), !value.untrusted());
            } else {
                append_repr(text, value, in_.meter());
            }
            if (style.precision >= 0) {
                text =
                    text.slice(0, char_offset(text.view(), static_cast<size_t>(style.precision)));
            }
            return pad(text, style);
        }
        if (style.type == 'c') return character(value, style);
        if (value.is_undefined()) return bad(value.undefined_message());
        const bool integer = std::string_view("diuxXo").find(style.type) != std::string_view::npos;
        if (!integer && std::string_view("eEfFgG").find(style.type) == std::string_view::npos) {
            return bad(concat("unsupported format character '", style.type, "'"));
        }
        const std::string name = type_name(value);
        if (!value.is_number()) {
            if (!integer) return bad(concat("must be real number, not ", name));
            return bad(concat("%", style.type, " format: a real number is required, not ", name));
        }
        Value number = value;
        if (integer && value.is_float()) {
            const bool decimal = std::string_view("diu").find(style.type) != std::string_view::npos;
            if (!decimal) {
                return bad(concat("%", style.type, " format: an integer is required, not float"));
            }
            if (std::fabs(value.as_float()) >= 1e38 || std::isnan(value.as_float())) {
                return bad("cannot convert float to integer");
            }
            number = Value::integer(static_cast<Int>(value.as_float()), value.untrusted());
        }
        if (integer) return whole(number, style);
        TRY(const std::string text, number_text(number, style));
        return pad(Text(text, !value.untrusted()), style);
    }

    Result<void> whole(const Value& number, NumberStyle& style) {
        if (style.precision > kPrecisionMax) return bad("precision too big");
        if (style.type == 'i' || style.type == 'u') style.type = 'd';
        const NumberStyle plain{.type = style.type};
        TRY(std::string digits, number_text(number, plain));
        if (digits.starts_with('-')) digits.erase(0, 1);
        std::string zeros;  // A precision asks for as many digits.
        if (static_cast<int64_t>(digits.size()) < style.precision) {
            zeros.assign(static_cast<size_t>(style.precision) - digits.size(), '0');
        }
        std::string sign = number.as_int() < 0 ? "-"
                           : style.sign == '-' ? ""
                                               : std::string(1, style.sign);
        if (style.alternate) sign += radix_prefix(style.type);
        digits = zeros + digits;
        if (style.align == '=' && style.width <= kWidthMax) {
            const auto width = static_cast<size_t>(style.width);
            const size_t length = sign.size() + digits.size();
            if (length < width) digits.insert(0, width - length, '0');
        }
        return pad(Text(sign + digits, !number.untrusted()), style);
    }

    Result<void> character(const Value& value, const NumberStyle& style) {
        if (value.is_text() && count_chars(value.view()) == 1) return pad(value.text(), style);
        const bool valid = value.is_integral() && value.as_int() >= 0 &&
                           value.as_int() <= 0x10FFFF &&
                           (value.as_int() < 0xD800 || value.as_int() > 0xDFFF);
        if (!valid) return bad("%c requires int or char");
        std::string text;
        append_utf8(text, static_cast<char32_t>(value.as_int()));
        return pad(Text(text, !value.untrusted()), style);
    }

    Result<void> pad(const Text& text, NumberStyle style) {
        if (style.width > kWidthMax) return bad("a width is too large");
        if (style.align == '=') style.align = '>';
        if (style.align == '>') style.fill = " ";
        out_.append(padded(text, style, '>'));
        return {};
    }

    Interp& in_;
    const Text& format_;
    const std::string_view bytes_;
    const Value& args_;
    bool is_tuple_ = false;
    size_t used_ = 0;
    size_t pos_ = 0;
    Text out_;
};

}  // namespace

Result<Text> percent_format(Interp& interp, const Text& format, const Value& args) {
    return Percent(interp, format, args).run();
}

}  // namespace weir::jinja
