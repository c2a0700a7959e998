#include "tokenizer/splitter.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing.h"
#include "base/text.h"
#include "tokenizer/split_patterns.h"
#include "tokenizer/utf8.h"

namespace weir {
namespace {

namespace patterns = split_patterns;

std::vector<uint32_t> split_by(const Splitter& splitter, std::string_view text) {
    std::vector<uint32_t> ends;
    splitter.split(text, ends);
    return ends;
}

std::string show(std::string_view text, const std::vector<uint32_t>& ends) {
    std::string out;
    uint32_t begin = 0;
    for (const uint32_t end : ends) {
        out += concat('[', text.substr(begin, end - begin), ']');
        begin = end;
    }
    return out;
}

std::unique_ptr<Splitter> by_pattern(std::string_view pattern) {
    return std::move(make_pattern_splitter({{std::string(pattern)}}).value());
}

/// All assigned code points in order, as PCRE2 (Unicode 14) knows them; utf8proc knows some more.
std::u32string assigned_code_points() {
    std::string all = "a";
    for (char32_t c = 1; c < 0x110000; ++c) {
        if (c < 0xd800 || c > 0xdfff) append_utf8(all, c);
    }
    std::u32string out;
    bool assigned = true;  // Runs alternate; the first one is assigned.
    uint32_t begin = 0;
    for (const uint32_t end : split_by(*by_pattern(R"(\p{Cn}+)"), all)) {
        for (uint32_t pos = begin; assigned && pos < end;) {
            const Utf8Char c = decode_valid_utf8(all.data() + pos);
            if (pos > 0) out += c.code_point;
            pos += c.bytes;
        }
        assigned = !assigned;
        begin = end;
    }
    return out;
}

TEST(CharClasses, EqualPcre2OnEveryAssignedCharacter) {
    const std::u32string code_points = assigned_code_points();
    EXPECT_GT(code_points.size(), 280'000u);
    std::string text;
    for (const char32_t c : code_points) append_utf8(text, c);
    const CharClasses classes;
    const std::pair<uint8_t, const char*> rows[] = {
        {char_class::kLetter, R"(\p{L}+)"},         {char_class::kNumber, R"(\p{N}+)"},
        {char_class::kMark, R"(\p{M}+)"},           {char_class::kPunct, R"(\p{P}+)"},
        {char_class::kSymbol, R"(\p{S}+)"},         {char_class::kSpace, R"(\s+)"},
        {char_class::kUpper, R"([\p{Lu}\p{Lt}]+)"}, {char_class::kLower, R"(\p{Ll}+)"}};
    for (const auto& [bit, pattern] : rows) {
        std::vector<uint32_t> want;
        uint32_t pos = 0;
        for (size_t i = 0; i < code_points.size(); ++i) {
            const bool in = classes.of(code_points[i]) & bit;
            std::string utf8;
            append_utf8(utf8, code_points[i]);
            if (i > 0 && in != static_cast<bool>(classes.of(code_points[i - 1]) & bit)) {
                want.push_back(pos);
            }
            pos += static_cast<uint32_t>(utf8.size());
        }
        want.push_back(pos);
        EXPECT_TRUE(split_by(*by_pattern(pattern), text) == want) << pattern;
    }
}

const std::vector<SplitRule>& fast_rules() {
    static const std::vector<SplitRule> rules = {
        {{std::string(patterns::kGpt2)}},
        {{std::string(patterns::kEachDigit), std::string(patterns::kGpt2)}},
        {{std::string(patterns::kLlama3)}},
        {{std::string(patterns::kQwen2)}},
    };
    return rules;
}

TEST(FastSplitter, EqualsThePatterns) {
    const CharClasses classes;
    const std::u32string code_points = assigned_code_points();
    const std::vector<std::string_view> pieces = {
        "a",      "Z",      "ing",    "1",       "23",     "4567",       " ",
        "  ",     "\n",     "\r\n",   "\t",      "'",      "'s",         "'S",
        "'ll",    "'RE",    "'ve",    "'\u017f", "\u017f", "d",          "-",
        "...",    "_",      "\u00e9", "\u0301",  "\ud55c", "\U0001f600", "\u3000",
        "\u00a0", "\u180e", "\u2028", "\u0085",  "\u00bd", "\u0663"};
    for (const SplitRule& rule : fast_rules()) {
        const auto fast = make_fast_splitter(rule, classes);
        ASSERT_TRUE(fast);
        const auto slow = std::move(make_pattern_splitter(rule).value());
        for (Random random : test_seeds()) {
            SCOPED_TRACE(random.replay());
            for (int i = 0; i < 1000; ++i) {
                std::string text;
                for (int64_t n = random.below(25); n > 0; --n) {
                    if (random.chance(0.1)) {
                        append_utf8(text, code_points[static_cast<size_t>(
                                              random.below(std::ssize(code_points)))]);
                    } else {
                        text += pieces[static_cast<size_t>(random.below(std::ssize(pieces)))];
                    }
                }
                const auto got = split_by(*fast, text);
                const auto want = split_by(*slow, text);
                ASSERT_EQ(show(text, got), show(text, want));
            }
        }
    }
}

TEST(Splitter, PatternsAreAppliedInTurn) {
    const CharClasses classes;
    const auto split = [&](std::string_view pre, std::string_view text) {
        const NamedSplitRule* named = find_split_rule(pre);
        EXPECT_TRUE(named) << pre;
        const auto splitter = make_splitter(named->rule, classes);
        EXPECT_TRUE(splitter) << pre;
        return show(text, split_by(**splitter, text));
    };
    EXPECT_EQ(split("gpt-2", "I'll pay  12,5\n"), "[I]['ll][ pay][ ][ 12][,][5][\n]");
    EXPECT_EQ(split("starcoder", "pay  12,5"), "[pay][  ][1][2][,][5]");
    EXPECT_EQ(split("llama-bpe", "I'LL pay 12345!\n\n  x"),
              "[I]['LL][ pay][ ][123][45][!\n\n][ ][ x]");
    EXPECT_EQ(split("qwen2", "12 a"), "[1][2][ a]");
    EXPECT_EQ(split("deepseek-v3", "1234\u4e2d\u6587ab, c"), "[123][4][\u4e2d\u6587][ab][,][ c]");
    EXPECT_EQ(split("gpt-4o", "helloWorld's 1/\n"), "[hello][World's][ ][1][/\n]");
    EXPECT_EQ(split("tekken", "12 Ab"), "[1][2][ Ab]");
    EXPECT_EQ(split("gpt-2", ""), "");
    EXPECT_EQ(find_split_rule("made-up-9"), nullptr);
}

TEST(Splitter, EveryNamedRuleCompilesAndCoversTheText) {
    const CharClasses classes;
    const std::string names = split_rule_names();
    size_t count = 0;
    for (const std::string_view part : split(names, ',')) {
        const NamedSplitRule* named = find_split_rule(trim(part));
        ASSERT_TRUE(named) << part;
        const auto splitter = make_splitter(named->rule, classes);
        ASSERT_TRUE(splitter) << part << ": " << splitter.error().text;
        // A long run of one kind must not run into a limit: it stays linear and complete.
        for (const std::string_view unit :
             {"A", "a", " ", "\n", "7", ".", "\ud55c", "e\u0301", "A1 "}) {
            std::string text;
            for (int i = 0; i < 20'000; ++i) text += unit;
            const auto ends = split_by(**splitter, text);
            ASSERT_FALSE(ends.empty());
            EXPECT_EQ(ends.back(), text.size());
            EXPECT_TRUE(std::is_sorted(ends.begin(), ends.end()));
        }
        ++count;
    }
    EXPECT_GE(count, 20u);
}

TEST(PatternSplitter, HostilePatternsAreBounded) {
    const auto huge = make_pattern_splitter({{std::string(100'000, 'a')}});
    ASSERT_FALSE(huge);
    EXPECT_EQ(huge.error().text,
              "the pre-tokenizer's pattern has 100000 bytes, at most 65536 are allowed");
    // Exponential backtracking hits the match limit; what is left of the text is one piece.
    const std::string text(60, 'a');
    EXPECT_EQ(split_by(*by_pattern("(a+)+b"), text), (std::vector<uint32_t>{60}));
    // An empty match splits nothing.
    EXPECT_EQ(split_by(*by_pattern("x*"), "ab"), (std::vector<uint32_t>{2}));
}

}  // namespace
}  // namespace weir
