// "...".format(values), as Python formats.

#include <algorithm>

#include "base/text.h"
#include "tokenizer/jinja_format.h"

namespace weir::jinja {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }
bool all_digits(std::string_view text) {
    return !text.empty() && text.size() < 7 && std::all_of(text.begin(), text.end(), is_digit);
}

Result<int64_t> read_number(std::string_view spec, size_t& pos) {
    int64_t value = 0;
    for (; pos < spec.size() && is_digit(spec[pos]); ++pos) {
        value = value * 10 + (spec[pos] - '0');
        if (value > kWidthMax) return bad("Too many decimal digits in format string");
    }
    return value;
}

/// [[fill]align][sign][#][0][width][grouping][.precision][type]
Result<NumberStyle> parse_spec(std::string_view spec) {
    NumberStyle style;
    size_t pos = 0;
    const auto at = [&](size_t i) { return i < spec.size() ? spec[i] : '\0'; };
    const size_t fill = spec.empty() ? 0 : char_bytes(spec[0]);
    if (fill > 0 && is_align(at(fill))) {
        style.fill = spec.substr(0, fill);
        style.align = spec[fill];
        pos = fill + 1;
    } else if (is_align(at(0))) {
        style.align = at(0);
        pos = 1;
    }
    if (at(pos) == '+' || at(pos) == '-' || at(pos) == ' ') style.sign = at(pos++);
    if (at(pos) == '#') {
        style.alternate = true;
        ++pos;
    }
    if (at(pos) == '0') {
        if (!style.align) {
            style.fill = "0";
            style.align = '=';
        }
        ++pos;
    }
    TRY(style.width, read_number(spec, pos));
    if (at(pos) == ',' || at(pos) == '_') style.grouping = at(pos++);
    if (at(pos) == '.') {
        ++pos;
        if (!is_digit(at(pos))) return bad("Format specifier missing precision");
        TRY(style.precision, read_number(spec, pos));
    }
    if (pos < spec.size()) style.type = at(pos++);
    if (pos < spec.size()) return bad("Invalid format specifier");
    return style;
}

class Brace {
 public:
    Brace(Interp& in, const Text& format, const Args& args)
        : in_(in), format_(format), bytes_(format.view()), args_(args) {}

    Result<Text> run() {
        for (size_t pos = 0; pos < bytes_.size() && !out_.overflow();) {
            const char c = bytes_[pos];
            if (c != '{' && c != '}') {
                const size_t end = std::min(bytes_.find_first_of("{}", pos), bytes_.size());
                out_.append(format_, pos, end);
                pos = end;
            } else if (pos + 1 < bytes_.size() && bytes_[pos + 1] == c) {
                out_.append(format_, pos, pos + 1);
                pos += 2;
            } else if (c == '}') {
                return bad("Single '}' encountered in format string");
            } else {
                TRY(const size_t end, field_end(pos));
                TRY_VOID(field(bytes_.substr(pos + 1, end - pos - 1)));
                pos = end + 1;
            }
        }
        return std::move(out_);
    }

 private:
    Result<size_t> field_end(size_t pos) const {
        int depth = 0;
        for (; pos < bytes_.size(); ++pos) {
            if (bytes_[pos] == '{') ++depth;
            if (bytes_[pos] == '}' && --depth == 0) return pos;
        }
        return bad(depth == 1 ? "expected '}' before end of string"
                              : "Single '{' encountered in format string");
    }

    Result<void> field(std::string_view field_text) {
        const size_t colon = std::min(field_text.find(':'), field_text.size());
        std::string_view name = field_text.substr(0, colon);
        char conversion = '\0';
        if (name.size() >= 2 && name[name.size() - 2] == '!') {
            conversion = name.back();
            name.remove_suffix(2);
        }
        TRY(const Value value, find(name));
        std::string spec(field_text.substr(std::min(colon + 1, field_text.size())));
        // {:{width}}: one level of fields inside of the specification.
        for (size_t open = spec.find('{'); open != std::string::npos; open = spec.find('{', open)) {
            const size_t close = spec.find('}', open);
            if (close == std::string::npos) return bad("expected '}' before end of string");
            TRY(const Value inner, find(std::string_view(spec).substr(open + 1, close - open - 1)));
            TRY(const Text text, in_.str(inner));
            spec.replace(open, close - open + 1, text.view());
            open += text.size();
        }
        return put(value, conversion, spec);
    }

    Result<Value> find(std::string_view name) {
        size_t end = std::min(name.find_first_of(".["), name.size());
        const std::string_view first = name.substr(0, end);
        Value value;
        if (first.empty() || all_digits(first)) {
            const bool automatic = first.empty();
            if (automatic ? manual_ : next_ > 0) {
                return bad(automatic ? "cannot switch from manual field specification to "
                                       "automatic field numbering"
                                     : "cannot switch from automatic field numbering to manual "
                                       "field specification");
            }
            size_t index = next_;
            if (automatic) ++next_;
            if (!automatic) {
                manual_ = true;
                index = 0;
                for (const char c : first) index = index * 10 + static_cast<size_t>(c - '0');
            }
            if (index >= args_.positional.size()) {
                return bad(
                    concat("Replacement index ", index, " out of range for positional args tuple"));
            }
            value = args_.positional[index];
        } else {
            const Value* found = args_.find(first);
            if (!found) return bad(text_repr(first));
            value = *found;
        }
        while (end < name.size()) {
            const bool is_item = name[end] == '[';
            const size_t begin = end + 1;
            end = std::min(name.find_first_of(is_item ? "]" : ".[", begin), name.size());
            const std::string_view part = name.substr(begin, end - begin);
            if (is_item && end == name.size()) return bad("Missing ']' in format string");
            if (is_item) ++end;
            if (!is_item) {
                TRY(value, in_.attribute(value, part));
            } else {
                Value key;
                if (all_digits(part)) {
                    Int index = 0;
                    for (const char c : part) index = index * 10 + (c - '0');
                    key = Value::integer(index);
                } else {
                    TRY(key, in_.text(part, true));
                }
                TRY(value, in_.item(value, key));
            }
        }
        return value;
    }

    Result<void> put(const Value& value, char conversion, const std::string& spec) {
        TRY(const NumberStyle style, parse_spec(spec));
        Text text;
        if (conversion == '\0' && value.is_number() && !(value.is_bool() && spec.empty())) {
            const bool known =
                std::string_view("\0bcdeEfFgGnoxX%", 15).find(style.type) != std::string_view::npos;
            if (!known || (value.is_float() &&
                           std::string_view("bcdoxX").find(style.type) != std::string_view::npos)) {
                return bad(concat("Unknown format code '", style.type, "' for object of type '",
                                  type_name(value), "'"));
            }
            if (style.type == 'c') return bad("the format code 'c' is not supported");
            TRY(const std::string number, number_text(value, style));
            out_.append(padded(Text(number, !value.untrusted()), style, '>'));
            return {};
        }
        if (conversion == '\0' && !value.is_text() && !value.is_bool() && !spec.empty()) {
            return bad(
                concat("unsupported format string passed to ", type_name(value), ".__format__"));
        }
        if (conversion == 'r' || conversion == 'a') {
            append_repr(text, value, in_.meter());
        } else if (conversion == '\0' || conversion == 's') {
            append_str(text, value, in_.meter());
        } else {
            return bad(concat("Unknown conversion specifier '", conversion, "'"));
        }
        if (style.type != '\0' && style.type != 's') {
            return bad(concat("Unknown format code '", style.type, "' for object of type 'str'"));
        }
        if (style.align == '=' && style.fill != "0") {
            return bad("'=' alignment not allowed in string format specifier");
        }
        if (style.precision >= 0) {
            text = text.slice(0, char_offset(text.view(), static_cast<size_t>(style.precision)));
        }
        NumberStyle plain = style;
        if (plain.align == '=') plain.align = '<';
        out_.append(padded(text, plain, '<'));
        return {};
    }

    Interp& in_;
    const Text& format_;
    const std::string_view bytes_;
    const Args& args_;
    size_t next_ = 0;      // Of fields without a number.
    bool manual_ = false;  // There was one with a number: they do not mix.
    Text out_;
};

}  // namespace

Result<Text> brace_format(Interp& interp, const Text& format, const Args& args) {
    return Brace(interp, format, args).run();
}

}  // namespace weir::jinja
