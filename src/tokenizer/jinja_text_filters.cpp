// Filters that make texts.

#include <algorithm>

#include "base/text.h"
#include "tokenizer/jinja_filters.h"
#include "tokenizer/jinja_format.h"
#include "tokenizer/jinja_string.h"
#include "tokenizer/jinja_unicode.h"

namespace weir::jinja {
namespace {

using V = Value;
using R = Result<Value>;

R string(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args("string", "", args));
    if (self.is_text()) return self;
    TRY(Text text, in.str(self));
    return in.text(std::move(text));
}

template <Case how>
R with_case_filter(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args("upper", "", args));
    TRY(const Text text, in.str(self));
    in.meter().spend_bytes(text.size() * 16);
    return in.text(with_case(text, how));
}

R title(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args("title", "", args));
    TRY(const Text text, in.str(self));
    in.meter().spend_bytes(text.size() * 16);
    return in.text(title_words(text));
}

R trim(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("trim", "chars?", args));
    TRY(const Text text, in.str(self));
    TRY(const Text chars, bound.text(0, ""));
    in.meter().spend_bytes(text.size() * std::min<size_t>(chars.size() + 1, 128));
    return in.text(strip(text, bound.has(0) ? &chars : nullptr, Side::kBoth));
}

R replace_filter(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("replace", "old new count?", args));
    TRY(const Text text, in.str(self));
    TRY(const Text old, in.str(*bound[0]));
    TRY(const Text with, in.str(*bound[1]));
    TRY(const int64_t count, bound.number(2, -1));
    in.meter().spend_bytes(text.size());
    return in.text(replace(text, old.view(), with, count));
}

R escape(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args("escape", "", args));
    TRY(const Text text, in.str(self));
    constexpr std::pair<char, std::string_view> kEscapes[] = {
        {'&', "&amp;"}, {'>', "&gt;"}, {'<', "&lt;"}, {'\'', "&#39;"}, {'"', "&#34;"}};
    Text out;
    size_t begin = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        for (const auto& [c, written] : kEscapes) {
            if (text.view()[i] != c) continue;
            out.append(text, begin, i);
            out.append(written, text.trusted_at(i));
            begin = i + 1;
        }
    }
    out.append(text, begin, text.size());
    return in.text(std::move(out));
}

R format(Interp& in, const V& self, const Args& args) {
    if (!args.positional.empty() && !args.named.empty()) {
        return bad("can't handle positional and keyword arguments at the same time");
    }
    TRY(const Text text, in.str(self));
    V values;
    if (!args.named.empty()) {
        std::vector<std::pair<V, V>> items;
        for (const NamedValue& argument : args.named) {
            TRY(V key, in.text(argument.name, true));
            items.emplace_back(std::move(key), argument.value);
        }
        TRY(values, in.dict(std::move(items)));
    } else {
        TRY(values, in.list(args.positional, List::Type::kTuple));
    }
    TRY(Text out, percent_format(in, text, values));
    return in.text(std::move(out));
}

R indent(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("indent", "width? first? blank?", args));
    if (self.is_undefined()) return bad(self.undefined_message());
    if (!self.is_text()) return bad(concat("indent needs a string, not ", type_name(self)));
    TRY(const Text text, in.str(self));
    Text margin;
    if (bound.has(0) && bound[0]->is_text()) {
        margin = bound[0]->text();
    } else {
        TRY(const int64_t width, bound.number(0, 4));
        if (width > 10'000) return bad(concat("an indent of ", width, " blanks is too wide"));
        margin.append(std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' '), true);
    }
    const bool first = bound.flag(1, false);
    const bool blank = bound.flag(2, false);
    Text source = text;
    source.append("\n", true);  // So that a newline at the end begins no line of its own.
    TRY(const Ranges lines, split_lines(source.view(), false));
    Text out;
    for (size_t i = 0; i < lines.size(); ++i) {
        const auto [begin, end] = lines[i];
        if (i > 0) out.append("\n", true);
        if (i == 0 ? first : (blank || begin < end)) out.append(margin);
        out.append(source, begin, end);
    }
    return in.text(std::move(out));
}

R center(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("center", "width?", args));
    NumberStyle style;
    TRY(style.width, bound.number(0, 80));
    TRY(const Text text, in.str(self));
    style.align = 'c';
    return in.text(padded(text, style, 'c'));
}

R truncate(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound, bind_args("truncate", "length? killwords? end? leeway?", args));
    if (!self.is_text() && !self.is_undefined()) {
        return bad(concat("truncate needs a string, not ", type_name(self)));
    }
    TRY(const Text text, in.str(self));
    TRY(const int64_t length, bound.number(0, 255));
    TRY(const Text end, bound.text(2, "..."));
    TRY(const int64_t leeway, bound.number(3, 5));
    const auto end_length = static_cast<int64_t>(count_chars(end.view()));
    if (length < end_length)
        return bad(concat("expected length >= ", end_length, ", got ", length));
    if (leeway < 0) return bad(concat("expected leeway >= 0, got ", leeway));
    if (static_cast<int64_t>(count_chars(text.view())) <= length + leeway) {
        return in.text(text);
    }
    const size_t cut = char_offset(text.view(), static_cast<size_t>(length - end_length));
    Text out = text.slice(0, cut);
    if (!bound.flag(1, false)) {
        const size_t blank = out.view().rfind(' ');
        if (blank != std::string_view::npos) out = out.slice(0, blank);
    }
    out.append(end);
    return in.text(std::move(out));
}

R wordcount(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args("wordcount", "", args));
    TRY(const Text text, in.str(self));
    in.meter().spend_bytes(text.size() * 16);
    Int count = 0;
    bool inside = false;
    for (size_t pos = 0; pos < text.size();) {
        const char32_t c = next_char(text.view(), pos);
        const bool word = c == '_' || is_alnum(c);
        count += word && !inside ? 1 : 0;
        inside = word;
    }
    return V::integer(count);
}

R urlencode(Interp& in, const V& self, const Args& args) {
    TRY_VOID(bind_args("urlencode", "", args));
    if (self.is_dict() || self.is_list()) return bad("urlencode of a mapping is not supported");
    TRY(const Text text, in.str(self));
    constexpr std::string_view kKept = "_.-~/";
    Text out;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text.view()[i];
        const auto byte = static_cast<unsigned char>(c);
        const bool plain =
            byte < 0x80 && (is_alnum(byte) || kKept.find(c) != std::string_view::npos);
        std::string written(1, c);
        if (!plain) {
            constexpr char kHex[] = "0123456789ABCDEF";
            written = {'%', kHex[byte >> 4], kHex[byte & 15]};
        }
        out.append(written, text.trusted_at(i));
    }
    return in.text(std::move(out));
}

R tojson(Interp& in, const V& self, const Args& args) {
    TRY(const Bound bound,
        bind_args("tojson", "ensure_ascii? indent? separators? sort_keys?", args));
    JsonStyle style;
    style.ensure_ascii = bound.flag(0, false);
    style.sort_keys = bound.flag(3, false);
    if (bound.has(1)) {
        style.has_indent = true;
        style.item_separator = ",";
        if (bound[1]->is_text()) {
            style.indent = bound[1]->view();
        } else {
            TRY(const int64_t width, bound.number(1, 0));
            if (width > 1000) return bad(concat("an indent of ", width, " blanks is too wide"));
            style.indent = std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
        }
    }
    if (bound.has(2)) {
        TRY(const ListPtr both, in.iterate(*bound[2]));
        if (both->items.size() != 2 || !both->items[0].is_text() || !both->items[1].is_text()) {
            return bad("separators must be two strings");
        }
        style.item_separator = both->items[0].view();
        style.key_separator = both->items[1].view();
    }
    TRY(Text text, to_json(self, style, in.meter()));
    return in.text(std::move(text));
}

constexpr Filter kFilters[] = {{"string", string},
                               {"upper", with_case_filter<Case::kUpper>},
                               {"lower", with_case_filter<Case::kLower>},
                               {"capitalize", with_case_filter<Case::kCapitalize>},
                               {"title", title},
                               {"trim", trim},
                               {"replace", replace_filter},
                               {"escape", escape},
                               {"e", escape},
                               {"forceescape", escape},
                               {"safe", string},
                               {"format", format},
                               {"indent", indent},
                               {"center", center},
                               {"truncate", truncate},
                               {"wordcount", wordcount},
                               {"urlencode", urlencode},
                               {"tojson", tojson}};

}  // namespace

std::span<const Filter> text_filters() { return kFilters; }

Builtin find_filter(std::string_view name) {
    for (const auto table : {text_filters(), number_filters(), list_filters(), picking_filters()}) {
        for (const Filter& filter : table) {
            if (filter.name == name) return filter.function;
        }
    }
    return nullptr;
}

}  // namespace weir::jinja
