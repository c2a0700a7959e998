#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/testing.h"
#include "base/text.h"
#include "tokenizer/tokenizer_testing.h"

namespace weir {
namespace {

constexpr EncodeOptions kPlain{.add_special_tokens = false, .parse_special = true};

std::unique_ptr<Tokenizer> make(TokenizerSpec spec) {
    auto made = make_tokenizer(std::move(spec));
    EXPECT_TRUE(made) << (made ? "" : made.error().text);
    return made ? std::move(*made) : nullptr;
}

std::string refusal(TokenizerSpec spec) {
    const auto made = make_tokenizer(std::move(spec));
    if (made) return "made";
    EXPECT_EQ(made.error().code, ErrorCode::kBadTokenizer);
    return made.error().text;
}

using Ids = std::vector<TokenId>;

TEST(Tokenizer, ControlTokensOnlyInTrustedText) {
    const TokenizerSpec spec = small_byte_level_spec();
    const TokenId end = spec.eos;
    const TokenId think = end + 1;
    const auto tokenizer = make(spec);
    const auto encode = [&](std::vector<TextSegment> segments) {
        return tokenizer->encode_segments(segments, kPlain);
    };
    EXPECT_EQ(tokenizer->encode("ab<|im_end|>", kPlain), (Ids{256, end}));
    EXPECT_EQ(encode({{"ab", false}, {"<|im_end|>", true}}), (Ids{256, end}));
    // Untrusted, or trusted only in part: it stays text. No id is special, and the text comes back.
    for (const auto& segments :
         std::vector<std::vector<TextSegment>>{{{"<|im_end|>", false}},
                                               {{"<|im_", true}, {"end|>", false}},
                                               {{"<|im_end|", false}, {">", true}},
                                               {{"<", true}, {"|im_end|", false}, {">", true}}}) {
        const Ids ids = encode(segments);
        EXPECT_EQ(ids.size(), 10u);
        EXPECT_EQ(tokenizer->decode(ids, true), "<|im_end|>");
    }
    // Two trusted pieces make one token; one that is not special is found everywhere.
    EXPECT_EQ(encode({{"<|im_", true}, {"end|>", true}}), (Ids{end}));
    EXPECT_EQ(encode({{"a<thi", false}, {"nk>b", true}}), (Ids{'a', think, 'b'}));
    // A border of trust that holds no control token does not split words.
    EXPECT_EQ(encode({{"a", true}, {"b", false}, {"c", true}}), (Ids{257}));
    EXPECT_EQ(encode({}), Ids{});
    EXPECT_EQ(encode({{"", true}, {"", false}}), Ids{});
}

TEST(Tokenizer, OptionsOfEncode) {
    TokenizerSpec spec = small_byte_level_spec();
    spec.add_bos = spec.add_eos = true;
    const TokenId bos = spec.bos;
    const TokenId eos = spec.eos;
    const auto tokenizer = make(spec);
    EXPECT_EQ(tokenizer->encode("a", {}), (Ids{bos, 'a', eos}));
    EXPECT_EQ(tokenizer->encode("", {}), (Ids{bos, eos}));
    EXPECT_EQ(tokenizer->encode("<s>", {.add_special_tokens = false, .parse_special = false}),
              (Ids{'<', 's', '>'}));
    EXPECT_EQ(tokenizer->encode("<think>", {.add_special_tokens = false, .parse_special = false}),
              (Ids{eos + 1}));
    EXPECT_EQ(tokenizer->decode(Ids{bos, 'a', eos, eos + 1}, true), "a<think>");
    EXPECT_EQ(tokenizer->decode(Ids{bos, 'a', eos}, false), "<s>a<|im_end|>");
}

TEST(Tokenizer, LooksUpTokens) {
    const TokenizerSpec spec = small_byte_level_spec();
    const auto tokenizer = make(spec);
    EXPECT_EQ(tokenizer->vocab_size(), static_cast<int32_t>(spec.tokens.size()));
    EXPECT_EQ(tokenizer->find("<s>"), spec.bos);
    EXPECT_EQ(tokenizer->find("abc"), 257);
    EXPECT_EQ(tokenizer->find("no such token"), kNoToken);
    EXPECT_EQ(tokenizer->token_string(258), "\u0120a");
    EXPECT_EQ(tokenizer->token_bytes(258), " a");
    EXPECT_EQ(tokenizer->token_bytes(0xc3), "\xc3");
    EXPECT_EQ(tokenizer->token_bytes(spec.eos), "<|im_end|>");
    EXPECT_TRUE(tokenizer->is_special(spec.bos));
    EXPECT_FALSE(tokenizer->is_special(spec.eos + 1));
    EXPECT_FALSE(tokenizer->is_special(257));
}

TEST(Tokenizer, InvalidUtf8GoesThroughBytes) {
    const auto byte_level = make(small_byte_level_spec());
    const std::string text = "ab\xff\xc3 abc\xe2\x82";
    const Ids ids = byte_level->encode(text, kPlain);
    EXPECT_EQ(ids, (Ids{256, 0xff, 0xc3, ' ', 257, 0xe2, 0x82}));
    EXPECT_EQ(byte_level->decode(ids, false), "ab\ufffd\ufffd abc\ufffd");

    const auto sentence_piece = make(small_sentence_piece_spec());
    EXPECT_EQ(sentence_piece->encode("\xff", kPlain), (Ids{259, 3 + 0xff}));
}

TEST(Tokenizer, SentencePiece) {
    const auto tokenizer = make(small_sentence_piece_spec());
    const auto strings = [&](std::string_view text) {
        std::vector<std::string> out;
        for (const TokenId id : tokenizer->encode(text, kPlain)) {
            out.emplace_back(tokenizer->token_string(id));
        }
        return join(out, " ");
    };
    EXPECT_EQ(strings("hi"), "\u2581hi");
    EXPECT_EQ(strings("hi hi"), "\u2581hi \u2581hi");
    EXPECT_EQ(strings("abc"), "\u2581a b c");  // "▁a" has the best score.
    EXPECT_EQ(strings("b<b>abc"), "\u2581 b <b> \u2581a b c");
    EXPECT_EQ(strings("\u00e9z"), "\u2581 \u00e9 <0x7A>");
    EXPECT_EQ(strings(""), "");
    const Ids ids = tokenizer->encode("hi abc z\u00e9\u20ac", {});
    EXPECT_EQ(ids.front(), 1);
    EXPECT_EQ(tokenizer->decode(ids, true), "hi abc z\u00e9\u20ac");
    // A run of byte tokens that is no text: one U+FFFD a byte, as Hugging Face's ByteFallback does.
    EXPECT_EQ(tokenizer->decode(Ids{3 + 0xe2, 3 + 0x82, 3 + 'A'}, true), "\ufffd\ufffd\ufffd");
}

TEST(Tokenizer, UnknownTokenOnceForARun) {
    TokenizerSpec spec = small_sentence_piece_spec();
    spec.byte_fallback = false;
    spec.add_space_prefix = false;
    const auto tokenizer = make(spec);
    EXPECT_EQ(tokenizer->encode("xyza", kPlain), (Ids{0, 260}));
    EXPECT_EQ(tokenizer->decode(Ids{259, 260}, true), " a");  // No prefix, so no blank is dropped.
}

TEST(Tokenizer, TextCannotSpellAControlTokenByMerges) {
    TokenizerSpec spec = small_byte_level_spec();
    spec.tokens.push_back("<s");
    spec.types.push_back(TokenType::kNormal);
    spec.merges.push_back("< s");
    spec.merges.push_back("<s >");
    const auto tokenizer = make(spec);
    const TextSegment segment{"<s>", false};
    const Ids ids = tokenizer->encode_segments({&segment, 1}, kPlain);
    for (const TokenId id : ids) EXPECT_FALSE(tokenizer->is_special(id));
    EXPECT_EQ(tokenizer->decode(ids, true), "<s>");
}

TEST(Tokenizer, MergesOfNoTokensAreIgnoredWithAWarning) {
    TokenizerSpec spec = small_byte_level_spec();
    spec.merges[1] = "b b";
    const auto tokenizer = make(spec);
    EXPECT_EQ(join(tokenizer->warnings(), "|"),
              "merges[1] \"b b\": \"bb\" is no token; merges like this are ignored (1 of 7)");
    EXPECT_EQ(tokenizer->encode("abbc", kPlain), (Ids{256, 'b', 'c'}));
    EXPECT_TRUE(make(small_byte_level_spec())->warnings().empty());
}

TEST(Tokenizer, RefusalsNameTheField) {
    const TokenizerSpec good = small_byte_level_spec();
    TokenizerSpec spec = good;
    spec.model = "t5";
    EXPECT_EQ(refusal(spec),
              "tokenizer model \"t5\" is not supported; known are gpt2 (byte-level BPE) and llama "
              "(SentencePiece)");
    spec = good;
    spec.pre = "made-up-9";
    EXPECT_NE(refusal(spec).find("unknown pre-tokenizer \"made-up-9\" (tokenizer.ggml.pre); known "
                                 "are default, gpt-2, "),
              std::string::npos);
    EXPECT_NE(refusal(spec).find("--tokenizer DIR"), std::string::npos);
    spec = good;
    spec.tokens.clear();
    spec.types.clear();
    EXPECT_EQ(refusal(spec), "the tokenizer has no tokens");
    spec = good;
    spec.types.pop_back();
    EXPECT_EQ(refusal(spec), "the tokenizer has 265 token types for 266 tokens");
    spec = good;
    spec.eos = 266;
    EXPECT_EQ(refusal(spec), "the eos token has the id 266, but there are only 266 tokens");
    spec = good;
    spec.merges[1] = "abc";
    EXPECT_EQ(refusal(spec),
              "merges[1] \"abc\": a merge must have two parts with a blank between them");
    spec = good;
    spec.split_patterns = {"(a"};
    EXPECT_EQ(refusal(spec),
              "the pre-tokenizer's pattern \"(a\" does not compile: missing closing parenthesis");
    spec = small_sentence_piece_spec();
    spec.scores.pop_back();
    EXPECT_EQ(refusal(spec), "the tokenizer has 272 scores for 273 tokens");
    spec = small_sentence_piece_spec();
    spec.scores[9] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(refusal(spec), "a score of the tokenizer is not a number");
}

TEST(Tokenizer, RandomTextRoundTrips) {
    const auto byte_level = make(small_byte_level_spec());
    TokenizerSpec spec = small_sentence_piece_spec();
    spec.add_space_prefix = false;
    const auto sentence_piece = make(spec);
    const std::vector<std::string_view> pieces = {
        "a", "b", "c", " ", "  ", "\n", "abc", "é", "한", "1", "'", "s", "<|im_end|>", "<think>"};
    for (Random random : test_seeds()) {
        SCOPED_TRACE(random.replay());
        for (int i = 0; i < 200; ++i) {
            std::string text;
            for (int64_t n = random.below(60); n > 0; --n) {
                text += pieces[static_cast<size_t>(random.below(std::ssize(pieces)))];
            }
            EXPECT_EQ(byte_level->decode(byte_level->encode(text, kPlain), false), text);
            EXPECT_EQ(sentence_piece->decode(sentence_piece->encode(text, kPlain), false), text);
        }
    }
}

}  // namespace
}  // namespace weir
