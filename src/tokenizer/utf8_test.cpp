#include "tokenizer/utf8.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

std::string lossy(std::string_view text, bool keep_tail = false) {
    std::string out;
    append_utf8_lossy(out, text, keep_tail);
    return out;
}

TEST(Utf8, EveryCodePointRoundTrips) {
    for (char32_t c = 0; c < 0x110000; ++c) {
        if (c >= 0xd800 && c < 0xe000) continue;
        std::string text;
        append_utf8(text, c);
        const Utf8Char checked = decode_utf8(text, 0);
        const Utf8Char unchecked = decode_valid_utf8(text.data());
        if (checked.code_point != c || checked.bytes != text.size() || unchecked.code_point != c ||
            unchecked.bytes != text.size()) {
            FAIL() << "code point " << static_cast<uint32_t>(c);
        }
    }
}

TEST(Utf8, LossyReplacesMaximalSubparts) {
    EXPECT_EQ(lossy("a\xff"
                    "b"),
              "a\ufffdb");
    EXPECT_EQ(lossy("\xe2(\xa1"), "\ufffd(\ufffd");
    EXPECT_EQ(lossy("\xc0\xaf"), "\ufffd\ufffd");
    EXPECT_EQ(lossy("\xed\xa0\x80"), "\ufffd\ufffd\ufffd");
    EXPECT_EQ(lossy("\xf0\x9f\x98x"), "\ufffdx");  // Three bytes of one character.
    EXPECT_EQ(lossy("\xf4\x90\x80\x80"), "\ufffd\ufffd\ufffd\ufffd");
    EXPECT_EQ(lossy("ab\xf0\x9f"), "ab\ufffd");
}

TEST(Utf8, KeepsWhatMayStillBecomeACharacter) {
    std::string out;
    EXPECT_EQ(append_utf8_lossy(out, "ab\xf0\x9f\x98", true), 2u);
    EXPECT_EQ(out, "ab");
    EXPECT_EQ(lossy("\xed\xa0", true), "\ufffd\ufffd");  // A surrogate: never a character.
    EXPECT_EQ(lossy("\xe2\x82", true), "");
}

TEST(Utf8, Prefixes) {
    EXPECT_EQ(valid_utf8_prefix("0123456789\u00e9\xff"), 12u);
    EXPECT_EQ(valid_utf8_prefix("\xff"), 0u);
    EXPECT_EQ(invalid_utf8_prefix("\xff\xe2\x82"
                                  "a"),
              3u);
    EXPECT_EQ(invalid_utf8_prefix(""), 0u);
}

}  // namespace
}  // namespace weir
