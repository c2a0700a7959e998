// The interpreter against jinja2's answers, its bounds, and where texts come from.

#include <gtest/gtest.h>

#include "base/testing.h"
#include "base/text.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/jinja_context.h"
#include "tokenizer/jinja_parser.h"

namespace weir {
namespace {

Result<std::vector<TextSegment>> render(const std::string& source,
                                        const Json& names = Json::object()) {
    TRY(const std::unique_ptr<ChatTemplate> parsed, parse_chat_template(source));
    ChatRenderInput input;
    input.messages = names["messages"];
    input.kwargs = names;
    input.bos_token = "<s>";
    return parsed->render(input);
}

std::string text_of(const Result<std::vector<TextSegment>>& segments) {
    if (!segments) return "error: " + segments.error().text;
    std::string out;
    for (const TextSegment& segment : *segments) out += segment.text;
    return out;
}

/// Untrusted text in brackets: what a reader of a failure sees at once.
std::string marked(const std::string& source, const Json& names) {
    const auto segments = render(source, names);
    if (!segments) return "error: " + segments.error().text;
    std::string out;
    for (const TextSegment& segment : *segments) {
        out += segment.trusted ? segment.text : concat("[", segment.text, "]");
    }
    return out;
}

TEST(Jinja, AnswersAsJinja2) {
    const Json file = read_json_file(test_file("golden/jinja2.json")).value();
    ASSERT_GE(file["cases"].size(), 139u);
    for (const Json& one : file["cases"].items()) {
        SCOPED_TRACE(one["template"].as_string());
        const Result<jinja::Template> parsed = jinja::parse_template(one["template"].as_string());
        const std::string got = text_of(render(one["template"].as_string()));
        const bool fails = one["error"].is_string();
        EXPECT_EQ(got, fails ? "error: " + one["error"].as_string() : one["render"].as_string());
    }
}

TEST(Jinja, TextsKeepTheirOrigin) {
    const Json names = *parse_json(
        R"({"u": " User <x>,y ", "n": 7, "f": 1.5, "b": true, "l": ["p", "q"], "d": {"k": "v"}})");
    const auto expect = [&names](const std::string& source, const std::string& want) {
        EXPECT_EQ(marked(source, names), want) << source;
    };
    expect("<|im_start|>{{ u }}<|im_end|>", "<|im_start|>[ User <x>,y ]<|im_end|>");
    expect("{{ 'a' + u + 'b' }}", "a[ User <x>,y ]b");
    expect("{{ 'a' ~ u ~ n ~ 1 }}", "a[ User <x>,y 7]1");
    expect("{{ ('a' ~ u ~ 'b')[0:4] }}", "a[ Us]");
    expect("{{ ('a' ~ u ~ 'b')[::-1] }}", "b[ y,>x< resU ]a");
    expect("{{ u|trim }}|{{ u.strip() }}", "[User <x>,y]|[User <x>,y]");
    expect("{{ u|upper }}{{ ('a' ~ u)|lower }}", "[ USER <X>,Y ]a[ user <x>,y ]");
    expect("{{ u.replace('User', 'U') }}", "[ ]U[ <x>,y ]");
    expect("{{ 'a-b'.replace('-', u.strip()) }}", "a[User <x>,y]b");
    expect("{{ u.strip().split(',') | join('|') }}", "[User <x>]|[y]");
    expect("{{ l|join(', ') }}{{ l|map('upper')|join }}", "[p], [qPQ]");
    expect("{{ 'x %s y %d' % (u.strip(), n) }}", "x [User <x>,y] y [7]");
    expect("{{ 'x {} y'.format(n) }}{{ '%s!'|format(l[0]) }}", "x [7] y[p]!");
    expect("{{ d|tojson }}{{ {'a': 1}|tojson }}{{ {'a': u}|tojson }}",
           "[{\"k\": \"v\"}]{\"a\": 1}[{\"a\": \" User <x>,y \"}]");
    expect("{{ d }}{{ [1] }}{{ ['a', l[0]] }}", "[{'k': 'v'}][1][[]'a'[, 'p']]");
    expect("{{ n + 1 }}{{ n|string }}{{ b }}{{ f }}{{ l|length }}{{ '3'|int }}", "[87True1.5]23");
    expect("{% for k, v in d.items() %}{{ k }}={{ v }}{% endfor %}", "[k]=[v]");
    expect("{% set x %}<{{ u.strip() }}>{% endset %}{{ x|trim }}", "<[User <x>,y]>");
    expect("{% macro m(t) %}<{{ t }}>{% endmacro %}{{ m(l[0]) }}", "<[p]>");
    expect("{% filter upper %}a{{ l[0] }}{% endfilter %}", "A[P]");
    expect("{{ bos_token }}{{ l[0]|indent }}{{ u|title }}{{ l|tojson(indent=1) }}",
           "<s>[p User <X>,y [\n \"p\",\n \"q\"\n]]");
    expect("{{ l|first }}{{ 'a'|default(u) }}{{ zz|default(l[1]) }}{{ l[0] if true }}", "[p]a[qp]");
    expect("{{ u|e }}", "[ User &lt;x&gt;,y ]");
    expect("{{ (l[0] ~ 'a').center(6, '.') }}", "..[p]a..");
    expect("{{ u.format() }}{{ l|string }}{{ l|sort|join }}{{ (l[0] * 2) ~ 'a' * 2 }}",
           "[ User <x>,y ['p', 'q']pqpp]aa");
}

TEST(Jinja, NeighboursOfOneOriginAreOneSegment) {
    const auto segments = render("a{{ 'b' }}{{ x }}{{ x }}c{# #}d", Json::object({{"x", "u"}}));
    ASSERT_TRUE(segments.has_value());
    ASSERT_EQ(segments->size(), 3u);
    EXPECT_EQ((*segments)[0].text, "ab");
    EXPECT_EQ((*segments)[1].text, "uu");
    EXPECT_EQ((*segments)[2].text, "cd");
}

TEST(Jinja, ErrorsNameTheLine) {
    EXPECT_EQ(text_of(render("a\nb\n{{ x.y.z }}")), "error: line 3: 'x' is undefined");
    EXPECT_EQ(text_of(render("\n\n{% nope %}")), "error: line 3: Encountered unknown tag 'nope'.");
    EXPECT_EQ(
        text_of(render("{% if true %}\n{% for x in [1] %}\n{{ 1 + 'a' }}{% endfor %}{% endif %}")),
        "error: line 3: unsupported operand type(s) for +: 'int' and 'str'");
    EXPECT_EQ(text_of(render("\n{{ raise_exception('No tools, please') }}")),
              "error: No tools, please");
    for (const char* tag : {"include 'x'", "import 'x' as y", "from 'x' import y", "extends 'x'",
                            "block x", "autoescape true", "do x", "trans"}) {
        const std::string name = std::string(tag).substr(0, std::string(tag).find(' '));
        EXPECT_EQ(
            text_of(render(concat("\n{% ", tag, " %}"))),
            concat("error: line 2: the tag '", name, "' is not supported in a chat template"));
    }
    EXPECT_EQ(text_of(render("{{ 'a'|xmlattr }}")), "error: line 1: No filter named 'xmlattr'.");
    EXPECT_EQ(text_of(render("{{ lipsum() }}")), "error: line 1: lipsum() is not supported");
    EXPECT_EQ(text_of(render("{{ '\\N{DASH}' }}")),
              "error: line 1: \\N{...} escapes are not supported");
    EXPECT_EQ(text_of(render("{{ '\\ud800' }}")),
              "error: line 1: an escape in a string is no Unicode character");
    EXPECT_EQ(text_of(render("{{ '\xff' }}")), "error: the template is not valid UTF-8");
}

/// `times` of `piece` between `begin` and `end`.
std::string nested(std::string_view open, std::string_view middle, std::string_view close,
                   int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += open;
    out += middle;
    for (int i = 0; i < times; ++i) out += close;
    return out;
}

TEST(JinjaBounds, OfTheSource) {
    EXPECT_EQ(text_of(render(std::string((1 << 20) + 1, 'a'))),
              "error: the template has 1048577 bytes, at most 1048576 are allowed");
    EXPECT_EQ(text_of(render("{{ " + nested("(", "1", ")", 90) + " }}")), "1");
    const std::string deep = "error: line 1: nested deeper than 100 levels";
    EXPECT_EQ(text_of(render("{{ " + nested("(", "1", ")", 5000) + " }}")), deep);
    EXPECT_EQ(text_of(render("{{ " + nested("[", "1", "]", 5000) + " }}")), deep);
    EXPECT_EQ(text_of(render("{{ " + nested("not ", "1", "", 5000) + " }}")), deep);
    EXPECT_EQ(text_of(render("{{ " + nested("-", "1", "", 5000) + " }}")), deep);
    EXPECT_EQ(text_of(render("{{ " + nested("a if b else ", "1", "", 5000) + " }}")), deep);
    EXPECT_EQ(text_of(render(nested("{% if 1 %}", "1", "{% endif %}", 5000))), deep);
    EXPECT_EQ(text_of(render("{% set " + nested("(", "a", ")", 5000) + " = 1 %}")), deep);
    const std::string chain = "error: line 1: an expression is deeper than 200 levels";
    EXPECT_EQ(text_of(render("{{ a" + nested(".b", "", "", 5000) + " }}")), chain);
    EXPECT_EQ(text_of(render("{{ a" + nested("|e", "", "", 5000) + " }}")), chain);
    // Long chains of one precedence are wide, not deep.
    EXPECT_EQ(text_of(render("{{ 0" + nested(" + 1", "", "", 5000) + " }}")), "5000");
    EXPECT_EQ(text_of(render("{{ ''" + nested(" ~ 'a'", "", "", 5000) + "|length }}")).size(),
              5000u);
    EXPECT_EQ(text_of(render("{{ 1" + nested(" and 1", "", "", 5000) + " }}")), "1");
    EXPECT_EQ(text_of(render("{{ 999999999999999999999999999999999999999 }}")),
              "error: line 1: the integer 999999999999999999999999999999999999999 is too large");
}

TEST(JinjaBounds, OfValues) {
    EXPECT_EQ(text_of(render("{{ 'ab' * 9000000 }}")),
              "error: line 1: a text grows beyond 16777216 bytes");
    EXPECT_EQ(text_of(render("{{ [1] * 1000001 }}")),
              "error: line 1: a list grows beyond 1000000 items");
    EXPECT_EQ(text_of(render("{{ ('a ' * 1000001).split() }}")),
              "error: line 1: a list grows beyond 1000000 items");
    EXPECT_EQ(text_of(render("{{ ('a,' * 1000001).split(',') }}")),
              "error: line 1: a list grows beyond 1000000 items");
    EXPECT_EQ(
        text_of(render("{{ range(10 ** 9) }}")),
        "error: line 1: Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).");
    EXPECT_EQ(text_of(render("{{ 2 ** 200 }}")), "error: line 1: an integer grows beyond 128 bits");
    EXPECT_EQ(text_of(render("{{ 10 ** 30 * 10 ** 30 }}")),
              "error: line 1: an integer grows beyond 128 bits");
    EXPECT_EQ(text_of(render("{{ '%2000000d' % 1 }}")), "error: line 1: a width is too large");
    EXPECT_EQ(text_of(render("{{ 'a'|indent(99999) }}|")),
              "error: line 1: an indent of 99999 blanks is too wide");
    EXPECT_EQ(text_of(render("{% set ns = namespace(v=[]) %}{% for i in range(999) %}"
                             "{% set ns.v = [ns.v] %}{% endfor %}")),
              "error: line 1: a value is nested deeper than 200 levels");
    EXPECT_EQ(text_of(render("{% set ns = namespace(v=0) %}{% for i in range(999) %}"
                             "{% set ns.v = cycler(ns.v) %}{% endfor %}")),
              "error: line 1: a value is nested deeper than 200 levels");
    EXPECT_EQ(text_of(render("{% for i in range(20000) %}{% set n = namespace() %}{% endfor %}")),
              "error: line 1: more than 10000 namespaces");
    EXPECT_EQ(text_of(render("{% set x = 'a' * 16000000 %}{{ x }}{{ x }}")),
              "error: line 1: the output grows beyond 16777216 bytes");
    // Values that share parts print exponentially.
    EXPECT_EQ(text_of(render("{% set ns = namespace(v='a') %}{% for i in range(99) %}"
                             "{% set ns.v = [ns.v, ns.v] %}{% endfor %}{{ ns.v }}")),
              "error: line 1: a text grows beyond 16777216 bytes");
}

TEST(JinjaBounds, OfTheWork) {
    const auto limited = [](const std::string& source, const jinja::Limits& limits) -> std::string {
        const auto parsed = jinja::parse_template(source);
        if (!parsed) return parsed.error().text;
        const auto text = jinja::render(*parsed, limits, {}, {});
        return text ? std::string(text->view()) : text.error().text;
    };
    const std::string loops =
        "{% for a in range(1000) %}{% for b in range(1000) %}{% set x = a %}{% endfor %}{% endfor "
        "%}";
    EXPECT_EQ(limited(loops, {.steps_max = 5000}), "line 1: rendering takes more than 5000 steps");
    const std::string compare =
        "{% set n = namespace(a=0, b=0) %}{% for i in range(99) %}{% set n.a = [n.a, n.a] %}"
        "{% set n.b = [n.b, n.b] %}{% endfor %}{{ n.a == n.b }}";
    EXPECT_EQ(limited(compare, {.steps_max = 100'000}),
              "line 1: rendering takes more than 100000 steps");
    const std::string hold =
        "{% set n = namespace(l=[]) %}{% for i in range(1000) %}"
        "{% set n.l = n.l + ['x' * 100000 ~ i] %}{% endfor %}";
    EXPECT_EQ(limited(hold, {.live_bytes_max = size_t{8} << 20}),
              "line 1: rendering holds more than 8 MiB");
    const std::string recursive = "{% macro f(n) %}{{ f(n) }}{% endmacro %}\n{{ f(1) }}";
    EXPECT_EQ(limited(recursive, {}), "line 1: macros call each other deeper than 200 levels");
    const std::string wide = "{% macro f(n) %}" +
                             nested("{% if 1 %}", "{{ f(n) }}", "{% endif %}", 50) +
                             "{% endmacro %}{{ f(1) }}";
    EXPECT_EQ(limited(wide, {}), "line 1: rendering is nested deeper than 2000 levels");
    const std::string loop = "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}";
    EXPECT_EQ(limited(loop, {}), "line 1: rendering is nested deeper than 2000 levels");
    std::string maps = "{{ 'a'|map('map'";
    for (int i = 0; i < 5000; ++i) maps += ", 'map'";
    EXPECT_EQ(limited(maps + ", 'upper') }}", {}),
              "line 1: rendering is nested deeper than 2000 levels");
}

TEST(JinjaBounds, LongTextsTakeLinearTime) {
    // A search that goes back to each place would take hours here.
    const Json names = Json::object({{"a", std::string(2'000'000, 'a')}});
    EXPECT_EQ(text_of(render("{% set p = 'a' * 1000000 ~ 'b' %}{{ p in a }}{{ a.find(p) }}"
                             "{{ a.rfind('b' ~ 'a' * 1000000) }}{{ a.replace(p, '')|length }}"
                             "{{ a.split(p)|length }}",
                             names)),
              "False-1-120000001");
}

TEST(Jinja, AManyKeyedObjectIsFound) {
    Json names = Json::object();
    Json big = Json::object();
    for (int i = 0; i < 1000; ++i) big.set(concat("key", i), i);
    names.set("d", big);
    EXPECT_EQ(text_of(render("{{ d.key999 }}{{ d['key0'] }}{{ 'key500' in d }}{{ 'no' in d }}"
                             "{{ d|length }}{{ d.no is defined }}",
                             names)),
              "9990TrueFalse1000False");
}

}  // namespace
}  // namespace weir
