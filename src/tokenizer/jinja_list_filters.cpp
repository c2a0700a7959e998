// Filters over lists.

#include <algorithm>

#include "base/text.h"
#include "tokenizer/jinja_filters.h"
#include "tokenizer/jinja_string.h"

namespace weir::jinja {
namespace {

using V = Value;
using R = Result<Value>;

R list_filter(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args("list", "", args));
    TRY(const ListPtr items, in.iterate(self));
    return in.list(items->items);
}

R first(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args("first", "", args));
    if (self.is_object() && self.object()->type == Object::Type::kIterator) {
        auto& iterator = static_cast<Iterator&>(*self.object());
        if (iterator.pos < iterator.items->items.size()) {
            return iterator.items->items[iterator.pos++];
        }
        return in.undefined("No first item, sequence was empty.");
    }
    TRY(const ListPtr items, in.iterate(self));
    if (!items->items.empty()) return items->items.front();
    return in.undefined("No first item, sequence was empty.");
}

R last(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args("last", "", args));
    if (self.is_object()) {
        return bad(concat("'", type_name(self), "' object is not reversible"));
    }
    TRY(const ListPtr items, in.iterate(self));
    if (!items->items.empty()) return items->items.back();
    return in.undefined("No last item, sequence was empty.");
}

R join(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("join", "d? attribute?", args));
    Text separator;
    if (bound[0]) {
        TRY(separator, in.str(*bound[0]));
    }
    TRY(const ListPtr items, in.iterate(self));
    Text out;
    for (size_t i = 0; i < items->items.size(); ++i) {
        V item = items->items[i];
        if (bound.has(1)) {
            TRY(item, in.path(item, *bound[1]));
        }
        if (i > 0) out.append(separator);
        if (item.is_text()) {
            out.append(item.text());
        } else {
            TRY(const Text text, in.str(item));
            out.append(text);
        }
        if (out.overflow()) break;
    }
    return in.text(std::move(out));
}

R reverse(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args("reverse", "", args));
    TRY(const ListPtr items, in.iterate(self));
    std::vector<V> out(items->items.rbegin(), items->items.rend());
    if (!self.is_text()) {
        std::string name = self.is_list() && self.list()->type == List::Type::kList
                               ? "list_reverseiterator"
                               : "reversed";
        return in.iterator(std::move(out), std::move(name));
    }
    Text text;
    for (const V& character : out) text.append(character.text());
    return in.text(std::move(text));
}

/// What jinja2 compares for sort, unique, min, max and groupby: lower case unless told otherwise.
R sort_key(Interp& in, const V& item, const V* attribute, bool case_sensitive) {
    V key = item;
    if (attribute && !attribute->is_none()) {
        TRY(key, in.path(item, *attribute));
    }
    if (case_sensitive || !key.is_text()) return key;
    in.meter().spend_bytes(key.text().size() * 16);
    return in.text(with_case(key.text(), Case::kLower));
}

struct Keyed {
    V key;
    V item;
};

Result<std::vector<Keyed>> keyed(Interp& in, const V& self, const V* attribute,
                                 bool case_sensitive) {
    TRY(const ListPtr items, in.iterate(self));
    std::vector<Keyed> out;
    out.reserve(items->items.size());
    for (const V& item : items->items) {
        TRY(V key, sort_key(in, item, attribute, case_sensitive));
        out.push_back({std::move(key), item});
    }
    return out;
}

/// Stable; the first failed comparison ends it with its error. `in_lists`: as if each key stood in
/// a list, where equal ones are never ordered (jinja2's sort does so; two undefined ones are fine
/// then).
Result<void> sort_keyed(Interp& in, std::vector<Keyed>& items, bool descending, bool in_lists) {
    Result<void> status;
    std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
        if (!status || (in_lists && equal(a.key, b.key, in.meter()))) return false;
        Result<bool> before =
            descending ? less(b.key, a.key, "<", in.meter()) : less(a.key, b.key, "<", in.meter());
        if (!before) status = tl::unexpected(std::move(before.error()));
        return before && *before;
    });
    return status;
}

R list_of_items(Interp& in, std::vector<Keyed> sorted) {
    std::vector<V> out;
    out.reserve(sorted.size());
    for (Keyed& entry : sorted) out.push_back(std::move(entry.item));
    return in.list(std::move(out));
}

R sort(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("sort", "reverse? case_sensitive? attribute?", args));
    const bool case_sensitive = bound.flag(1, false);
    const bool descending = bound.flag(0, false);
    if (!bound.has(2) || !bound[2]->is_text() ||
        bound[2]->view().find(',') == std::string_view::npos) {
        TRY(std::vector<Keyed> items, keyed(in, self, bound[2], case_sensitive));
        TRY_VOID(sort_keyed(in, items, descending, true));
        return list_of_items(in, std::move(items));
    }
    // "a,b": by a, then by b.
    TRY(const ListPtr source, in.iterate(self));
    std::vector<Keyed> items;
    for (const V& item : source->items) {
        std::vector<V> keys;
        for (const std::string_view part : weir::split(bound[2]->view(), ',')) {
            TRY(const V name, in.text(part, true));
            TRY(V key, sort_key(in, item, &name, case_sensitive));
            keys.push_back(std::move(key));
        }
        TRY(V key, in.list(std::move(keys)));
        items.push_back({std::move(key), item});
    }
    TRY_VOID(sort_keyed(in, items, descending, false));
    return list_of_items(in, std::move(items));
}

R unique(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("unique", "case_sensitive? attribute?", args));
    TRY(const std::vector<Keyed> items, keyed(in, self, bound[1], bound.flag(0, false)));
    std::vector<V> seen;
    std::vector<V> out;
    for (const Keyed& entry : items) {
        if (!hashable(entry.key)) {
            return bad(concat("unhashable type: '", type_name(entry.key), "'"));
        }
        const bool known = std::any_of(seen.begin(), seen.end(), [&](const V& other) {
            return equal(other, entry.key, in.meter());
        });
        TRY_VOID(in.meter().check());
        if (known) continue;
        seen.push_back(entry.key);
        out.push_back(entry.item);
    }
    return in.iterator(std::move(out));
}

template <bool largest>
R extreme(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args(largest ? "max" : "min", "case_sensitive? attribute?", args));
    TRY(const std::vector<Keyed> items, keyed(in, self, bound[1], bound.flag(0, false)));
    if (items.empty()) return in.undefined("No aggregated item, sequence was empty.");
    const Keyed* best = &items[0];
    for (const Keyed& entry : items) {
        if (&entry == best) continue;
        TRY(const bool better, largest ? less(best->key, entry.key, ">", in.meter())
                                       : less(entry.key, best->key, "<", in.meter()));
        if (better) best = &entry;
    }
    return best->item;
}

R sum(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("sum", "attribute? start?", args));
    TRY(const ListPtr items, in.iterate(self));
    V total = bound[1] ? *bound[1] : V::integer(0);
    if (total.is_text()) return bad("sum() can't sum strings [use ''.join(seq) instead]");
    for (const V& item : items->items) {
        V value = item;
        if (bound.has(0)) {
            TRY(value, in.path(item, *bound[0]));
        }
        TRY(total, in.binary(Op::kAdd, total, value));
        TRY_VOID(in.meter().check());
    }
    return total;
}

R batch(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("batch", "linecount fill_with?", args));
    TRY(const int64_t size, bound.number(0, 1));
    if (size > static_cast<int64_t>(kItemsMax)) return bad("a batch is too large");
    TRY(const ListPtr items, in.iterate(self));
    std::vector<V> out;
    std::vector<V> current;
    for (const V& item : items->items) {
        if (static_cast<int64_t>(current.size()) == size) {
            TRY(V row, in.list(std::exchange(current, {})));
            out.push_back(std::move(row));
        }
        current.push_back(item);
    }
    if (!current.empty()) {
        while (bound.has(1) && static_cast<int64_t>(current.size()) < size) {
            current.push_back(*bound[1]);
        }
        TRY(V row, in.list(std::move(current)));
        out.push_back(std::move(row));
    }
    return in.iterator(std::move(out));
}

R slice(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("slice", "slices fill_with?", args));
    TRY(const int64_t slices, bound.number(0, 1));
    if (slices == 0) return bad("integer division or modulo by zero");
    if (slices > static_cast<int64_t>(kItemsMax)) return bad("too many slices");
    TRY(const ListPtr items, in.iterate(self));
    const auto length = static_cast<int64_t>(items->items.size());
    std::vector<V> out;
    int64_t begin = 0;
    for (int64_t i = 0; i < slices; ++i) {
        const bool longer = i < length % slices;
        const int64_t end = begin + length / slices + (longer ? 1 : 0);
        std::vector<V> row(items->items.begin() + begin, items->items.begin() + end);
        if (bound.has(1) && !longer) row.push_back(*bound[1]);
        TRY(V row_value, in.list(std::move(row)));
        out.push_back(std::move(row_value));
        begin = end;
    }
    return in.iterator(std::move(out));
}

R items_filter(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args("items", "", args));
    if (self.is_undefined()) return in.iterator({});
    if (!self.is_dict()) return bad("Can only get item pairs from a mapping.");
    TRY(const V pairs, in.call(in.method(self, "items"), {}));
    return in.iterator(pairs.list()->items);
}

R dictsort(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("dictsort", "case_sensitive? by? reverse?", args));
    TRY(const Text by, bound.text(1, "key"));
    if (by.view() != "key" && by.view() != "value") {
        return bad("You can only sort by either \"key\" or \"value\"");
    }
    if (self.is_undefined()) return bad(self.undefined_message());
    if (!self.is_dict()) {
        return bad(concat("'", type_name(self), "' object has no attribute 'items'"));
    }
    std::vector<Keyed> items;
    for (const auto& [key, value] : self.dict()->items) {
        TRY(V pair, in.list({key, value}, List::Type::kTuple));
        TRY(V sort_by,
            sort_key(in, by.view() == "key" ? key : value, nullptr, bound.flag(0, false)));
        items.push_back({std::move(sort_by), std::move(pair)});
    }
    TRY_VOID(sort_keyed(in, items, bound.flag(2, false), false));
    return list_of_items(in, std::move(items));
}

R groupby(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("groupby", "attribute default? case_sensitive?", args));
    TRY(const ListPtr source, in.iterate(self));
    std::vector<Keyed> items;
    for (const V& item : source->items) {
        TRY(V key, in.path(item, *bound[0]));
        if (key.is_undefined() && bound[1]) key = *bound[1];
        TRY(key, sort_key(in, key, nullptr, bound.flag(2, false)));
        items.push_back({std::move(key), item});
    }
    TRY_VOID(sort_keyed(in, items, false, false));
    std::vector<V> out;
    for (size_t begin = 0; begin < items.size();) {
        std::vector<V> members;
        size_t end = begin;
        while (end < items.size() && equal(items[begin].key, items[end].key, in.meter())) {
            members.push_back(items[end++].item);
        }
        TRY_VOID(in.meter().check());
        if (end == begin)
            members.push_back(items[end++].item);  // A key that is not even itself: NaN.
        // Shown is the first member's own key, not its lower case.
        TRY(V key, in.path(members[0], *bound[0]));
        if (key.is_undefined() && bound[1]) key = *bound[1];
        TRY(V list_value, in.list(std::move(members)));
        TRY(V group, in.list({std::move(key), std::move(list_value)}, List::Type::kGroup));
        out.push_back(std::move(group));
        begin = end;
    }
    return in.list(std::move(out));
}

constexpr Filter kFilters[] = {
    {"list", list_filter},   {"first", first},       {"last", last},      {"join", join},
    {"reverse", reverse},    {"sort", sort},         {"unique", unique},  {"min", extreme<false>},
    {"max", extreme<true>},  {"sum", sum},           {"batch", batch},    {"slice", slice},
    {"items", items_filter}, {"dictsort", dictsort}, {"groupby", groupby}};

}  // namespace

std::span<const Filter> list_filters() { return kFilters; }

}  // namespace weir::jinja
