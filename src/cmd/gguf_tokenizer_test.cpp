#include "cmd/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "base/testing.h"
#include "base/text.h"

namespace weir {
namespace {

std::vector<TokenId> to_ids(const Json& array) {
    std::vector<TokenId> out;
    for (const Json& id : array.items()) out.push_back(static_cast<TokenId>(id.as_int()));
    return out;
}

std::string show(const std::vector<TokenId>& ids) {
    std::string out;
    for (const TokenId id : ids) out += concat(out.empty() ? "" : " ", id);
    return out;
}

/// "first difference at 3: want 5, got 7", with the whole lists behind it.
void expect_same(const std::vector<TokenId>& got, const std::vector<TokenId>& want) {
    if (got == want) return;
    const auto at = std::mismatch(got.begin(), got.end(), want.begin(), want.end());
    ADD_FAILURE() << "first difference at " << at.first - got.begin() << "\nwant " << show(want)
                  << "\ngot  " << show(got);
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, EncodesAndDecodesAsHuggingFace) {
    const auto file = GgufFile::open(test_model(GetParam()));
    ASSERT_TRUE(file) << file.error().text;
    auto read = read_gguf_tokenizer(*file);
    ASSERT_TRUE(read) << read.error().text;
    const auto tokenizer = make_tokenizer(std::move(read->spec));
    ASSERT_TRUE(tokenizer) << tokenizer.error().text;
    const auto golden = read_json_file(test_file(concat("golden/", GetParam(), ".json")));
    ASSERT_TRUE(golden) << golden.error().text;
    const Json& entries = (*golden)["tokenize"];
    EXPECT_EQ(entries.size(), 160u);
    for (const Json& entry : entries.items()) {
        const std::string& text = entry["text"].as_string();
        SCOPED_TRACE(shorten(text, 80));
        const std::vector<TokenId> want = to_ids(entry["ids"]);
        expect_same((*tokenizer)->encode(text, {.add_special_tokens = false}), want);
        const Json& special = entry["ids_special"];
        expect_same((*tokenizer)->encode(text, {.add_special_tokens = true}),
                    special.is_null() ? want : to_ids(special));
        EXPECT_EQ((*tokenizer)->decode(want, false), entry["decoded"].as_string());

        IncrementalDetokenizer detokenizer(**tokenizer, {}, false);
        std::string streamed;
        for (const TokenId id : want) streamed += detokenizer.push(id);
        streamed += detokenizer.finish();
        EXPECT_EQ(streamed, entry["decoded"].as_string());
    }
}

INSTANTIATE_TEST_SUITE_P(Models, Golden, testing::Values("smollm2", "gemma3"));

}  // namespace
}  // namespace weir
