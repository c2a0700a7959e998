#include "tokenizer/jinja_format.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "tokenizer/jinja_unicode.h"

namespace weir::jinja {
namespace {

constexpr char kHex[] = "0123456789abcdef";

void append_hex(std::string& out, char32_t c, int digits) {
    for (int i = digits - 1; i >= 0; --i) out += kHex[(c >> (4 * i)) & 15];
}

std::string object_repr(const Value& value) {
    const Object& object = *value.object();
    switch (object.type) {
        case Object::Type::kMacro: {
            return concat("<Macro '", static_cast<const Macro&>(object).stmt.text, "'>");
        }
        case Object::Type::kLoop: {
            const auto& loop = static_cast<const Loop&>(object);
            return concat("<LoopContext ", loop.index + 1, "/", loop.items->items.size(), ">");
        }
        case Object::Type::kMethod: {
            const auto& method = static_cast<const Function&>(object);
            return concat("<built-in method ", method.name, " of ", type_name(method.self),
                          " object>");
        }
        case Object::Type::kFunction: {
            return concat("<function ", static_cast<const Function&>(object).name, ">");
        }
        default: return concat("<", type_name(value), " object>");
    }
}

void append_list_repr(Text& out, const List& list, Meter& meter) {
    const bool trusted = !list.untrusted;
    std::string_view open = "[";
    std::string_view close = "]";
    switch (list.type) {
        case List::Type::kTuple:
        case List::Type::kGroup:
            open = "(";
            close = list.items.size() == 1 ? ",)" : ")";
            break;
        case List::Type::kRange: {
            std::string text = concat("range(", list.start, ", ", list.stop);
            if (list.step != 1) text += concat(", ", list.step);
            out.append(text + ")", true);
            return;
        }
        case List::Type::kKeys: open = "dict_keys(["; break;
        case List::Type::kValues: open = "dict_values(["; break;
        case List::Type::kItems: open = "dict_items(["; break;
        case List::Type::kList: break;
    }
    if (open.size() > 1) close = "])";
    out.append(open, trusted);
    for (size_t i = 0; i < list.items.size(); ++i) {
        if (i > 0) out.append(", ", trusted);
        append_repr(out, list.items[i], meter);
        if (out.overflow() || meter.exhausted()) return;
    }
    out.append(close, trusted);
}

void append_dict_repr(Text& out, const Dict& dict, Meter& meter) {
    const bool trusted = !dict.untrusted;
    out.append("{", trusted);
    for (size_t i = 0; i < dict.items.size(); ++i) {
        if (i > 0) out.append(", ", trusted);
        append_repr(out, dict.items[i].first, meter);
        out.append(": ", trusted);
        append_repr(out, dict.items[i].second, meter);
        if (out.overflow() || meter.exhausted()) return;
    }
    out.append("}", trusted);
}

}  // namespace

std::string float_text(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    std::array<char, 40> buffer;
    const auto to_text = [&](std::chars_format format) {
        const auto end =
            std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format).ptr;
        return std::string(buffer.data(), end);
    };
    // Python writes exponents below 1e-4 and from 1e16 on.
    const double size = std::fabs(value);
    if (size != 0 && (size < 1e-4 || size >= 1e16)) return to_text(std::chars_format::scientific);
    std::string text = to_text(std::chars_format::fixed);
    if (text.find('.') == std::string::npos) text += ".0";
    return text;
}

std::string text_repr(std::string_view text, bool ascii_only) {
    const bool single = text.find('\'') != std::string_view::npos;
    const char quote = single && text.find('"') == std::string_view::npos ? '"' : '\'';
    std::string out(1, quote);
    for (size_t pos = 0; pos < text.size();) {
        const size_t begin = pos;
        const char32_t c = next_char(text, pos);
        if (c == static_cast<unsigned char>(quote) || c == '\\') {
            out += '\\';
            out += static_cast<char>(c);
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\r') {
            out += "\\r";
        } else if (c == '\t') {
            out += "\\t";
        } else if (is_printable(c) && (c < 0x80 || !ascii_only)) {
            out += text.substr(begin, pos - begin);
        } else if (c < 0x100) {
            out += "\\x";
            append_hex(out, c, 2);
        } else if (c < 0x10000) {
            out += "\\u";
            append_hex(out, c, 4);
        } else {
            out += "\\U";
            append_hex(out, c, 8);
        }
    }
    out += quote;
    return out;
}

void append_str(Text& out, const Value& value, Meter& meter) {
    if (value.is_text()) {
        out.append(value.text());
    } else if (!value.is_undefined()) {
        append_repr(out, value, meter);
    }
}

void append_repr(Text& out, const Value& value, Meter& meter) {
    const bool trusted = !value.untrusted();
    meter.spend(1);
    switch (value.kind()) {
        case Value::Kind::kUndefined: out.append("Undefined", true); break;
        case Value::Kind::kNone: out.append("None", true); break;
        case Value::Kind::kBool: out.append(value.as_bool() ? "True" : "False", trusted); break;
        case Value::Kind::kInt: out.append(int_text(value.as_int()), trusted); break;
        case Value::Kind::kFloat: out.append(float_text(value.as_float()), trusted); break;
        case Value::Kind::kText: {
            meter.spend_bytes(value.text().size());
            out.append(text_repr(value.view()), trusted);
            break;
        }
        case Value::Kind::kList: append_list_repr(out, *value.list(), meter); break;
        case Value::Kind::kDict: append_dict_repr(out, *value.dict(), meter); break;
        case Value::Kind::kObject: {
            if (value.object()->type != Object::Type::kNamespace) {
                out.append(object_repr(value), true);
                break;
            }
            // Its members may name it again: their kinds suffice.
            out.append("<Namespace {", true);
            const auto& names = static_cast<const Namespace&>(*value.object()).names;
            for (size_t i = 0; i < names.size(); ++i) {
                out.append(concat(i > 0 ? ", " : "", "'", names[i].first, "': "), true);
                const bool plain = !names[i].second.is_object();
                if (plain) append_repr(out, names[i].second, meter);
                if (!plain) out.append("...", true);
            }
            out.append("}>", true);
        }
    }
}

}  // namespace weir::jinja
