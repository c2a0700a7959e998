// map, select and their kin: filters that apply other filters and tests by name.

#include "base/text.h"
#include "tokenizer/jinja_filters.h"

namespace weir::jinja {
namespace {

using V = Value;
using R = Result<Value>;

/// The arguments behind the first `count`.
Args rest(const Args& args, size_t count) {
    Args out;
    out.positional.assign(args.positional.begin() + static_cast<ptrdiff_t>(count),
                          args.positional.end());
    out.named = args.named;
    return out;
}

/// jinja2 looks at a value only if it is true: none|map(...) is empty, 1|map(...) an error.
Result<ListPtr> items_of(Interp& in, const V& self) {
    return self.truthy() ? in.iterate(self) : std::make_shared<const List>();
}

R map(Interp& in, const V& self, const Args& args) {
    TRY(const ListPtr items, items_of(in, self));
    std::vector<V> out;
    out.reserve(items->items.size());
    if (args.positional.empty()) {
        TRY(const Bound bound, bind_args("map", "attribute default?", args));
        for (const V& item : items->items) {
            TRY(V value, in.path(item, *bound[0]));
            if (value.is_undefined() && bound[1]) value = *bound[1];
            out.push_back(std::move(value));
        }
        return in.iterator(std::move(out));
    }
    if (!args.positional[0].is_text()) return bad("map requires a filter's name");
    const Args inner = rest(args, 1);
    for (const V& item : items->items) {
        in.meter().spend(1);
        TRY_VOID(in.meter().check());
        TRY(V value, in.filter(args.positional[0].view(), item, inner));
        out.push_back(std::move(value));
    }
    return in.iterator(std::move(out));
}

template <bool wanted, bool by_attribute>
R pick(Interp& in, const V& self, const Args& args) {
    constexpr size_t kName = by_attribute ? 1 : 0;
    if (args.positional.size() < kName) return bad("Missing parameter for attribute name");
    TRY(const ListPtr items, items_of(in, self));
    const bool has_test = args.positional.size() > kName;
    if (has_test && !args.positional[kName].is_text()) return bad("a test's name must be a string");
    const Args inner = has_test ? rest(args, kName + 1) : Args();
    std::vector<V> out;
    for (const V& item : items->items) {
        in.meter().spend(1);
        TRY_VOID(in.meter().check());
        V value = item;
        if (by_attribute) {
            TRY(value, in.path(item, args.positional[0]));
        }
        bool holds = value.truthy();
        if (has_test) {
            TRY(holds, in.test(args.positional[kName].view(), value, inner));
        }
        if (holds == wanted) out.push_back(item);
    }
    return in.iterator(std::move(out));
}

constexpr Filter kFilters[] = {{"map", map},
                               {"select", pick<true, false>},
                               {"reject", pick<false, false>},
                               {"selectattr", pick<true, true>},
                               {"rejectattr", pick<false, true>}};

}  // namespace

std::span<const Filter> picking_filters() { return kFilters; }

}  // namespace weir::jinja
