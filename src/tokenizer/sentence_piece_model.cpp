#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "tokenizer/text_model.h"
#include "tokenizer/utf8.h"

namespace weir {
namespace {

constexpr std::string_view kBlank = "\xe2\x96\x81";  // U+2581.
// Words that are found whole: the best of those that begin with a blank. More of them would cost
// start time (each is merged once to see that it comes out whole) and are rare in text.
constexpr size_t kWholeWordsMax = 65'536;
constexpr size_t kDirectChars = 0x10000;

class SentencePieceModel final : public TextModel {
 public:
    SentencePieceModel(const Vocabulary& vocabulary, const std::vector<BpeMerge>& merges,
                       const SentencePieceOptions& options)
        : vocabulary_(&vocabulary),
          options_(options),
          merger_(merges),
          words_(kWholeWordsMax),
          chars_(kDirectChars, kNoToken) {
        cut_before_blanks_ = true;
        for (const BpeMerge& merge : merges) {
            if (vocabulary.string(merge.right).starts_with(kBlank) &&
                !vocabulary.string(merge.left).ends_with(kBlank)) {
                cut_before_blanks_ = false;
            }
        }
        for (TokenId id = 0; id < vocabulary.size(); ++id) add_char(id);
        add_words(merges);
    }

    void encode(std::string_view text, EncodeScratch& scratch,
                std::vector<TokenId>& out) const override {
        CHECK(text.size() <= UINT32_MAX / kBlank.size() - 1);
        const std::string_view escaped = escape(text, scratch);
        bool after_unknown = false;
        uint32_t begin = 0;
        for (const uint32_t end : scratch.ends) {
            encode_word(escaped.substr(begin, end - begin), scratch.bpe, after_unknown, out);
            begin = end;
        }
    }

 private:
    void add_char(TokenId id) {
        const std::string_view token = vocabulary_->string(id);
        if (token.empty() || token.size() > 3 || vocabulary_->is_special(id)) return;
        const Utf8Char c = decode_utf8(token, 0);
        if (c.bytes != token.size() || chars_[c.code_point] != kNoToken) return;
        chars_[c.code_point] = id;
    }

    /// Words that their merges make one token, the best kWholeWordsMax.
    void add_words(const std::vector<BpeMerge>& merges) {
        BpeScratch scratch;
        TokenId last = kNoToken;
        size_t count = 0;
        for (const BpeMerge& merge : merges) {
            if (count == kWholeWordsMax) break;
            const std::string_view word = vocabulary_->string(merge.merged);
            if (merge.merged == last || !word.starts_with(kBlank)) continue;
            if (words_.find(word) != kNoToken) continue;
            last = merge.merged;
            bool after_unknown = false;
            fill_symbols(word, scratch, after_unknown);
            if (merger_.merge_to_one(scratch) != merge.merged) continue;
            words_.insert(word, merge.merged);
            ++count;
        }
        words_.finish();
    }

    /// Blanks as U+2581, with the ends of words, within which merges stay, in scratch.ends. A word
    /// ends before a blank that follows something else, if no merge crosses there.
    std::string_view escape(std::string_view text, EncodeScratch& scratch) const {
        scratch.ends.clear();
        scratch.text.resize((text.size() + 1) * kBlank.size());
        char* const base = scratch.text.data();
        char* out = base;
        bool blank = true;
        const auto put_blank = [&] {
            if (!blank && cut_before_blanks_) {
                scratch.ends.push_back(static_cast<uint32_t>(out - base));
            }
            std::memcpy(out, kBlank.data(), kBlank.size());
            out += kBlank.size();
            blank = true;
        };
        if (options_.add_space_prefix) put_blank();
        for (size_t pos = 0; pos < text.size(); ++pos) {
            if (text[pos] == ' ') {
                put_blank();
            } else if (text[pos] == kBlank[0] && text.substr(pos).starts_with(kBlank)) {
                put_blank();
                pos += kBlank.size() - 1;
            } else {
                *out++ = text[pos];
                blank = false;
            }
        }
        scratch.ends.push_back(static_cast<uint32_t>(out - base));
        return {base, static_cast<size_t>(out - base)};
    }

    void encode_word(std::string_view word, BpeScratch& scratch, bool& after_unknown,
                     std::vector<TokenId>& out) const {
        const TokenId whole = words_.find(word);
        if (whole != kNoToken) {
            out.push_back(whole);
            after_unknown = false;
            return;
        }
        fill_symbols(word, scratch, after_unknown);
        merger_.merge(scratch, out);
    }

    /// Each character: its token, else its bytes' tokens, else the unknown token, once for a run.
    void fill_symbols(std::string_view word, BpeScratch& scratch, bool& after_unknown) const {
        scratch.symbols.clear();
        for (size_t pos = 0; pos < word.size();) {
            const Utf8Char c = decode_utf8(word, pos);
            const std::string_view bytes = word.substr(pos, std::max<uint32_t>(c.bytes, 1));
            pos += bytes.size();
            const TokenId id = c.bytes > 0 ? find_char(c.code_point, bytes) : kNoToken;
            if (id != kNoToken) {
                scratch.symbols.push_back(id);
                after_unknown = false;
            } else if (options_.byte_fallback && has_byte_tokens(bytes)) {
                for (const char byte : bytes) {
                    scratch.symbols.push_back(vocabulary_->byte_token(static_cast<uint8_t>(byte)));
                }
                after_unknown = false;
            } else {
                if (options_.unk != kNoToken && !after_unknown) {
                    scratch.symbols.push_back(options_.unk);
                }
                after_unknown = true;
            }
        }
    }

    TokenId find_char(char32_t c, std::string_view bytes) const {
        if (c < kDirectChars) return chars_[c];
        const TokenId id = vocabulary_->find(bytes);
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
    WordTable words_;
    std::vector<TokenId> chars_;  // Tokens of single characters of the basic plane.
    bool cut_before_blanks_;
};

}  // namespace

std::unique_ptr<TextModel> make_sentence_piece_model(const Vocabulary& vocabulary,
                                                     const std::vector<BpeMerge>& merges,
                                                     const SentencePieceOptions& options) {
    return std::make_unique<SentencePieceModel>(vocabulary, merges, options);
}

}  // namespace weir
