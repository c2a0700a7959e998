// The global functions, and the attributes of the interpreter's own objects.

#include "base/text.h"
#include "tokenizer/jinja_interp.h"
#include "tokenizer/strftime.h"

namespace weir::jinja {
namespace {

using V = Value;
using R = Result<Value>;

R raise_exception(Interp& in, const V&, const Args& args) {
    TRY(const Bound bound, bind_args("raise_exception", "message", args));
    TRY(const Text text, in.str(*bound[0]));
    constexpr size_t kMessageBytesMax = 4096;
    return in.raise(shorten(text.view(), kMessageBytesMax));
}

R strftime_now(Interp& in, const V&, const Args& args) {
    TRY(const Bound bound, bind_args("strftime_now", "format", args));
    TRY(const Text format, bound.text(0, ""));
    const Now& now = in.clock();
    if (format.view() == "%d %b %Y" && !now.date.empty()) return in.text(now.date, true);
    return in.text(strftime_utc(format.view(), now.unix_s), format.trusted());
}

R range(Interp& in, const V&, const Args& args) {
    TRY(const Bound bound, bind_args("range", "start stop? step?", args));
    TRY(const int64_t first, to_index(*bound[0]));
    TRY(const int64_t step, bound.number(2, 1));
    if (step == 0) return bad("range() arg 3 must not be zero");
    if (!bound[1]) return in.range(0, first, step);
    TRY(const int64_t stop, to_index(*bound[1]));
    return in.range(first, stop, step);
}

R make_namespace(Interp& in, const V&, const Args& args) { return in.make_namespace(args); }

R make_dict(Interp& in, const V&, const Args& args) {
    if (args.positional.size() > 1) {
        return bad(concat("dict expected at most 1 argument, got ", args.positional.size()));
    }
    std::vector<std::pair<V, V>> items;
    if (!args.positional.empty()) {
        const V& source = args.positional[0];
        if (source.is_dict()) {
            items = source.dict()->items;
        } else {
            TRY(const ListPtr pairs, in.iterate(source));
            for (const V& pair : pairs->items) {
                TRY(const ListPtr both, in.iterate(pair));
                if (both->items.size() != 2) {
                    return bad(concat("dictionary update sequence element has length ",
                                      both->items.size(), "; 2 is required"));
                }
                items.emplace_back(both->items[0], both->items[1]);
            }
        }
    }
    for (const NamedValue& argument : args.named) {
        TRY(V key, in.text(argument.name, true));
        items.emplace_back(std::move(key), argument.value);
    }
    return in.dict(std::move(items));
}

R cycler(Interp& in, const V&, const Args& args) {
    if (args.positional.empty()) return bad("at least one item has to be provided");
    const auto out = std::make_shared<Cycler>();
    TRY(const V items, in.list(args.positional));  // Its bounds are the cycler's.
    out->nesting = items.list()->depth;
    out->items = args.positional;
    return V(ObjectPtr(out));
}

R joiner(Interp& in, const V&, const Args& args) {
    TRY(const Bound bound, bind_args("joiner", "sep?", args));
    const auto out = std::make_shared<Joiner>();
    if (bound[0]) {
        out->separator = *bound[0];
    } else {
        TRY(out->separator, in.text(", ", true));
    }
    TRY(const V held, in.list({out->separator}));
    out->nesting = held.list()->depth;
    return V(ObjectPtr(out));
}

R lipsum(Interp&, const V&, const Args&) { return bad("lipsum() is not supported"); }

R cycler_next(Interp&, const V& self, const Args&) {
    auto& cycle = static_cast<Cycler&>(*self.object());
    V out = cycle.items[cycle.pos];
    cycle.pos = (cycle.pos + 1) % cycle.items.size();
    return out;
}

R cycler_reset(Interp&, const V& self, const Args&) {
    static_cast<Cycler&>(*self.object()).pos = 0;
    return V();
}

R loop_cycle(Interp&, const V& self, const Args& args) {
    if (args.positional.empty()) return bad("no items for cycling given");
    const auto& loop = static_cast<const Loop&>(*self.object());
    return args.positional[loop.index % args.positional.size()];
}

R loop_changed(Interp& in, const V& self, const Args& args) {
    auto& loop = static_cast<Loop&>(*self.object());
    bool changed = !loop.changed_called || loop.last_changed.size() != args.positional.size();
    for (size_t i = 0; i < args.positional.size() && !changed; ++i) {
        changed = !equal(loop.last_changed[i], args.positional[i], in.meter());
    }
    loop.changed_called = true;
    loop.last_changed = args.positional;
    return V::boolean(changed);
}

std::optional<V> bound_function(const V& self, std::string_view name, Builtin function) {
    return V(ObjectPtr(
        std::make_shared<Function>(Object::Type::kMethod, self, std::string(name), function)));
}

Result<std::optional<V>> loop_attribute(Interp& in, const V& self, std::string_view name) {
    const auto& loop = static_cast<const Loop&>(*self.object());
    const auto length = static_cast<Int>(loop.items->items.size());
    const auto index = static_cast<Int>(loop.index);
    if (name == "index") return V::integer(index + 1);
    if (name == "index0") return V::integer(index);
    if (name == "revindex") return V::integer(length - index);
    if (name == "revindex0") return V::integer(length - index - 1);
    if (name == "first") return V::boolean(index == 0);
    if (name == "last") return V::boolean(index + 1 == length);
    if (name == "length") return V::integer(length);
    if (name == "depth") return V::integer(loop.depth + 1);
    if (name == "depth0") return V::integer(loop.depth);
    if (name == "previtem") {
        if (index == 0) return in.undefined("there is no previous item");
        return loop.items->items[loop.index - 1];
    }
    if (name == "nextitem") {
        if (index + 1 == length) return in.undefined("there is no next item");
        return loop.items->items[loop.index + 1];
    }
    if (name == "cycle") return bound_function(self, name, loop_cycle);
    if (name == "changed") return bound_function(self, name, loop_changed);
    return std::optional<V>();
}

Result<std::optional<V>> macro_attribute(Interp& in, const V& self, std::string_view name) {
    const Stmt& stmt = static_cast<const Macro&>(*self.object()).stmt;
    if (name == "name") {
        TRY(V text, in.text(stmt.text, true));
        return text;
    }
    if (name == "caller") return V::boolean(stmt.uses_caller);
    if (name == "catch_kwargs") return V::boolean(stmt.uses_kwargs);
    if (name == "catch_varargs") return V::boolean(stmt.uses_varargs);
    if (name != "arguments") return std::optional<V>();
    std::vector<V> names;
    for (const Param& param : stmt.params) {
        TRY(V text, in.text(param.target->text, true));
        names.push_back(std::move(text));
    }
    TRY(V out, in.list(std::move(names), List::Type::kTuple));
    return out;
}

struct Global {
    std::string_view name;
    Builtin function;
};
constexpr Global kGlobals[] = {{"raise_exception", raise_exception},
                               {"strftime_now", strftime_now},
                               {"range", range},
                               {"namespace", make_namespace},
                               {"dict", make_dict},
                               {"cycler", cycler},
                               {"joiner", joiner},
                               {"lipsum", lipsum}};

}  // namespace

Builtin find_function(std::string_view name) {
    for (const Global& global : kGlobals) {
        if (global.name == name) return global.function;
    }
    return nullptr;
}

Result<std::optional<Value>> find_attribute(Interp& interp, const Value& self,
                                            std::string_view name) {
    if (self.is_list() && self.list()->type == List::Type::kGroup) {
        if (name == "grouper") return self.list()->items[0];
        if (name == "list") return self.list()->items[1];
    }
    if (!self.is_object()) return std::optional<Value>();
    switch (self.object()->type) {
        case Object::Type::kLoop: return loop_attribute(interp, self, name);
        case Object::Type::kMacro: return macro_attribute(interp, self, name);
        case Object::Type::kNamespace: {
            const Value* found = static_cast<const Namespace&>(*self.object()).find(name);
            return found ? std::optional<Value>(*found) : std::nullopt;
        }
        case Object::Type::kCycler: {
            const auto& cycle = static_cast<const Cycler&>(*self.object());
            if (name == "current") return cycle.items[cycle.pos];
            if (name == "next") return bound_function(self, name, cycler_next);
            if (name == "reset") return bound_function(self, name, cycler_reset);
            return std::optional<Value>();
        }
        default: return std::optional<Value>();
    }
}

}  // namespace weir::jinja
