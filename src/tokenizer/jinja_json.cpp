// tojson: json.dumps as transformers calls it.

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "tokenizer/jinja_format.h"

namespace weir::jinja {
namespace {

class JsonWriter {
 public:
    JsonWriter(const JsonStyle& style, Meter& meter, bool trusted)
        : style_(style), meter_(meter), trusted_(trusted) {}

    Result<void> write(const Value& value, int level) {
        meter_.spend(1);
        TRY_VOID(meter_.check());
        if (out_.overflow()) return bad(concat("a text grows beyond ", kTextBytesMax, " bytes"));
        if (value.is_list() && value.list()->type != List::Type::kRange &&
            value.list()->is_sequence()) {
            return write_list(value.list()->items, level);
        }
        if (value.is_dict()) return write_dict(*value.dict(), level);
        if (value.is_text()) {
            put(string(value.view()));
        } else if (value.is_none()) {
            put("null");
        } else if (value.is_number()) {
            put(number(value));
        } else {
            return bad(concat("Object of type ", type_name(value), " is not JSON serializable"));
        }
        return {};
    }

    Text take() { return std::move(out_); }

 private:
    void put(std::string_view text) { out_.append(text, trusted_); }

    static std::string number(const Value& value) {
        if (value.is_bool()) return value.as_bool() ? "true" : "false";
        if (value.is_int()) return int_text(value.as_int());
        const double real = value.as_float();
        if (std::isnan(real)) return "NaN";
        if (std::isinf(real)) return real < 0 ? "-Infinity" : "Infinity";
        return float_text(real);
    }

    std::string string(std::string_view text) {
        meter_.spend_bytes(text.size());
        std::string quoted;
        append_json_string(quoted, text);
        if (!style_.ensure_ascii) return quoted;
        std::string out;
        for (size_t pos = 0; pos < quoted.size();) {
            const char32_t c = next_char(quoted, pos);
            if (c < 0x7F) {
                out += static_cast<char>(c);
            } else if (c < 0x10000) {
                append_unit(out, c);
            } else {
                append_unit(out, 0xD800 + ((c - 0x10000) >> 10));
                append_unit(out, 0xDC00 + ((c - 0x10000) & 0x3FF));
            }
        }
        return out;
    }

    static void append_unit(std::string& out, char32_t unit) {
        out += "\\u";
        for (int shift = 12; shift >= 0; shift -= 4)
            out += "0123456789abcdef"[(unit >> shift) & 15];
    }

    void new_line(int level) {
        if (!style_.has_indent) return;
        put("\n");
        for (int i = 0; i < level && !out_.overflow(); ++i) put(style_.indent);
    }

    Result<void> write_list(const std::vector<Value>& items, int level) {
        if (items.empty()) {
            put("[]");
            return {};
        }
        put("[");
        for (size_t i = 0; i < items.size(); ++i) {
            if (i > 0) put(style_.item_separator);
            new_line(level + 1);
            TRY_VOID(write(items[i], level + 1));
        }
        new_line(level);
        put("]");
        return {};
    }

    Result<void> write_dict(const Dict& dict, int level) {
        std::vector<const std::pair<Value, Value>*> items;
        for (const auto& item : dict.items) items.push_back(&item);
        if (style_.sort_keys) {
            TRY_VOID(sort(items));
        }
        if (items.empty()) {
            put("{}");
            return {};
        }
        put("{");
        for (size_t i = 0; i < items.size(); ++i) {
            if (i > 0) put(style_.item_separator);
            new_line(level + 1);
            TRY_VOID(write_key(items[i]->first));
            put(style_.key_separator);
            TRY_VOID(write(items[i]->second, level + 1));
        }
        new_line(level);
        put("}");
        return {};
    }

    Result<void> write_key(const Value& key) {
        if (key.is_text()) {
            put(string(key.view()));
        } else if (key.is_none()) {
            put("\"null\"");
        } else if (key.is_number()) {
            put(concat("\"", number(key), "\""));
        } else {
            return bad(concat("keys must be str, int, float, bool or None, not ", type_name(key)));
        }
        return {};
    }

    Result<void> sort(std::vector<const std::pair<Value, Value>*>& items) {
        Result<void> status;
        std::stable_sort(items.begin(), items.end(), [&](const auto* a, const auto* b) {
            if (!status) return false;
            Result<bool> before = less(a->first, b->first, "<", meter_);
            if (!before) status = tl::unexpected(std::move(before.error()));
            return before && *before;
        });
        return status;
    }

    const JsonStyle& style_;
    Meter& meter_;
    const bool trusted_;
    Text out_;
};

}  // namespace

Result<Text> to_json(const Value& value, const JsonStyle& style, Meter& meter) {
    JsonWriter writer(style, meter, !value.untrusted());
    TRY_VOID(writer.write(value, 0));
    Text out = writer.take();
    if (out.overflow()) return bad(concat("a text grows beyond ", kTextBytesMax, " bytes"));
    return out;
}

}  // namespace weir::jinja
