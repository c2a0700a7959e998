#include <gtest/gtest.h>

#include "base/json.h"
#include "base/random.h"
#include "base/text.h"
#include "base/units.h"

namespace weir {

TEST(Json, KeepsOrderAndRoundTrips) {
    const std::string text = R"({"b":1,"a":[true,null,1.5,"x\n\u00e9"],"c":{}})";
    const Result<Json> value = parse_json(text);
    ASSERT_TRUE(value.has_value()) << value.error().text;
    EXPECT_EQ(value->dump(), "{\"b\":1,\"a\":[true,null,1.5,\"x\\n\u00e9\"],\"c\":{}}");
    EXPECT_EQ((*value)["a"][2].as_double(), 1.5);
    EXPECT_EQ(value->find("z"), nullptr);
}

TEST(Json, RefusesWhatIsNotJson) {
    for (const char* text : {"", "{", "[1,]", "{\"a\":1,}", "nan", "01", "1 2", "\"\xff\"",
                             "{\"a\" 1}", "\"\\ud800\"", "// x\n1"}) {
        EXPECT_FALSE(parse_json(text).has_value()) << text;
    }
}

TEST(Json, DepthIsBounded) {
    const std::string fits(128, '['), deep(129, '[');
    EXPECT_TRUE(parse_json(fits + std::string(128, ']')).has_value());
    const Result<Json> refused = parse_json(deep + std::string(129, ']'));
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().text.find("deep"), std::string::npos) << refused.error().text;
}

TEST(Json, IntegersBeyondInt64AreDoubles) {
    EXPECT_TRUE(parse_json("9223372036854775807")->is_int());
    EXPECT_TRUE(parse_json("9223372036854775808")->is_double());
    EXPECT_TRUE(parse_json("99999999999999999999999")->is_double());
    EXPECT_EQ(Json(1.0).dump(), "1.0");
    EXPECT_EQ(Json(1e300).dump(), "1e+300");
}

TEST(Json, EqualityIgnoresMemberOrder) {
    EXPECT_EQ(*parse_json(R"({"a":1,"b":2})"), *parse_json(R"({"b":2.0,"a":1})"));
    EXPECT_FALSE(*parse_json(R"({"a":1})") == *parse_json(R"({"a":1,"b":2})"));
}

TEST(Text, Helpers) {
    EXPECT_EQ(concat("a", 1, '-', 2.5, true), "a1-2.5true");
    EXPECT_EQ(split("a,,b", ',').size(), 3u);
    EXPECT_EQ(trim(" \tx \n"), "x");
    EXPECT_EQ(edit_distance("max-num-seq", "max-num-seqs"), 1);
    EXPECT_TRUE(is_utf8("h\u00e9 \U0001F600"));
    EXPECT_FALSE(is_utf8("\xc0\x80"));
    EXPECT_FALSE(is_utf8("\xed\xa0\x80"));
    EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80"));
    EXPECT_FALSE(is_utf8("\xe2\x82"));
    EXPECT_EQ(shorten("h\u00e9llo", 2), "h...");
}

TEST(Units, Texts) {
    EXPECT_EQ(with_commas(46592), "46,592");
    EXPECT_EQ(with_commas(-1234567), "-1,234,567");
    EXPECT_EQ(with_commas(999), "999");
    EXPECT_EQ(gib(kGiB * 3 + kGiB / 4), "3.25 GiB");
    EXPECT_EQ(mib(10 * kMiB + 5), "10 MiB");
}

TEST(Random, IsReproducible) {
    Random a(7), b(7);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next(), b.next());
    for (int i = 0; i < 1000; ++i) {
        const int64_t value = a.between(-3, 3);
        EXPECT_GE(value, -3);
        EXPECT_LE(value, 3);
    }
}

}  // namespace weir
