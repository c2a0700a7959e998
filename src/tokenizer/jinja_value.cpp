#include "tokenizer/jinja_value.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"

namespace weir::jinja {

Result<void> Meter::check() const {
    if (steps_ > limits_.steps_max) {
        return bad(concat("rendering takes more than ", limits_.steps_max, " steps"));
    }
    if (live_bytes_ > limits_.live_bytes_max) {
        return bad(concat("rendering holds more than ", limits_.live_bytes_max >> 20, " MiB"));
    }
    return {};
}

bool Value::as_bool() const {
    CHECK(is_bool());
    return *std::get_if<bool>(&data_);
}
Int Value::as_int() const {
    if (is_bool()) return as_bool() ? 1 : 0;
    CHECK(is_int());
    return *std::get_if<Int>(&data_);
}
double Value::as_float() const {
    if (is_float()) return *std::get_if<double>(&data_);
    return static_cast<double>(as_int());
}
const Text& Value::text() const {
    CHECK(is_text());
    return (*std::get_if<TextPtr>(&data_))->text;
}
const ListPtr& Value::list() const {
    CHECK(is_list());
    return *std::get_if<ListPtr>(&data_);
}
const DictPtr& Value::dict() const {
    CHECK(is_dict());
    return *std::get_if<DictPtr>(&data_);
}
const ObjectPtr& Value::object() const {
    CHECK(is_object());
    return *std::get_if<ObjectPtr>(&data_);
}
const std::string& Value::undefined_message() const {
    CHECK(is_undefined());
    return *std::get_if<Undefined>(&data_)->message;
}

bool Value::untrusted() const {
    switch (kind()) {
        case Kind::kText: return !text().trusted();
        case Kind::kList: return list()->untrusted;
        case Kind::kDict: return dict()->untrusted;
        case Kind::kObject: {
            if (object()->type != Object::Type::kIterator) return false;
            return static_cast<const Iterator&>(*object()).items->untrusted;
        }
        default: return untrusted_;
    }
}

bool Value::truthy() const {
    switch (kind()) {
        case Kind::kUndefined:
        case Kind::kNone: return false;
        case Kind::kBool: return as_bool();
        case Kind::kInt: return as_int() != 0;
        case Kind::kFloat: return as_float() != 0;
        case Kind::kText: return !text().empty();
        case Kind::kList: return !list()->items.empty();
        case Kind::kDict: return !dict()->items.empty();
        case Kind::kObject: return true;
    }
    return false;
}

bool Value::same(const Value& other) const {
    if (kind() != other.kind()) return false;
    switch (kind()) {
        case Kind::kUndefined:
        case Kind::kNone: return true;
        case Kind::kBool: return as_bool() == other.as_bool();
        case Kind::kInt: return as_int() == other.as_int();
        case Kind::kFloat: return false;
        case Kind::kText: return &text() == &other.text();
        case Kind::kList: return list() == other.list();
        case Kind::kDict: return dict() == other.dict();
        case Kind::kObject: return object() == other.object();
    }
    return false;
}

const Value* Dict::find(std::string_view key) const {
    if (!index.empty()) {
        const auto found = index.find(key);
        return found == index.end() ? nullptr : &items[found->second].second;
    }
    for (const auto& [name, value] : items) {
        if (name.is_text() && name.view() == key) return &value;
    }
    return nullptr;
}

const Value* Dict::find(const Value& key, Meter& meter) const {
    if (key.is_text()) return find(key.view());
    meter.spend(static_cast<int64_t>(items.size() / 8));
    for (const auto& [name, value] : items) {
        if (!name.is_text() && equal(name, key, meter)) return &value;
    }
    return nullptr;
}

const Value* Args::find(std::string_view name) const {
    for (const NamedValue& argument : named) {
        if (argument.name == name) return &argument.value;
    }
    return nullptr;
}

namespace {

std::string list_type_name(List::Type type) {
    switch (type) {
        case List::Type::kList: return "list";
        case List::Type::kTuple: return "tuple";
        case List::Type::kRange: return "range";
        case List::Type::kKeys: return "dict_keys";
        case List::Type::kValues: return "dict_values";
        case List::Type::kItems: return "dict_items";
        case List::Type::kGroup: return "_GroupTuple";
    }
    return "list";
}

List::Type comparable_type(const List& list) {
    return list.type == List::Type::kGroup ? List::Type::kTuple : list.type;
}

}  // namespace

int nesting_of(const Value& value) {
    if (value.is_list()) return value.list()->depth;
    if (value.is_dict()) return value.dict()->depth;
    return value.is_object() ? value.object()->nesting : 0;
}

bool hashable(const Value& value) {
    if (value.is_dict()) return false;
    return !value.is_list() || value.list()->type == List::Type::kTuple ||
           value.list()->type == List::Type::kRange || value.list()->type == List::Type::kGroup;
}

std::string type_name(const Value& value) {
    switch (value.kind()) {
        case Value::Kind::kUndefined: return "Undefined";
        case Value::Kind::kNone: return "NoneType";
        case Value::Kind::kBool: return "bool";
        case Value::Kind::kInt: return "int";
        case Value::Kind::kFloat: return "float";
        case Value::Kind::kText: return "str";
        case Value::Kind::kList: return list_type_name(value.list()->type);
        case Value::Kind::kDict: return "dict";
        case Value::Kind::kObject: break;
    }
    switch (value.object()->type) {
        case Object::Type::kNamespace: return "Namespace";
        case Object::Type::kMacro: return "Macro";
        case Object::Type::kMethod: return "builtin_function_or_method";
        case Object::Type::kFunction: return "function";
        case Object::Type::kLoop: return "LoopContext";
        case Object::Type::kIterator: {
            return static_cast<const Iterator&>(*value.object()).type_name;
        }
        case Object::Type::kCycler: return "Cycler";
        case Object::Type::kJoiner: return "Joiner";
    }
    return "object";
}

std::string int_text(Int value) {
    if (value == 0) return "0";
    std::string digits;
    const bool negative = value < 0;
    while (value != 0) {  // Digit by digit with its sign: -value would overflow for the minimum.
        const int digit = static_cast<int>(value % 10);
        digits += static_cast<char>('0' + (digit < 0 ? -digit : digit));
        value /= 10;
    }
    if (negative) digits += '-';
    std::reverse(digits.begin(), digits.end());
    return digits;
}

bool equal(const Value& a, const Value& b, Meter& meter) {
    meter.spend(1);
    if (meter.exhausted()) return false;
    if (a.is_number() && b.is_number()) {
        if (a.is_integral() && b.is_integral()) return a.as_int() == b.as_int();
        return a.as_float() == b.as_float();
    }
    if (a.kind() != b.kind()) return false;
    if (a.same(b)) return true;
    switch (a.kind()) {
        case Value::Kind::kText: {
            meter.spend_bytes(a.text().size());
            return a.view() == b.view();
        }
        case Value::Kind::kList: {
            const List& left = *a.list();
            const List& right = *b.list();
            if (comparable_type(left) != comparable_type(right)) return false;
            if (left.type == List::Type::kValues) return false;
            if (left.items.size() != right.items.size()) return false;
            for (size_t i = 0; i < left.items.size(); ++i) {
                if (!equal(left.items[i], right.items[i], meter)) return false;
            }
            return true;
        }
        case Value::Kind::kDict: {
            const Dict& left = *a.dict();
            const Dict& right = *b.dict();
            if (left.items.size() != right.items.size()) return false;
            for (const auto& [key, value] : left.items) {
                const Value* other = right.find(key, meter);
                if (!other || !equal(value, *other, meter)) return false;
            }
            return true;
        }
        default: return false;
    }
}

Result<bool> less(const Value& a, const Value& b, std::string_view op, Meter& meter) {
    meter.spend(1);
    TRY_VOID(meter.check());
    if (a.is_undefined()) return bad(a.undefined_message());
    if (b.is_undefined()) return bad(b.undefined_message());
    if (a.is_number() && b.is_number()) {
        if (a.is_integral() && b.is_integral()) return a.as_int() < b.as_int();
        return a.as_float() < b.as_float();
    }
    if (a.is_text() && b.is_text()) {
        meter.spend_bytes(std::min(a.text().size(), b.text().size()));
        return a.view() < b.view();  // UTF-8 sorts as code points do.
    }
    if (a.is_list() && b.is_list() && a.list()->is_sequence() &&
        a.list()->type != List::Type::kRange &&
        comparable_type(*a.list()) == comparable_type(*b.list())) {
        const std::vector<Value>& left = a.list()->items;
        const std::vector<Value>& right = b.list()->items;
        const size_t both = std::min(left.size(), right.size());
        for (size_t i = 0; i < both; ++i) {
            if (!equal(left[i], right[i], meter)) return less(left[i], right[i], op, meter);
        }
        return left.size() < right.size();
    }
    return bad(concat("'", op, "' not supported between instances of '", type_name(a), "' and '",
                      type_name(b), "'"));
}

}  // namespace weir::jinja
