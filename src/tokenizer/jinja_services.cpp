// What Interp offers to filters, tests and methods: values made and taken apart, names looked up.

#include <algorithm>

#include "base/text.h"
#include "tokenizer/jinja_format.h"
#include "tokenizer/jinja_interp.h"

namespace weir::jinja {
namespace {

tl::unexpected<Error> too_deep() {
    return bad(concat("a value is nested deeper than ", kValueDepthMax, " levels"));
}

}  // namespace

Result<Value> Interp::text(Text text) {
    if (text.overflow()) return bad(concat("a text grows beyond ", kTextBytesMax, " bytes"));
    meter_.spend_bytes(text.size());
    return Value(std::make_shared<const HeldText>(std::move(text), &meter_));
}

Result<Value> Interp::list(std::vector<Value> items, List::Type type) {
    auto out = std::make_shared<List>();
    out->type = type;
    int depth = 0;
    for (const Value& item : items) {
        depth = std::max(depth, nesting_of(item));
        out->untrusted = out->untrusted || item.untrusted();
    }
    out->depth = depth + 1;
    if (out->depth > kValueDepthMax) return too_deep();
    meter_.spend(static_cast<int64_t>(items.size() / 4));
    out->held = std::make_unique<Held>(&meter_, sizeof(List) + items.size() * sizeof(Value));
    out->items = std::move(items);
    TRY_VOID(meter_.check());
    return Value(ListPtr(std::move(out)));
}

Result<Value> Interp::range(int64_t start, int64_t stop, int64_t step) {
    constexpr uint64_t kRangeMax = 100'000;  // jinja2's MAX_RANGE of the sandbox.
    uint64_t count = 0;
    if (step > 0 && start < stop) {
        const uint64_t span = static_cast<uint64_t>(stop) - static_cast<uint64_t>(start);
        count = (span - 1) / static_cast<uint64_t>(step) + 1;
    } else if (step < 0 && start > stop) {
        const uint64_t span = static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
        count = (span - 1) / (uint64_t{0} - static_cast<uint64_t>(step)) + 1;
    }
    if (count > kRangeMax) {
        return bad("Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).");
    }
    std::vector<Value> items;
    items.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
        items.push_back(Value::integer(Int{start} + Int{step} * static_cast<Int>(i)));
    }
    TRY(const Value value, list(std::move(items), List::Type::kRange));
    auto out = std::make_shared<List>();
    out->type = List::Type::kRange;
    out->items = value.list()->items;
    out->held = std::make_unique<Held>(&meter_, sizeof(List) + count * sizeof(Value));
    out->start = start;
    out->stop = stop;
    out->step = step;
    return Value(ListPtr(std::move(out)));
}

Result<Value> Interp::dict(std::vector<std::pair<Value, Value>> items, bool untrusted) {
    constexpr size_t kIndexFrom = 16;  // Below, walking is faster than hashing.
    auto out = std::make_shared<Dict>();
    out->untrusted = untrusted;
    int depth = 0;
    for (auto& [key, value] : items) {
        if (!hashable(key)) {
            return bad(concat("unhashable type: '", type_name(key), "'"));
        }
        depth = std::max({depth, nesting_of(key), nesting_of(value)});
        out->untrusted = out->untrusted || key.untrusted() || value.untrusted();
        if (const Value* old = out->find(key, meter_)) {
            const size_t at = static_cast<size_t>(
                std::find_if(out->items.begin(), out->items.end(),
                             [old](const auto& item) { return &item.second == old; }) -
                out->items.begin());
            out->items[at].second = std::move(value);
            continue;
        }
        out->items.emplace_back(std::move(key), std::move(value));
        if (out->items.size() == kIndexFrom) {
            for (size_t i = 0; i < kIndexFrom; ++i) {
                if (out->items[i].first.is_text()) out->index[out->items[i].first.view()] = i;
            }
        } else if (out->items.size() > kIndexFrom && out->items.back().first.is_text()) {
            out->index[out->items.back().first.view()] = out->items.size() - 1;
        }
    }
    out->depth = depth + 1;
    if (out->depth > kValueDepthMax) return too_deep();
    meter_.spend(static_cast<int64_t>(items.size()));
    out->held =
        std::make_unique<Held>(&meter_, sizeof(Dict) + out->items.size() * 3 * sizeof(Value));
    TRY_VOID(meter_.check());
    return Value(DictPtr(std::move(out)));
}

Result<Value> Interp::iterator(std::vector<Value> items, std::string name) {
    TRY(const Value value, list(std::move(items)));
    return Value(ObjectPtr(std::make_shared<Iterator>(std::move(name), value.list())));
}

Value Interp::undefined(std::string message) const {
    return Value(Undefined{std::make_shared<const std::string>(std::move(message))});
}

Result<ListPtr> Interp::iterate(const Value& value) {
    std::vector<Value> items;
    if (value.is_list()) return value.list();
    if (value.is_undefined()) {
        // Nothing to walk over.
    } else if (value.is_dict()) {
        for (const auto& [key, unused] : value.dict()->items) items.push_back(key);
    } else if (value.is_text()) {
        const std::string_view bytes = value.view();
        for (size_t pos = 0; pos < bytes.size();) {
            const size_t end = pos + char_bytes(bytes[pos]);
            TRY(Value character, text(value.text().slice(pos, end)));
            items.push_back(std::move(character));
            if (items.size() % 1024 == 0) {
                TRY_VOID(meter_.check());
            }
            pos = end;
        }
    } else if (value.is_object() && value.object()->type == Object::Type::kIterator) {
        auto& iterator_object = static_cast<Iterator&>(*value.object());
        const std::vector<Value>& all = iterator_object.items->items;
        items.assign(all.begin() + static_cast<ptrdiff_t>(iterator_object.pos), all.end());
        iterator_object.pos = all.size();
    } else {
        return bad(concat("'", type_name(value), "' object is not iterable"));
    }
    TRY(const Value out, list(std::move(items)));
    return out.list();
}

Result<int64_t> Interp::length(const Value& value) {
    switch (value.kind()) {
        case Value::Kind::kUndefined: return 0;
        case Value::Kind::kText: {
            meter_.spend_bytes(value.text().size());
            return static_cast<int64_t>(count_chars(value.view()));
        }
        case Value::Kind::kList: return static_cast<int64_t>(value.list()->items.size());
        case Value::Kind::kDict: return static_cast<int64_t>(value.dict()->items.size());
        default: break;
    }
    if (value.is_object() && value.object()->type == Object::Type::kLoop) {
        return static_cast<int64_t>(static_cast<const Loop&>(*value.object()).items->items.size());
    }
    return bad(concat("object of type '", type_name(value), "' has no len()"));
}

Result<Value> Interp::call(const Value& function, const Args& args) {
    if (function.is_undefined()) return bad(function.undefined_message());
    if (function.is_object()) {
        const ObjectPtr object = function.object();
        switch (object->type) {
            case Object::Type::kMacro: return call_macro(static_cast<const Macro&>(*object), args);
            case Object::Type::kMethod:
            case Object::Type::kFunction: {
                const auto& bound = static_cast<const Function&>(*object);
                return bound.builtin(*this, bound.self, args);
            }
            case Object::Type::kLoop: {
                if (args.positional.size() != 1) return bad("loop() takes 1 positional argument");
                return recurse(static_cast<const Loop&>(*object), args.positional[0]);
            }
            case Object::Type::kJoiner: {
                auto& joiner = static_cast<Joiner&>(*object);
                if (std::exchange(joiner.used, true)) return joiner.separator;
                return text("", true);
            }
            default: break;
        }
    }
    return bad(concat("'", type_name(function), "' object is not callable"));
}

Result<Value> Interp::filter(std::string_view name, const Value& value, const Args& args) {
    const Builtin function = find_filter(name);
    if (!function) return bad(concat("No filter named '", name, "' found."));
    // map("map", "map", ...) recurses here, by the length of its arguments.
    meter_.spend(static_cast<int64_t>(args.positional.size()));
    const Depth depth(depth_);
    TRY_VOID(check_depth());
    return function(*this, value, args);
}

Result<bool> Interp::test(std::string_view name, const Value& value, const Args& args) {
    const TestFunction function = find_test(name);
    if (!function) return bad(concat("No test named '", name, "' found."));
    return function(*this, value, args);
}

Result<Text> Interp::str(const Value& value) {
    Text out;
    append_str(out, value, meter_);
    TRY_VOID(meter_.check());
    if (out.overflow()) return bad(concat("a text grows beyond ", kTextBytesMax, " bytes"));
    return out;
}

Result<Value> Interp::path(const Value& value, const Value& path) {
    if (!path.is_text()) return item(value, path);
    Value current = value;
    for (const std::string_view part : split(path.view(), '.')) {
        const bool digits = !part.empty() && part.size() < 10 &&
                            part.find_first_not_of("0123456789") == std::string_view::npos;
        Value key = Value::integer(0);
        if (digits) {
            Int index = 0;
            for (const char c : part) index = index * 10 + (c - '0');
            key = Value::integer(index);
        } else {
            TRY(key, text(part, true));
        }
        TRY(current, item(current, key));
    }
    return current;
}

Result<Value> Interp::make_namespace(const Args& args) {
    constexpr size_t kNamespacesMax = 10'000;
    if (namespaces_.size() >= kNamespacesMax) {
        return bad(concat("more than ", kNamespacesMax, " namespaces"));
    }
    const auto ns = std::make_shared<Namespace>();
    namespaces_.push_back(ns);
    for (const Value& source : args.positional) {
        if (!source.is_dict()) return bad("namespace() takes names or mappings");
        for (const auto& [key, value] : source.dict()->items) {
            if (key.is_text()) ns->set(key.view(), value);
        }
    }
    for (const NamedValue& argument : args.named) ns->set(argument.name, argument.value);
    return Value(ObjectPtr(ns));
}

const Value* Namespace::find(std::string_view name) const {
    for (const auto& [other, value] : names) {
        if (other == name) return &value;
    }
    return nullptr;
}

void Namespace::set(std::string_view name, Value value) {
    for (auto& [other, old] : names) {
        if (other == name) {
            old = std::move(value);
            return;
        }
    }
    names.emplace_back(name, std::move(value));
}

}  // namespace weir::jinja
