#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/tokenizer.h"

namespace weir {

/// A small byte-level tokenizer for tests and fuzzing: ids 0 to 255 are the bytes, then come some
/// merges and three added tokens, the last one not special.
inline TokenizerSpec small_byte_level_spec() {
    const ByteAlphabet alphabet;
    TokenizerSpec spec;
    spec.model = "gpt2";
    spec.pre = "gpt-2";
    for (int byte = 0; byte < 256; ++byte) {
        spec.tokens.push_back(alphabet.character(static_cast<uint8_t>(byte)));
        spec.types.push_back(TokenType::kNormal);
    }
    using Merge = std::pair<std::string_view, std::string_view>;
    for (const auto& [left, right] : std::initializer_list<Merge>{{"a", "b"},
                                                                  {"ab", "c"},
                                                                  {"\u0120", "a"},
                                                                  {"\u0120", "\u0120"},
                                                                  {"\u0120\u0120", "\u0120\u0120"},
                                                                  {"\u010a", "\u010a"},
                                                                  {"\u00c3", "\u00a9"}}) {
        spec.tokens.push_back(std::string(left) + std::string(right));
        spec.types.push_back(TokenType::kNormal);
        spec.merges.push_back(std::string(left) + " " + std::string(right));
    }
    spec.bos = static_cast<TokenId>(spec.tokens.size());
    spec.tokens.push_back("<s>");
    spec.eos = spec.bos + 1;
    spec.tokens.push_back("<|im_end|>");
    spec.tokens.push_back("<think>");
    spec.types.insert(spec.types.end(),
                      {TokenType::kControl, TokenType::kControl, TokenType::kUserDefined});
    return spec;
}

/// A small SentencePiece tokenizer: "▁", letters, some words, all byte tokens.
inline TokenizerSpec small_sentence_piece_spec() {
    TokenizerSpec spec;
    spec.model = "llama";
    spec.unk = 0;
    spec.bos = 1;
    spec.eos = 2;
    spec.add_bos = true;
    const auto add = [&](std::string token, TokenType type, float score) {
        spec.tokens.push_back(std::move(token));
        spec.types.push_back(type);
        spec.scores.push_back(score);
    };
    add("<unk>", TokenType::kUnknown, 0);
    add("<s>", TokenType::kControl, 0);
    add("</s>", TokenType::kControl, 0);
    for (int byte = 0; byte < 256; ++byte) {
        constexpr char kHex[] = "0123456789ABCDEF";
        add(std::string("<0x") + kHex[byte >> 4] + kHex[byte & 15] + ">", TokenType::kByte, 0);
    }
    for (const char* token : {"\u2581", "a", "b", "c", "h", "i", "\u00e9", "\u2581a", "ab", "hi",
                              "\u2581hi", "abc", "\u2581\u2581"}) {
        add(token, TokenType::kNormal, -static_cast<float>(spec.tokens.size()));
    }
    add("<b>", TokenType::kUserDefined, 0);
    return spec;
}

}  // namespace weir
