// Interp's access to parts of values: attributes, items, slices; and the binding of arguments.

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "tokenizer/jinja_format.h"
#include "tokenizer/jinja_interp.h"

namespace weir::jinja {
namespace {

/// How jinja2 names an object in "... has no attribute".
std::string object_words(const Value& value) {
    if (value.is_none()) return "None";
    if (!value.is_object()) return type_name(value) + " object";
    switch (value.object()->type) {
        case Object::Type::kNamespace:
        case Object::Type::kCycler:
        case Object::Type::kJoiner: return concat("jinja2.utils.", type_name(value), " object");
        case Object::Type::kLoop:
        case Object::Type::kMacro: return concat("jinja2.runtime.", type_name(value), " object");
        default: return type_name(value) + " object";
    }
}

/// Methods that would change a value, which the immutable sandbox hides.
bool changes(const Value& value, std::string_view name) {
    constexpr std::string_view kList[] = {"append", "clear",  "extend",  "insert",
                                          "pop",    "remove", "reverse", "sort"};
    constexpr std::string_view kDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
    const auto in = [name](const auto& names) {
        return std::find(std::begin(names), std::end(names), name) != std::end(names);
    };
    if (value.is_list()) return value.list()->type == List::Type::kList && in(kList);
    return value.is_dict() && in(kDict);
}

/// Start, stop and step of a slice over `length` items, as Python clamps them.
struct SliceRange {
    int64_t start, stop, step, count;
};

Result<int64_t> slice_bound(const Value& value, int64_t otherwise) {
    if (value.is_none()) return otherwise;
    if (!value.is_integral()) {
        return bad("slice indices must be integers or None or have an __index__ method");
    }
    const Int limit = INT64_MAX / 4;
    return static_cast<int64_t>(std::clamp(value.as_int(), -limit, limit));
}

Result<SliceRange> slice_range(const Value& start, const Value& stop, const Value& step,
                               int64_t length) {
    SliceRange out{};
    TRY(out.step, slice_bound(step, 1));
    if (out.step == 0) return bad("slice step cannot be zero");
    const bool back = out.step < 0;
    const int64_t lowest = back ? -1 : 0;
    const int64_t highest = back ? length - 1 : length;
    const auto clamp = [&](int64_t index) {
        return std::clamp(index < 0 ? index + length : index, lowest, highest);
    };
    TRY(out.start, slice_bound(start, INT64_MAX));
    out.start = out.start == INT64_MAX ? (back ? highest : lowest) : clamp(out.start);
    TRY(out.stop, slice_bound(stop, INT64_MAX));
    out.stop = out.stop == INT64_MAX ? (back ? lowest : highest) : clamp(out.stop);
    if (back) {
        out.count = out.start > out.stop ? (out.start - out.stop - 1) / -out.step + 1 : 0;
    } else {
        out.count = out.stop > out.start ? (out.stop - out.start - 1) / out.step + 1 : 0;
    }
    return out;
}

Text slice_text(const Text& text, const SliceRange& range) {
    const std::string_view bytes = text.view();
    const auto at = [&](int64_t index) { return char_offset(bytes, static_cast<size_t>(index)); };
    if (range.count == 0) return {};
    if (range.step == 1) return text.slice(at(range.start), at(range.stop));
    Text out;
    size_t pos = at(range.start);
    for (int64_t i = 0; i < range.count; ++i) {
        out.append(text, pos, pos + char_bytes(bytes[pos]));
        if (i + 1 == range.count) break;
        for (int64_t k = 0; k < range.step; ++k) pos += char_bytes(bytes[pos]);
        for (int64_t k = 0; k > range.step; --k) pos = prev_char(bytes, pos);
    }
    return out;
}

}  // namespace

Value Interp::method(Value self, std::string_view name) {
    const Builtin builtin = find_method(self, name);
    CHECK(builtin);
    return Value(ObjectPtr(std::make_shared<Function>(Object::Type::kMethod, std::move(self),
                                                      std::string(name), builtin)));
}

Result<Value> Interp::attribute(const Value& value, std::string_view name) {
    if (value.is_undefined()) return bad(value.undefined_message());
    if (find_method(value, name)) return method(value, name);
    if (changes(value, name)) {
        return undefined(concat("access to attribute '", name, "' of '", type_name(value),
                                "' object is unsafe."));
    }
    TRY(std::optional<Value> found, find_attribute(*this, value, name));
    if (found) return std::move(*found);
    if (value.is_dict()) {
        if (const Value* member = value.dict()->find(name)) return *member;
    }
    return undefined(concat("'", object_words(value), "' has no attribute '", name, "'"));
}

Result<Value> Interp::item(const Value& value, const Value& key) {
    if (value.is_undefined()) return bad(value.undefined_message());
    if (value.is_dict()) {
        if (const Value* found = value.dict()->find(key, meter_)) return *found;
    }
    if (key.is_integral() &&
        (value.is_text() || (value.is_list() && value.list()->is_sequence()))) {
        TRY(const int64_t size, length(value));
        Int index = key.as_int();
        if (index < 0) index += size;
        if (index >= 0 && index < size) {
            const auto at = static_cast<size_t>(index);
            if (value.is_list()) return value.list()->items[at];
            const size_t begin = char_offset(value.view(), at);
            return text(value.text().slice(begin, begin + char_bytes(value.view()[begin])));
        }
    }
    if (key.is_text()) {
        if (value.is_dict()) {  // The key is missing; a method of that name is left.
            if (find_method(value, key.view())) return method(value, key.view());
        } else {
            return attribute(value, key.view());
        }
        return undefined(concat("'", object_words(value), "' has no attribute '", key.view(), "'"));
    }
    Text repr;
    append_repr(repr, key, meter_);
    return undefined(concat(object_words(value), " has no element ", shorten(repr.view(), 200)));
}

Result<Value> Interp::slice(const Value& value, const Value& start, const Value& stop,
                            const Value& step) {
    if (value.is_undefined()) return bad(value.undefined_message());
    const bool sequence = value.is_list() && value.list()->is_sequence();
    if (!value.is_text() && !sequence) {
        if (value.is_dict()) return bad("unhashable type: 'slice'");
        return bad(concat("'", type_name(value), "' object is not subscriptable"));
    }
    TRY(const int64_t size, length(value));
    TRY(const SliceRange range_of, slice_range(start, stop, step, size));
    if (value.is_text()) {
        meter_.spend_bytes(value.text().size());
        return text(slice_text(value.text(), range_of));
    }
    const List& source = *value.list();
    if (source.type == List::Type::kRange) {
        const int64_t first = source.start + range_of.start * source.step;
        return range(first, source.start + range_of.stop * source.step,
                     source.step * range_of.step);
    }
    std::vector<Value> items;
    items.reserve(static_cast<size_t>(range_of.count));
    for (int64_t i = 0; i < range_of.count; ++i) {
        items.push_back(source.items[static_cast<size_t>(range_of.start + i * range_of.step)]);
    }
    return list(std::move(items),
                source.type == List::Type::kList ? List::Type::kList : List::Type::kTuple);
}

Result<int64_t> to_index(const Value& value) {
    if (value.is_undefined()) return bad(value.undefined_message());
    if (!value.is_integral()) {
        return bad(concat("'", type_name(value), "' object cannot be interpreted as an integer"));
    }
    if (value.as_int() > INT64_MAX / 4 || value.as_int() < INT64_MIN / 4) {
        return bad(concat("the integer ", int_text(value.as_int()), " is too large"));
    }
    return static_cast<int64_t>(value.as_int());
}

Result<int64_t> Bound::number(size_t i, int64_t otherwise) const {
    return has(i) ? to_index(*values_[i]) : Result<int64_t>(otherwise);
}

Result<Text> Bound::text(size_t i, std::string_view otherwise) const {
    if (!has(i)) return Text(otherwise, true);
    if (values_[i]->is_undefined()) return bad(values_[i]->undefined_message());
    if (values_[i]->is_text()) return values_[i]->text();
    return bad(concat("must be str, not ", type_name(*values_[i])));
}

Result<Bound> bind_args(std::string_view function, std::string_view params, const Args& args) {
    Bound out;
    std::vector<std::string_view> names;
    if (!params.empty()) names = split(params, ' ');
    CHECK(names.size() <= std::size(out.values_));
    if (args.positional.size() > names.size()) {
        return bad(concat(function, "() takes at most ", names.size(), " arguments (",
                          args.positional.size(), " given)"));
    }
    for (size_t i = 0; i < args.positional.size(); ++i) out.values_[i] = &args.positional[i];
    size_t num_named = 0;
    for (size_t i = 0; i < names.size(); ++i) {
        const bool optional = names[i].ends_with('?');
        if (optional) names[i].remove_suffix(1);
        if (const Value* given = args.find(names[i])) {
            if (out.values_[i]) {
                return bad(
                    concat(function, "() got multiple values for argument '", names[i], "'"));
            }
            out.values_[i] = given;
            ++num_named;
        }
        if (!out.values_[i] && !optional) {
            return bad(concat(function, "() missing required argument '", names[i], "'"));
        }
    }
    if (num_named == args.named.size()) return out;
    for (const NamedValue& argument : args.named) {
        if (std::find(names.begin(), names.end(), argument.name) == names.end()) {
            return bad(
                concat(function, "() got an unexpected keyword argument '", argument.name, "'"));
        }
    }
    return out;
}

}  // namespace weir::jinja
