#include <gtest/gtest.h>

#include "base/json.h"
#include "base/testing.h"
#include "base/text.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_testing.h"

namespace weir {
namespace {

std::string from_hex(std::string_view hex) {
    std::string out;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
        out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    }
    return out;
}

/// A tokenizer with one more token for each of these byte strings; an empty one is a control token.
struct Case {
    std::unique_ptr<Tokenizer> tokenizer;
    std::vector<TokenId> prompt;
    std::vector<TokenId> ids;
};

Case make_case(const Json& variant) {
    const ByteAlphabet alphabet;
    TokenizerSpec spec = small_byte_level_spec();
    Case out;
    for (const Json& hex : variant["token_bytes_hex"].items()) {
        std::string token;
        for (const char byte : from_hex(hex.as_string())) {
            token += alphabet.character(static_cast<uint8_t>(byte));
        }
        out.ids.push_back(token.empty() ? spec.eos : static_cast<TokenId>(spec.tokens.size()));
        spec.tokens.push_back(token);
        spec.types.push_back(TokenType::kNormal);
    }
    if (variant["prompt_tail_hex"].is_string()) {
        for (const char byte : from_hex(variant["prompt_tail_hex"].as_string())) {
            out.prompt.push_back(static_cast<uint8_t>(byte));
        }
    }
    out.tokenizer = std::move(make_tokenizer(std::move(spec)).value());
    return out;
}

TEST(IncrementalDetokenizer, Utf8StreamCase) {
    const auto read = read_json_file(test_file("cases/utf8-stream.json"));
    ASSERT_TRUE(read) << read.error().text;
    const Json& variants = (*read)["input"]["cases"];
    EXPECT_EQ(variants.size(), 17u);
    for (const Json& variant : variants.items()) {
        const std::string& name = variant["id"].as_string();
        SCOPED_TRACE(name);
        const Case c = make_case(variant);
        IncrementalDetokenizer detokenizer(*c.tokenizer, c.prompt, true);
        std::vector<std::string> deltas;
        std::string text;
        for (const TokenId id : c.ids) {
            deltas.push_back(detokenizer.push(id));
            EXPECT_TRUE(is_utf8(deltas.back()));
            text += deltas.back();
        }
        const std::string rest = detokenizer.finish();
        text += rest;
        if (variant["accept_first"].is_array()) {
            bool accepted = false;
            for (const Json& accept : variant["accept_first"].items()) {
                accepted = accepted || accept.as_string() == text;
            }
            EXPECT_TRUE(accepted) << text;
            continue;
        }
        EXPECT_EQ(text, variant["final_text"].as_string());
        EXPECT_EQ(rest, name == "cut-at-end" ? "\ufffd" : "");
        EXPECT_EQ(text, c.tokenizer->decode(c.ids, true));
        // What is whole, or can never be, does not wait for the next token.
        if (name == "emoji-with-space-first") {
            EXPECT_EQ(deltas[0], " ");
        }
        if (name == "bad-lead") {
            EXPECT_EQ(deltas[1], "\ufffd");
        }
    }
}

TEST(IncrementalDetokenizer, LeadingBlankFollowsThePrompt) {
    const auto tokenizer = std::move(make_tokenizer(small_sentence_piece_spec()).value());
    const TokenId hi = tokenizer->find("\u2581hi");
    const TokenId blank = tokenizer->find("\u2581");
    const auto stream = [&](std::vector<TokenId> prompt, bool skip, std::vector<TokenId> ids) {
        IncrementalDetokenizer detokenizer(*tokenizer, prompt, skip);
        std::string out;
        for (const TokenId id : ids) out += detokenizer.push(id);
        return out + detokenizer.finish();
    };
    EXPECT_EQ(stream({}, true, {hi, hi}), "hi hi");
    EXPECT_EQ(stream({1}, true, {hi}), "hi");    // Only BOS, which does not show.
    EXPECT_EQ(stream({1}, false, {hi}), " hi");  // "<s>" shows: the blank stands behind it.
    EXPECT_EQ(stream({1, hi}, true, {hi}), " hi");
    EXPECT_EQ(stream({1, blank}, true, {hi}), " hi");
    EXPECT_EQ(stream({}, true, {1, hi}), "hi");  // A skipped token does not count as text.
    EXPECT_EQ(stream({}, true, {blank, hi}), " hi");
    EXPECT_EQ(stream({}, true, {}), "");
}

TEST(IncrementalDetokenizer, EqualsDecodeOnRandomIds) {
    const auto tokenizer = std::move(make_tokenizer(small_byte_level_spec()).value());
    for (Random random : test_seeds()) {
        SCOPED_TRACE(random.replay());
        for (int i = 0; i < 200; ++i) {
            std::vector<TokenId> ids;
            for (int64_t n = random.below(40); n > 0; --n) {
                ids.push_back(static_cast<TokenId>(random.below(tokenizer->vocab_size())));
            }
            const bool skip = random.chance(0.5);
            IncrementalDetokenizer detokenizer(*tokenizer, {}, skip);
            std::string text;
            for (const TokenId id : ids) text += detokenizer.push(id);
            text += detokenizer.finish();
            EXPECT_EQ(text, tokenizer->decode(ids, skip));
        }
    }
}

}  // namespace
}  // namespace weir
