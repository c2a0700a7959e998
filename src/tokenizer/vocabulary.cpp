#include "tokenizer/vocabulary.h"

#include <optional>

#include "base/text.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/pair_table.h"
#include "tokenizer/quoted.h"

namespace weir {
namespace {

constexpr std::string_view kBlank = "\xe2\x96\x81";  // U+2581, SentencePiece's blank.

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// The byte of "<0x0A>".
std::optional<uint8_t> parse_byte_token(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
    const int high = hex_digit(token[3]);
    const int low = hex_digit(token[4]);
    if (high < 0 || low < 0) return std::nullopt;
    return static_cast<uint8_t>(high << 4 | low);
}

void append_with_blanks(std::string& out, std::string_view token) {
    for (size_t pos = 0; pos < token.size();) {
        if (token.substr(pos).starts_with(kBlank)) {
            out += ' ';
            pos += kBlank.size();
        } else {
            out += token[pos++];
        }
    }
}

bool is_control(TokenType type) {
    return type == TokenType::kControl || type == TokenType::kUnknown;
}

}  // namespace

Result<Vocabulary> Vocabulary::make(TokenCoding coding, std::vector<std::string> tokens,
                                    std::vector<TokenType> types,
                                    const std::vector<AddedToken>& added) {
    if (tokens.empty()) return fail(ErrorCode::kBadTokenizer, "the tokenizer has no tokens");
    if (tokens.size() > static_cast<size_t>(PairTable::kIdEnd)) {
        return fail(ErrorCode::kBadTokenizer,
                    concat("the tokenizer has ", tokens.size(), " tokens, at most ",
                           PairTable::kIdEnd, " are supported"));
    }
    if (!types.empty() && types.size() != tokens.size()) {
        return fail(ErrorCode::kBadTokenizer,
                    concat("the tokenizer has ", types.size(), " token types for ", tokens.size(),
                           " tokens"));
    }
    Vocabulary out;
    out.tokens_ = std::move(tokens);
    out.types_ = std::move(types);
    out.special_.resize(out.tokens_.size());
    for (size_t i = 0; i < out.types_.size(); ++i) out.special_[i] = is_control(out.types_[i]);
    for (const AddedToken& token : added) {
        if (token.id < 0 || token.id >= out.size()) {
            return fail(ErrorCode::kBadTokenizer,
                        concat("added token ", quoted(token.text), " has the id ", token.id,
                               ", but there are ", out.tokens_.size(), " tokens"));
        }
        out.special_[static_cast<size_t>(token.id)] = token.special;
    }
    out.index_.build(out.tokens_);
    out.fill_bytes(coding, added);
    return out;
}

void Vocabulary::fill_bytes(TokenCoding coding, const std::vector<AddedToken>& added) {
    const ByteAlphabet alphabet;
    std::vector<const AddedToken*> own_text(tokens_.size());
    for (const AddedToken& token : added) own_text[static_cast<size_t>(token.id)] = &token;
    byte_tokens_.assign(256, kNoToken);
    begins_.reserve(tokens_.size() + 1);
    for (size_t i = 0; i < tokens_.size(); ++i) {
        begins_.push_back(static_cast<uint32_t>(arena_.size()));
        const std::string& token = tokens_[i];
        const auto id = static_cast<TokenId>(i);
        const bool literal = own_text[i] || special_[i] || type(id) == TokenType::kUserDefined;
        if (coding == TokenCoding::kSentencePiece) {
            const auto byte = literal ? std::nullopt : parse_byte_token(token);
            if (byte && byte_tokens_[*byte] == kNoToken) byte_tokens_[*byte] = id;
            if (byte) {
                arena_ += static_cast<char>(*byte);
            } else {
                append_with_blanks(arena_, own_text[i] ? own_text[i]->text : token);
            }
            continue;
        }
        const auto bytes = literal ? std::nullopt : alphabet.to_bytes(token);
        arena_ += bytes ? *bytes : own_text[i] ? own_text[i]->text : token;
        if (bytes && bytes->size() == 1) {
            TokenId& of_byte = byte_tokens_[static_cast<uint8_t>((*bytes)[0])];
            if (of_byte == kNoToken) of_byte = id;
        }
    }
    begins_.push_back(static_cast<uint32_t>(arena_.size()));
}

}  // namespace weir
