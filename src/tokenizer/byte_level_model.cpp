#include "base/check.h"
#include "base/text.h"
#include "tokenizer/quoted.h"
#include "tokenizer/text_model.h"
#include "tokenizer/utf8.h"

namespace weir {
namespace {

class ByteLevelModel final : public TextModel {
 public:
    ByteLevelModel(const Vocabulary& vocabulary, const std::vector<BpeMerge>& merges,
                   bool ignore_merges, std::unique_ptr<Splitter> splitter)
        : vocabulary_(&vocabulary),
          splitter_(std::move(splitter)),
          merger_(merges),
          words_(static_cast<size_t>(vocabulary.size())) {
        BpeScratch scratch;
        for (TokenId id = 0; id < vocabulary.size(); ++id) {
            const std::string_view word = vocabulary.bytes(id);
            if (word.empty() || vocabulary.is_special(id)) continue;
            if (vocabulary.type(id) != TokenType::kNormal) continue;
            if (vocabulary.find(vocabulary.string(id)) != id) continue;  // A repeated token.
            if (!ignore_merges) {
                fill_symbols(word, scratch);
                if (merger_.merge_to_one(scratch) != id) continue;
            }
            words_.insert(word, id);
        }
        words_.finish();
    }

    void encode(std::string_view text, EncodeScratch& scratch,
                std::vector<TokenId>& out) const override {
        CHECK(text.size() <= UINT32_MAX);
        while (!text.empty()) {
            const size_t valid = valid_utf8_prefix(text);
            encode_valid(text.substr(0, valid), scratch, out);
            text.remove_prefix(valid);
            // Bytes that are no characters are a word of their own.
            const size_t invalid = invalid_utf8_prefix(text);
            if (invalid > 0) encode_word(text.substr(0, invalid), scratch, out);
            text.remove_prefix(invalid);
        }
    }

 private:
    void encode_valid(std::string_view text, EncodeScratch& scratch,
                      std::vector<TokenId>& out) const {
        scratch.ends.clear();
        splitter_->split(text, scratch.ends);
        uint32_t begin = 0;
        for (const uint32_t end : scratch.ends) {
            encode_word(text.substr(begin, end - begin), scratch, out);
            begin = end;
        }
    }

    void encode_word(std::string_view word, EncodeScratch& scratch,
                     std::vector<TokenId>& out) const {
        const TokenId whole = words_.find(word);
        if (whole != kNoToken) {
            out.push_back(whole);
            return;
        }
        fill_symbols(word, scratch.bpe);
        merger_.merge(scratch.bpe, out);
    }

    /// A byte without a token (damaged vocabularies only) is left out.
    void fill_symbols(std::string_view word, BpeScratch& scratch) const {
        scratch.symbols.clear();
        for (const char c : word) {
            const TokenId id = vocabulary_->byte_token(static_cast<uint8_t>(c));
            if (id != kNoToken) scratch.symbols.push_back(id);
        }
    }

    const Vocabulary* vocabulary_;
    std::unique_ptr<Splitter> splitter_;
    BpeMerger merger_;
    WordTable words_;
};

}  // namespace

Result<std::vector<BpeMerge>> parse_merges(const Vocabulary& vocabulary,
                                           const std::vector<std::string>& merges,
                                           std::vector<std::string>& warnings) {
    if (merges.size() >= PairTable::kRankEnd) {
        return fail(ErrorCode::kBadTokenizer,
                    concat("the tokenizer has ", merges.size(), " merges, at most ",
                           PairTable::kRankEnd - 1, " are supported"));
    }
    std::vector<BpeMerge> out;
    out.reserve(merges.size());
    std::string merged;
    size_t num_ignored = 0;
    std::string first_ignored;
    for (size_t i = 0; i < merges.size(); ++i) {
        const std::string_view merge = merges[i];
        const size_t blank = merge.find(' ', 1);
        if (blank == std::string_view::npos || blank + 1 == merge.size()) {
            return fail(ErrorCode::kBadTokenizer,
                        concat("merges[", i, "] ", quoted(merge),
                               ": a merge must have two parts with a blank between them"));
        }
        const std::string_view left = merge.substr(0, blank);
        const std::string_view right = merge.substr(blank + 1);
        merged.assign(left).append(right);
        const BpeMerge found{vocabulary.find(left), vocabulary.find(right),
                             vocabulary.find(merged)};
        if (found.left == kNoToken || found.right == kNoToken || found.merged == kNoToken) {
            const std::string_view missing = found.left == kNoToken    ? left
                                             : found.right == kNoToken ? right
                                                                       : std::string_view(merged);
            if (num_ignored++ == 0) {
                first_ignored = concat("merges[", i, "] ", quoted(merge), ": ", quoted(missing));
            }
            continue;
        }
        if (!vocabulary.is_special(found.merged)) out.push_back(found);
    }
    if (num_ignored > 0) {
        warnings.push_back(concat(first_ignored, " is no token; merges like this are ignored (",
                                  num_ignored, " of ", merges.size(), ")"));
    }
    return out;
}

std::unique_ptr<TextModel> make_byte_level_model(const Vocabulary& vocabulary,
                                                 const std::vector<BpeMerge>& merges,
                                                 bool ignore_merges,
                                                 std::unique_ptr<Splitter> splitter) {
    return std::make_unique<ByteLevelModel>(vocabulary, merges, ignore_merges, std::move(splitter));
}

}  // namespace weir
