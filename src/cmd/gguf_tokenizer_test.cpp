#include "cmd/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "base/testing.h"
#include "base/text.h"
#include "model/gguf_testing.h"
#include "tokenizer/chat_template.h"

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

struct Loaded {
    GgufTokenizer read;
    std::unique_ptr<Tokenizer> tokenizer;
};

Result<Loaded> load(std::string_view content) {
    TRY(const GgufFile file, GgufFile::from_bytes(content, "x.gguf"));
    Loaded out;
    TRY(out.read, read_gguf_tokenizer(file));
    TRY(out.tokenizer, make_tokenizer(out.read.spec));
    return out;
}

/// What a variant of the case asks for: a refusal with this text in it, or the ids of "ab", the
/// tokens that end a generation, one warning (or none), and the ids of a chat prompt "ab".
struct Wanted {
    std::string_view id;
    std::string_view refusal;
    std::vector<TokenId> ab = {5};
    std::vector<TokenId> stop_ids = {2};
    std::string_view warning = {};
    std::vector<TokenId> chat = {};
};

const std::vector<Wanted>& wanted_variants() {
    static const std::vector<Wanted> rows = {
        {.id = "ok", .refusal = {}},
        {.id = "pre-missing",
         .refusal = {},
         .warning = "tokenizer.ggml.pre is missing: \"default\" (GPT-2's pattern) is assumed, text "
                    "may be split wrongly and answers be worse"},
        {.id = "pre-unknown", .refusal = "unknown pre-tokenizer \"made-up-9\""},
        {.id = "model-unknown", .refusal = "tokenizer model \"nope\" is not supported"},
        {.id = "scores-as-u8", .refusal = "f32"},
        {.id = "token-type-as-i8", .refusal = "i32"},
        {.id = "scores-too-few", .refusal = "tokenizer.ggml.scores has 5 elements for 6 tokens"},
        {.id = "eos-out-of-range",
         .refusal = "tokenizer.ggml.eos_token_id is 6, but the vocabulary has 6 tokens"},
        {.id = "eos-2^32-1",
         .refusal = {},
         .stop_ids = {},
         .warning = "tokenizer.ggml.eos_token_id is 4294967295: read as \"none\""},
        {.id = "eos-missing",
         .refusal = {},
         .stop_ids = {},
         .warning = "tokenizer.ggml.eos_token_id is missing: generation ends only by length or a "
                    "stop string"},
        {.id = "add-bos-and-template-bos", .refusal = {}, .ab = {1, 5}, .chat = {1, 5}},
        {.id = "no-add-bos-template-bos", .refusal = {}, .chat = {1, 5}},
        {.id = "template-two-bos-no-add", .refusal = {}, .chat = {1, 1, 5}},
        {.id = "eot-differs-from-eos", .refusal = {}, .stop_ids = {2, 0}},
        {.id = "merge-to-unknown-token",
         .refusal = {},
         .warning = "merges[1] \"b b\": \"bb\" is no token; merges like this are ignored (1 of 2)"},
        {.id = "merge-without-space", .refusal = "a merge must have two parts"},
        {.id = "token-twice",
         .refusal = {},
         .ab = {3, 4},
         .warning = "merges[0] \"a b\": \"ab\" is no token; merges like this are ignored (1 of 1)"},
        {.id = "tokens-empty", .refusal = "tokenizer.ggml.tokens has no tokens"},
    };
    return rows;
}

void expect_wanted(const Loaded& loaded, const Wanted& wanted) {
    const Tokenizer& tokenizer = *loaded.tokenizer;
    EXPECT_EQ(tokenizer.vocab_size(), 6);
    EXPECT_EQ(tokenizer.bos(), 1);
    expect_same(tokenizer.encode("ab", {}), wanted.ab);
    expect_same(loaded.read.stop_ids, wanted.stop_ids);
    std::vector<std::string> warnings = loaded.read.warnings;
    for (std::string& warning : tokenizer.warnings()) warnings.push_back(std::move(warning));
    if (wanted.warning.empty()) {
        EXPECT_EQ(warnings.size(), 0u);
    } else {
        EXPECT_NE(std::find(warnings.begin(), warnings.end(), wanted.warning), warnings.end())
            << join(warnings, "\n");
    }
    if (wanted.id == "token-twice") {
        EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{3, 5}, false), "aa");
    }
    if (wanted.chat.empty()) return;
    const auto chat = parse_chat_template(loaded.read.chat_template);
    ASSERT_TRUE(chat) << chat.error().text;
    ChatRenderInput input;
    input.messages = Json::array({Json::object({{"role", "user"}, {"content", "ab"}})});
    input.bos_token = tokenizer.token_string(tokenizer.bos());
    const auto segments = (*chat)->render(input);
    ASSERT_TRUE(segments) << segments.error().text;
    // As vLLM: the template writes BOS, the tokenizer adds none.
    expect_same(tokenizer.encode_segments(*segments, {.add_special_tokens = false}), wanted.chat);
}

TEST(GgufTokenizer, MetadataCase) {
    const auto read = read_json_file(test_file("cases/gguf-tokenizer-metadata.json"));
    ASSERT_TRUE(read) << read.error().text;
    const Json& variants = (*read)["input"]["variants"];
    EXPECT_EQ(variants.size(), wanted_variants().size());
    for (const Json& variant : variants.items()) {
        const std::string& id = variant["id"].as_string();
        SCOPED_TRACE(id);
        const auto wanted = std::find_if(wanted_variants().begin(), wanted_variants().end(),
                                         [&](const Wanted& row) { return row.id == id; });
        ASSERT_NE(wanted, wanted_variants().end());
        const std::string content = decode_base64(variant["file_b64"].as_string());
        const auto loaded = load(content);
        if (!wanted->refusal.empty()) {
            ASSERT_FALSE(loaded);
            EXPECT_EQ(loaded.error().code, ErrorCode::kBadTokenizer);
            EXPECT_NE(loaded.error().text.find(wanted->refusal), std::string::npos)
                << loaded.error().text;
            continue;
        }
        ASSERT_TRUE(loaded) << loaded.error().text;
        expect_wanted(*loaded, *wanted);
    }
}

INSTANTIATE_TEST_SUITE_P(Models, Golden, testing::Values("smollm2", "gemma3"));

}  // namespace
}  // namespace weir
