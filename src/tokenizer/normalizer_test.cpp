#include "tokenizer/normalizer.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Normalizer, FormC) {
    const Normalizer nfc{.nfc = true};
    EXPECT_EQ(nfc.apply("plain \u00e9"), "plain \u00e9");
    EXPECT_EQ(nfc.apply("e\u0301"), "\u00e9");
    EXPECT_EQ(nfc.apply("\u1112\u1161\u11ab"), "\ud55c");   // Hangul is composed by rule.
    EXPECT_EQ(nfc.apply("\u212b\u2126"), "\u00c5\u03a9");   // Singletons.
    EXPECT_EQ(nfc.apply("a\u0301\u0323"), "\u1ea1\u0301");  // Marks are ordered first.
    EXPECT_EQ(nfc.apply("\u0958"), "\u0915\u093c");         // Excluded from composition.
    EXPECT_EQ(nfc.apply("\xff"
                        "e\u0301\xc3"),
              "\xff\u00e9\xc3");
    EXPECT_EQ(nfc.apply(""), "");
}

TEST(Normalizer, LongRunsOfMarksAreSorted) {
    std::string text = "a";
    for (int i = 0; i < 100'000; ++i) text += i % 2 ? "\u0323" : "\u0301";
    const std::string out = Normalizer{.nfc = true}.apply(text);
    EXPECT_EQ(out.substr(0, 3), "\u1ea1");
    EXPECT_EQ(out.substr(out.size() - 2), "\u0301");
}

TEST(Normalizer, Lowercase) {
    const Normalizer lower{.lowercase = true};
    EXPECT_EQ(lower.apply("ABC \u00c9\u03a3 1"), "abc \u00e9\u03c3 1");
    EXPECT_EQ(lower.apply("\u0130"), "i\u0307");
    EXPECT_FALSE(Normalizer{}.active());
}

}  // namespace
}  // namespace weir
