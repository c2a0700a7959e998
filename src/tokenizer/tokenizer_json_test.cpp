#include "tokenizer/tokenizer_json.h"

#include <gtest/gtest.h>
#include <lzma.h>
#include <openssl/evp.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/testing.h"
#include "base/text.h"
#include "tokenizer/utf8.h"

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

Result<std::unique_ptr<Tokenizer>> from_json(const Json& json) {
    TRY(auto spec, read_tokenizer_json(json));
    return make_tokenizer(std::move(spec));
}

TEST(TokenizerJson, AddedTokensCase) {
    const auto read = read_json_file(test_file("cases/tokenizer-added-tokens.json"));
    ASSERT_TRUE(read) << read.error().text;
    const Json& input = (*read)["input"];
    EXPECT_EQ(input["sets"].size(), 10u);
    for (const Json& set : input["sets"].items()) {
        Json json = input["base"];
        json.set("added_tokens", set["added_tokens"]);
        json.set("normalizer", set["normalizer"]);
        const auto tokenizer = from_json(json);
        ASSERT_TRUE(tokenizer) << tokenizer.error().text;
        for (const Json& variant : set["cases"].items()) {
            SCOPED_TRACE(concat(set["id"].as_string(), ": ", variant["text"].dump()));
            const std::vector<TokenId> want = to_ids(variant["ids"]);
            const auto got =
                (*tokenizer)->encode(variant["text"].as_string(), {.add_special_tokens = false});
            EXPECT_EQ(show(got), show(want));
            EXPECT_EQ((*tokenizer)->decode(want, false), variant["decoded"].as_string());
            EXPECT_EQ((*tokenizer)->decode(want, true),
                      variant["decoded_skip_special"].as_string());
        }
    }
}

std::string refusal(std::string_view part, std::string_view text) {
    const auto read = read_json_file(test_file("cases/tokenizer-added-tokens.json"));
    Json json = (*read)["input"]["base"];
    json.set(part, parse_json(text).value());
    const auto spec = read_tokenizer_json(json);
    if (spec) return "read";
    EXPECT_EQ(spec.error().code, ErrorCode::kBadTokenizer);
    return spec.error().text;
}

TEST(TokenizerJson, RefusalsNameThePart) {
    EXPECT_EQ(refusal("normalizer", R"({"type":"NFKC"})"),
              "tokenizer.json: normalizer: type \"NFKC\" is not supported");
    EXPECT_EQ(refusal("pre_tokenizer", R"({"type":"Whitespace"})"),
              "tokenizer.json: pre_tokenizer: type \"Whitespace\" is not supported");
    EXPECT_EQ(refusal("pre_tokenizer", "null"),
              "tokenizer.json: pre_tokenizer: neither byte-level BPE nor SentencePiece's blanks");
    EXPECT_EQ(refusal("pre_tokenizer", R"({"type":"ByteLevel"})"),
              "tokenizer.json: pre_tokenizer: ByteLevel with add_prefix_space is not supported");
    EXPECT_EQ(refusal("pre_tokenizer",
                      R"({"type":"Split","pattern":{"Regex":"a"},"behavior":"MergedWithNext"})"),
              "tokenizer.json: pre_tokenizer: Split with behavior \"MergedWithNext\" is not "
              "supported");
    EXPECT_EQ(refusal("model", R"({"type":"Unigram"})"),
              "tokenizer.json: model: type \"Unigram\" is not supported");
    EXPECT_EQ(refusal("model", R"({"type":"BPE","vocab":{"a":-1},"merges":[]})"),
              "tokenizer.json: model.vocab: a token's id must be 0 to 1048574, it is -1");
    EXPECT_EQ(refusal("model", R"({"type":"BPE","vocab":{"a":0},"merges":[["a"]]})"),
              "tokenizer.json: model: a merge must be two strings, it is [\"a\"]");
    EXPECT_EQ(refusal("post_processor", R"({"type":"BertProcessing"})"),
              "tokenizer.json: post_processor: type \"BertProcessing\" is not supported");
    std::string nested = "null";
    for (int i = 0; i < 20; ++i) {
        nested = concat(R"({"type":"Sequence","normalizers":[)", nested, "]}");
    }
    EXPECT_EQ(refusal("normalizer", nested),
              "tokenizer.json: normalizer: a Sequence is nested too deep");
}

TEST(TokenizerJson, ConfigNamesBosAndEos) {
    TokenizerSpec spec;
    spec.tokens = {"a", "<s>", "</s>"};
    const auto read = [&](std::string_view text) {
        return read_tokenizer_config(parse_json(text).value(), spec);
    };
    EXPECT_TRUE(read(R"({"bos_token":"<s>","eos_token":{"content":"</s>"}})"));
    EXPECT_EQ(spec.bos, 1);
    EXPECT_EQ(spec.eos, 2);
    EXPECT_TRUE(read(R"({"bos_token":null})"));
    EXPECT_EQ(read(R"({"eos_token":"<e>"})").error().text,
              "tokenizer_config.json: eos_token \"<e>\" is no token");
}

// The published files of six families lie outside the project (their licences are their own).
constexpr const char* kFamilies[] = {"llama2", "llama3_1", "qwen3",
                                     "gemma3", "gptoss",   "deepseek_v3"};

std::string shared_file(const std::string& name) {
    return concat(WEIR_SOURCE_DIR, "/../shared/data/", name);
}

std::string read_xz(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream packed;
    packed << file.rdbuf();
    const std::string in = packed.str();
    std::string out(size_t{64} << 20, '\0');
    uint64_t memory_max = UINT64_MAX;
    size_t in_pos = 0;
    size_t out_pos = 0;
    const lzma_ret rc = lzma_stream_buffer_decode(
        &memory_max, 0, nullptr, reinterpret_cast<const uint8_t*>(in.data()), &in_pos, in.size(),
        reinterpret_cast<uint8_t*>(out.data()), &out_pos, out.size());
    EXPECT_EQ(rc, LZMA_OK) << path;
    out.resize(out_pos);
    return out;
}

std::string sha256(const std::string& text) {
    std::array<unsigned char, 32> digest;
    EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
    std::string out;
    for (const unsigned char byte : digest) {
        out += "0123456789abcdef"[byte >> 4];
        out += "0123456789abcdef"[byte & 15];
    }
    return out;
}

class Family : public testing::TestWithParam<const char*> {
 protected:
    void SetUp() override {
        const std::string path =
            shared_file(concat("tokenizers/", GetParam(), "/tokenizer.json.xz"));
        if (!std::filesystem::exists(path)) {
            GTEST_SKIP() << GetParam() << ": ../shared/data/tokenizers is not beside this project";
        }
        const auto json = parse_json(read_xz(path));
        ASSERT_TRUE(json) << json.error().text;
        auto made = from_json(*json);
        ASSERT_TRUE(made) << made.error().text;
        tokenizer_ = std::move(*made);
    }
    std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(Family, GoldensBothWays) {
    const auto golden = read_json_file(shared_file(concat("golden/", GetParam(), ".json")));
    ASSERT_TRUE(golden) << golden.error().text;
    for (const Json& entry : (*golden)["tokenize"].items()) {
        const std::string& text = entry["text"].as_string();
        SCOPED_TRACE(shorten(text, 80));
        const std::vector<TokenId> want = to_ids(entry["ids"]);
        EXPECT_EQ(show(tokenizer_->encode(text, {.add_special_tokens = false})), show(want));
        const Json& special = entry["ids_special"];
        EXPECT_EQ(show(tokenizer_->encode(text, {.add_special_tokens = true})),
                  show(special.is_null() ? want : to_ids(special)));
        EXPECT_EQ(tokenizer_->decode(want, false), entry["decoded"].as_string());
    }
}

TEST_P(Family, LongRunsCase) {
    const auto read = read_json_file(test_file("cases/tokenizer-long-runs.json"));
    ASSERT_TRUE(read) << read.error().text;
    const Json& golden = (*read)["expect"]["golden"][GetParam()];
    const Json& patterns = (*read)["input"]["patterns"];
    EXPECT_EQ(golden.size(), patterns.size());
    for (const JsonMember& pattern : patterns.members()) {
        SCOPED_TRACE(pattern.name);
        const std::string& unit = pattern.value.as_string();
        size_t chars = 0;
        for (size_t pos = 0; pos < unit.size(); ++chars) pos += decode_utf8(unit, pos).bytes;
        std::string text;
        for (size_t i = 0; i < 20'000 / chars; ++i) text += unit;
        const auto ids = tokenizer_->encode(text, {.add_special_tokens = false});
        const Json& want = golden[pattern.name];
        EXPECT_EQ(static_cast<int64_t>(ids.size()), want["count"].as_int());
        EXPECT_EQ(show({ids.begin(), ids.begin() + std::min<int64_t>(4, std::ssize(ids))}),
                  show(to_ids(want["first"])));
        EXPECT_EQ(sha256(show(ids)), want["sha256"].as_string());
    }
}

INSTANTIATE_TEST_SUITE_P(Published, Family, testing::ValuesIn(kFamilies),
                         [](const auto& family) { return std::string(family.param); });

}  // namespace
}  // namespace weir
