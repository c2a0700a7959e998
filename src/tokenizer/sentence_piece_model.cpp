#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "base/check.h"
#include "base/text.h"
#include "tokenizer/text_model.h"
#include "tokenizer/utf8.h"

namespace weir {
namespace {

constexpr std::string_view kBlank = "\xe2\x96\x81";  // U+2581.

// A longer token is never made by merging: cutting a hostile one takes quadratic time.
constexpr size_t kMergedBytesMax = 512;

size_t num_chars(std::string_view text) {
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

/// Every way to cut a token into two tokens is a merge. Order: user-defined tokens first, then by score;
/// of one score the longer left part, then the longer right part (in characters). That is how the merges
/// of a tokenizer.json are listed that was made from a SentencePiece model (checked on Gemma 3).
std::vector<BpeMerge> merges_from_scores(const Vocabulary& vocabulary,
                                         const std::vector<float>& scores) {
    struct Cut {
        TokenId left, right;
        uint32_t left_chars, right_chars;
    };
    std::vector<TokenId> ids(static_cast<size_t>(vocabulary.size()));
    std::iota(ids.begin(), ids.end(), 0);
    const auto key = [&](TokenId id) {
        const bool user = vocabulary.type(id) == TokenType::kUserDefined;
        return std::pair(user ? 0 : 1, -scores[static_cast<size_t>(id)]);
    };
    std::stable_sort(ids.begin(), ids.end(),
                     [&](TokenId a, TokenId b) { return key(a) < key(b); });
    std::vector<BpeMerge> out;
    std::vector<std::pair<Cut, TokenId>> group;  // Of tokens with one key.
    const auto flush = [&] {
        std::stable_sort(group.begin(), group.end(), [](const auto& a, const auto& b) {
            return std::tuple(b.first.left_chars, b.first.right_chars) <
                   std::tuple(a.first.left_chars, a.first.right_chars);
        });
        for (const auto& [cut, id] : group) out.push_back({cut.left, cut.right, id});
        group.clear();
    };
    for (size_t i = 0; i < ids.size(); ++i) {
        if (i > 0 && key(ids[i]) != key(ids[i - 1])) flush();
        const TokenType type = vocabulary.type(ids[i]);
        if (type != TokenType::kNormal && type != TokenType::kUserDefined) continue;
        const std::string_view token = vocabulary.string(ids[i]);
        if (token.size() > kMergedBytesMax) continue;
        const auto chars = static_cast<uint32_t>(num_chars(token));
        uint32_t left_chars = 0;
        for (size_t cut = 1; cut < token.size(); ++cut) {
            if ((token[cut] & 0xc0) == 0x80) continue;
            ++left_chars;
            const TokenId left = vocabulary.find(token.substr(0, cut));
            if (left == kNoToken) continue;
            const TokenId right = vocabulary.find(token.substr(cut));
            if (right == kNoToken) continue;
            group.push_back({{left, right, left_chars, chars - left_chars}, ids[i]});
        }
    }
    flush();
    return out;
}

class SentencePieceModel final : public TextModel {
   public:
    SentencePieceModel(const Vocabulary& vocabulary, const std::vector<BpeMerge>& merges,
                       const SentencePieceOptions& options)
        : vocabulary_(&vocabulary), options_(options), merger_(merges) {
        cut_before_blanks_ = true;
        for (const BpeMerge& merge : merges) {
            if (vocabulary.string(merge.right).starts_with(kBlank) &&
                !vocabulary.string(merge.left).ends_with(kBlank)) {
                cut_before_blanks_ = false;
            }
        }
    }

    void encode(std::string_view text, EncodeScratch& scratch,
                std::vector<TokenId>& out) const override {
        CHECK(text.size() <= UINT32_MAX / kBlank.size());
        std::string& escaped = scratch.text;
        escaped.clear();
        if (options_.add_space_prefix) escaped += kBlank;
        for (const char c : text) {
            if (c == ' ') {
                escaped += kBlank;
            } else {
                escaped += c;
            }
        }
        scratch.bpe.symbols.clear();
        bool after_unknown = false;
        for (size_t pos = 0; pos < escaped.size();) {
            if (cut_before_blanks_ && begins_word(escaped, pos)) {
                merger_.merge(scratch.bpe, out);
                scratch.bpe.symbols.clear();
            }
            pos += push_char(std::string_view(escaped).substr(pos), scratch.bpe.symbols,
                             after_unknown);
        }
        merger_.merge(scratch.bpe, out);
    }

   private:
    /// No merge crosses from text into a blank, so that a word can be merged by itself.
    static bool begins_word(std::string_view text, size_t pos) {
        return pos >= kBlank.size() && text.substr(pos).starts_with(kBlank) &&
               text.substr(pos - kBlank.size(), kBlank.size()) != kBlank;
    }

    /// Appends the first character of `text`: its token, else its bytes' tokens, else the unknown token,
    /// once for a run of them. Returns its length.
    size_t push_char(std::string_view text, std::vector<TokenId>& symbols,
                     bool& after_unknown) const {
        const Utf8Char c = decode_utf8(text, 0);
        const size_t bytes = c.bytes > 0 ? c.bytes : 1;
        const TokenId whole = c.bytes > 0 ? find_char(text.substr(0, bytes)) : kNoToken;
        if (whole != kNoToken) {
            symbols.push_back(whole);
            after_unknown = false;
            return bytes;
        }
        if (options_.byte_fallback && has_byte_tokens(text.substr(0, bytes))) {
            for (size_t i = 0; i < bytes; ++i) {
                symbols.push_back(vocabulary_->byte_token(static_cast<uint8_t>(text[i])));
            }
            after_unknown = false;
            return bytes;
        }
        if (options_.unk != kNoToken && !after_unknown) symbols.push_back(options_.unk);
        after_unknown = true;
        return bytes;
    }

    TokenId find_char(std::string_view text) const {
        const TokenId id = vocabulary_->find(text);
        return id != kNoToken && vocabulary_->is_special(id) ? kNoToken : id;
    }

    bool has_byte_tokens(std::string_view text) const {
        return std::all_of(text.begin(), text.end(), [&](char c) {
            return vocabulary_->byte_token(static_cast<uint8_t>(c)) != kNoToken;
        });
    }

    const Vocabulary* vocabulary_;
    SentencePieceOptions options_;
    BpeMerger merger_;
    bool cut_before_blanks_;
};

}  // namespace

Result<std::unique_ptr<TextModel>> make_sentence_piece_model(const Vocabulary& vocabulary,
                                                             const std::vector<float>& scores,
                                                             const std::vector<std::string>& merges,
                                                             const SentencePieceOptions& options) {
    std::vector<BpeMerge> parsed;
    if (!merges.empty()) {
        TRY(parsed, parse_merges(vocabulary, merges));
    } else {
        if (scores.size() != static_cast<size_t>(vocabulary.size())) {
            return fail(ErrorCode::kBadTokenizer,
                        concat("the tokenizer has ", scores.size(), " scores for ",
                               vocabulary.size(), " tokens"));
        }
        if (std::any_of(scores.begin(), scores.end(), [](float s) { return std::isnan(s); })) {
            return fail(ErrorCode::kBadTokenizer, "a score of the tokenizer is not a number");
        }
        parsed = merges_from_scores(vocabulary, scores);
        if (parsed.size() >= PairTable::kRankEnd) {
            return fail(ErrorCode::kBadTokenizer,
                        concat("the tokenizer has ", parsed.size(), " merges, at most ",
                               PairTable::kRankEnd - 1, " are supported"));
        }
    }
    return std::make_unique<SentencePieceModel>(vocabulary, parsed, options);
}

}  // namespace weir
