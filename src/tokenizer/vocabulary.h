#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "tokenizer/string_index.h"
#include "tokenizer/tokenizer.h"

namespace weir {

/// How a token string stands for bytes.
enum class TokenCoding {
    kByteLevel,      // GPT-2's alphabet: one character a byte.
    kSentencePiece,  // "▁" for a blank, <0xXX> for a byte.
};

/// The tokens of a model by id: their strings as published, the bytes they stand for, their kind.
class Vocabulary {
 public:
    /// `added` tokens stand for their own text and overrule what `types` says about their ids.
    /// Fails with kBadTokenizer.
    static Result<Vocabulary> make(TokenCoding coding, std::vector<std::string> tokens,
                                   std::vector<TokenType> types,
                                   const std::vector<AddedToken>& added);

    int32_t size() const { return static_cast<int32_t>(tokens_.size()); }
    std::string_view string(TokenId id) const { return tokens_[static_cast<size_t>(id)]; }
    std::string_view bytes(TokenId id) const {
        const auto i = static_cast<size_t>(id);
        return std::string_view(arena_).substr(begins_[i], begins_[i + 1] - begins_[i]);
    }
    /// Control tokens and the unknown token: dropped by skip_special_tokens.
    bool is_special(TokenId id) const { return special_[static_cast<size_t>(id)] != 0; }
    TokenType type(TokenId id) const {
        return types_.empty() ? TokenType::kNormal : types_[static_cast<size_t>(id)];
    }
    /// The token of that exact string (the lowest id, if several), or kNoToken.
    TokenId find(std::string_view token) const { return index_.find(token, tokens_); }
    /// find() in two steps, for many at once; see StringIndex.
    void prefetch(uint64_t hash) const { index_.prefetch(hash); }
    TokenId find_hashed(uint64_t hash, std::string_view token) const {
        return index_.find_hashed(hash, token, tokens_);
    }
    /// The token of that byte alone (kByteLevel), or <0xXX> (kSentencePiece), or kNoToken.
    TokenId byte_token(uint8_t byte) const { return byte_tokens_[byte]; }

 private:
    Vocabulary() = default;
    void fill_bytes(TokenCoding coding, const std::vector<AddedToken>& added);

    std::vector<std::string> tokens_;
    std::vector<TokenType> types_;
    std::vector<uint8_t> special_;
    std::string arena_;             // The bytes of all tokens, one after the other.
    std::vector<uint32_t> begins_;  // By id, and one more for the end.
    std::vector<TokenId> byte_tokens_;
    StringIndex index_;
};

}  // namespace weir
