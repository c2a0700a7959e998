// Methods of texts, lists and dicts that templates call; those that would change a value are hidden
// by the sandbox (jinja_access.cpp).

#include <algorithm>
#include <array>

#include "base/text.h"
#include "tokenizer/jinja_format.h"
#include "tokenizer/jinja_interp.h"
#include "tokenizer/jinja_string.h"
#include "tokenizer/jinja_unicode.h"

namespace weir::jinja {
namespace {

using V = Value;
using R = Result<Value>;

template <Side side>
R strip_method(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("strip", "chars?", args));
    if (!bound.has(0)) return in.text(strip(self.text(), nullptr, side));
    TRY(const Text chars, bound.text(0, ""));
    // Each character is looked up among `chars`.
    in.meter().spend_bytes(self.text().size() * std::min<size_t>(chars.size(), 128));
    return in.text(strip(self.text(), &chars, side));
}

R list_of_ranges(Interp& in, const V& self, const Ranges& ranges) {
    std::vector<V> items;
    items.reserve(ranges.size());
    for (const auto& [begin, end] : ranges) {
        TRY(V piece, in.text(self.text().slice(begin, end)));
        items.push_back(std::move(piece));
        if (items.size() % 1024 == 0) {
            TRY_VOID(in.meter().check());
        }
    }
    return in.list(std::move(items));
}

template <bool from_right>
R split_method(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("split", "sep? maxsplit?", args));
    TRY(const int64_t count_max, bound.number(1, -1));
    TRY(const Text separator, bound.text(0, ""));
    const std::string_view view = separator.view();
    in.meter().spend_bytes(self.text().size());
    TRY(const Ranges ranges,
        split(self.view(), bound.has(0) ? &view : nullptr, count_max, from_right));
    return list_of_ranges(in, self, ranges);
}

R splitlines(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("splitlines", "keepends?", args));
    TRY(const Ranges ranges, split_lines(self.view(), bound.flag(0, false)));
    return list_of_ranges(in, self, ranges);
}

template <bool from_right>
R partition(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("partition", "sep", args));
    TRY(const Text separator, bound.text(0, ""));
    if (separator.empty()) return bad("empty separator");
    const Text& text = self.text();
    const size_t at = from_right ? find_last(text.view(), separator.view())
                                 : find_first(text.view(), separator.view());
    Ranges ranges = {{0, at}, {at, at + separator.size()}, {at + separator.size(), text.size()}};
    if (at == kNotFound && from_right) ranges = {{0, 0}, {0, 0}, {0, text.size()}};
    if (at == kNotFound && !from_right) ranges = {{0, text.size()}, {0, 0}, {0, 0}};
    TRY(const V parts, list_of_ranges(in, self, ranges));
    return in.list(parts.list()->items, List::Type::kTuple);
}

template <Case how>
R case_method(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args("upper", "", args));
    in.meter().spend_bytes(self.text().size() * 16);
    return in.text(with_case(self.text(), how));
}

R replace_method(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("replace", "old new count?", args));
    TRY(const Text old, bound.text(0, ""));
    TRY(const Text with, bound.text(1, ""));
    TRY(const int64_t count, bound.number(2, -1));
    in.meter().spend_bytes(self.text().size());
    return in.text(replace(self.text(), old.view(), with, count));
}

/// The part [start, end) of self in characters, as the search methods take it: its bytes and where
/// it begins.
Result<std::pair<std::string_view, size_t>> window(const V& self, const Bound& bound) {
    const std::string_view text = self.view();
    if (!bound.has(1) && !bound.has(2)) return std::pair{text, size_t{0}};
    const auto length = static_cast<int64_t>(count_chars(text));
    TRY(int64_t start, bound.number(1, 0));
    TRY(int64_t end, bound.number(2, length));
    if (start > length) return std::pair{std::string_view(), kNotFound};
    const auto clamp = [length](int64_t index) {
        return static_cast<size_t>(
            std::clamp(index < 0 ? index + length : index, int64_t{0}, length));
    };
    const size_t begin = char_offset(text, clamp(start));
    const size_t stop = std::max(begin, char_offset(text, clamp(end)));
    return std::pair{text.substr(begin, stop - begin), begin};
}

template <bool last, bool must>
R find_method_of(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args(must ? "index" : "find", "sub start? end?", args));
    TRY(const Text part, bound.text(0, ""));
    TRY(const auto part_of, window(self, bound));
    in.meter().spend_bytes(self.text().size());
    const auto& [text, begin] = part_of;
    const size_t at = begin == kNotFound ? kNotFound
                      : last             ? find_last(text, part.view())
                                         : find_first(text, part.view());
    if (at == kNotFound) {
        if (must) return bad("substring not found");
        return V::integer(-1);
    }
    return V::integer(static_cast<Int>(count_chars(self.view().substr(0, begin + at))));
}

R count_method(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("count", "sub start? end?", args));
    TRY(const Text part, bound.text(0, ""));
    TRY(const auto part_of, window(self, bound));
    in.meter().spend_bytes(self.text().size());
    if (part_of.second == kNotFound) return V::integer(0);
    return V::integer(static_cast<Int>(count_parts(part_of.first, part.view())));
}

template <bool at_end>
R has_affix(Interp&, const V& self, const Args& args) {
    constexpr std::string_view kName = at_end ? "endswith" : "startswith";
    TRY(const Bound bound, bind_args(kName, "affix start? end?", args));
    TRY(const auto part_of, window(self, bound));
    const V& affix = *bound[0];
    if (affix.is_undefined()) return bad(affix.undefined_message());
    std::vector<V> choices = {affix};
    if (affix.is_list() && affix.list()->type == List::Type::kTuple) choices = affix.list()->items;
    for (const V& choice : choices) {
        if (!choice.is_text()) {
            return bad(
                concat(kName, " first arg must be str or a tuple of str, not ", type_name(choice)));
        }
        if (part_of.second == kNotFound) continue;
        const std::string_view text = part_of.first;
        if (at_end ? text.ends_with(choice.view()) : text.starts_with(choice.view())) {
            return V::boolean(true);
        }
    }
    return V::boolean(false);
}

template <bool at_end>
R remove_affix(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args(at_end ? "removesuffix" : "removeprefix", "affix", args));
    TRY(const Text affix, bound.text(0, ""));
    const Text& text = self.text();
    if (at_end ? !text.view().ends_with(affix.view()) : !text.view().starts_with(affix.view())) {
        return self;
    }
    return in.text(at_end ? text.slice(0, text.size() - affix.size())
                          : text.slice(affix.size(), text.size()));
}

R join_method(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("join", "iterable", args));
    TRY(const ListPtr items, in.iterate(*bound[0]));
    Text out;
    for (size_t i = 0; i < items->items.size(); ++i) {
        const V& item = items->items[i];
        if (!item.is_text()) {
            return bad(concat("sequence item ", i, ": expected str instance, ", type_name(item),
                              " found"));
        }
        if (i > 0) out.append(self.text());
        out.append(item.text());
    }
    return in.text(std::move(out));
}

R format_method(Interp& in, const V& self, const Args& args) {
    TRY(Text out, brace_format(in, self.text(), args));
    return in.text(std::move(out));
}

/// All characters are such, and there is one.
template <bool (*is)(char32_t)>
R all_chars(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args("isalpha", "", args));
    in.meter().spend_bytes(self.text().size() * 8);
    const std::string_view text = self.view();
    for (size_t pos = 0; pos < text.size();) {
        if (!is(next_char(text, pos))) return V::boolean(false);
    }
    return V::boolean(!text.empty());
}
bool is_decimal(char32_t c) {
    return c < 0x80 ? c >= '0' && c <= '9' : is_alnum(c) && !is_alpha(c);
}

template <bool upper>
R all_case_method(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args(upper ? "isupper" : "islower", "", args));
    in.meter().spend_bytes(self.text().size() * 8);
    return V::boolean(all_case(self.view(), upper));
}

/// ljust, rjust, center, zfill.
template <char align>
R pad_method(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("ljust", "width fill?", args));
    NumberStyle style;
    style.align = align;
    TRY(style.width, bound.number(0, 0));
    TRY(const Text fill, bound.text(1, align == '=' ? "0" : " "));
    if (count_chars(fill.view()) != 1) {
        return bad("The fill character must be exactly one character long");
    }
    style.fill = fill.view();
    if (align != '=') return in.text(padded(self.text(), style, '<'));
    // zfill: behind a sign.
    style.align = '>';
    const std::string_view text = self.view();
    const bool has_sign = text.starts_with('-') || text.starts_with('+');
    style.width -= has_sign ? 1 : 0;
    Text out = self.text().slice(0, has_sign ? 1 : 0);
    out.append(padded(self.text().slice(has_sign ? 1 : 0, text.size()), style, '>'));
    return in.text(std::move(out));
}

template <List::Type type>
R dict_view(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args("items", "", args));
    std::vector<V> items;
    for (const auto& [key, value] : self.dict()->items) {
        if (type == List::Type::kItems) {
            TRY(V pair, in.list({key, value}, List::Type::kTuple));
            items.push_back(std::move(pair));
        } else {
            items.push_back(type == List::Type::kKeys ? key : value);
        }
    }
    return in.list(std::move(items), type);
}

R dict_get(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("get", "key default?", args));
    const V& key = *bound[0];
    if (!hashable(key)) {
        return bad(concat("unhashable type: '", type_name(key), "'"));
    }
    if (const V* found = self.dict()->find(key, in.meter())) return *found;
    return bound[1] ? *bound[1] : V();
}

R copy(Interp&, const V& self, const Args& args) {
    TRY_VOID(bind_args("copy", "", args));
    return self;
}

R list_index(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("index", "value start? stop?", args));
    const std::vector<V>& items = self.list()->items;
    const auto length = static_cast<int64_t>(items.size());
    TRY(int64_t start, bound.number(1, 0));
    TRY(int64_t stop, bound.number(2, length));
    if (start < 0) start = std::max(start + length, int64_t{0});
    if (stop < 0) stop += length;
    for (int64_t i = start; i < std::min(stop, length); ++i) {
        if (equal(items[static_cast<size_t>(i)], *bound[0], in.meter())) return V::integer(i);
    }
    TRY(const Text text, in.str(*bound[0]));
    return bad(concat(shorten(text.view(), 100), " is not in list"));
}

R list_count(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("count", "value", args));
    Int count = 0;
    for (const V& item : self.list()->items) {
        if (equal(item, *bound[0], in.meter())) ++count;
    }
    return V::integer(count);
}

R is_integer(Interp&, const V& self, const Args& args) {
    TRY_VOID(bind_args("is_integer", "", args));
    const double value = self.as_float();
    return V::boolean(value ==
                      static_cast<double>(static_cast<Int>(std::clamp(value, -1e30, 1e30))));
}

struct Method {
    std::string_view name;
    Builtin function;
};

constexpr Method kTextMethods[] = {{"strip", strip_method<Side::kBoth>},
                                   {"lstrip", strip_method<Side::kLeft>},
                                   {"rstrip", strip_method<Side::kRight>},
                                   {"split", split_method<false>},
                                   {"rsplit", split_method<true>},
                                   {"splitlines", splitlines},
                                   {"partition", partition<false>},
                                   {"rpartition", partition<true>},
                                   {"upper", case_method<Case::kUpper>},
                                   {"lower", case_method<Case::kLower>},
                                   {"casefold", case_method<Case::kFold>},
                                   {"title", case_method<Case::kTitle>},
                                   {"capitalize", case_method<Case::kCapitalize>},
                                   {"swapcase", case_method<Case::kSwap>},
                                   {"replace", replace_method},
                                   {"find", find_method_of<false, false>},
                                   {"rfind", find_method_of<true, false>},
                                   {"index", find_method_of<false, true>},
                                   {"rindex", find_method_of<true, true>},
                                   {"count", count_method},
                                   {"startswith", has_affix<false>},
                                   {"endswith", has_affix<true>},
                                   {"removeprefix", remove_affix<false>},
                                   {"removesuffix", remove_affix<true>},
                                   {"join", join_method},
                                   {"format", format_method},
                                   {"isdigit", all_chars<is_decimal>},
                                   {"isdecimal", all_chars<is_decimal>},
                                   {"isnumeric", all_chars<is_decimal>},
                                   {"isalpha", all_chars<is_alpha>},
                                   {"isalnum", all_chars<is_alnum>},
                                   {"isspace", all_chars<is_space>},
                                   {"isupper", all_case_method<true>},
                                   {"islower", all_case_method<false>},
                                   {"ljust", pad_method<'<'>},
                                   {"rjust", pad_method<'>'>},
                                   {"center", pad_method<'c'>},
                                   {"zfill", pad_method<'='>}};
constexpr Method kDictMethods[] = {{"items", dict_view<List::Type::kItems>},
                                   {"keys", dict_view<List::Type::kKeys>},
                                   {"values", dict_view<List::Type::kValues>},
                                   {"get", dict_get},
                                   {"copy", copy}};
constexpr Method kListMethods[] = {{"index", list_index}, {"count", list_count}, {"copy", copy}};
constexpr Method kFloatMethods[] = {{"is_integer", is_integer}};

template <size_t n>
Builtin find_in(const Method (&table)[n], std::string_view name) {
    for (const Method& method : table) {
        if (method.name == name) return method.function;
    }
    return nullptr;
}

}  // namespace

Builtin find_method(const Value& self, std::string_view name) {
    if (self.is_text()) return find_in(kTextMethods, name);
    if (self.is_dict()) return find_in(kDictMethods, name);
    if (self.is_float()) return find_in(kFloatMethods, name);
    if (!self.is_list() || !self.list()->is_sequence()) return nullptr;
    if (name == "copy" && self.list()->type != List::Type::kList) return nullptr;
    return find_in(kListMethods, name);
}

}  // namespace weir::jinja
