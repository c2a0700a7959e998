#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/bpe_merger.h"
#include "tokenizer/splitter.h"
#include "tokenizer/vocabulary.h"
#include "tokenizer/word_table.h"

namespace weir {

/// Working memory of one encode() call.
struct EncodeScratch {
    BpeScratch bpe;
    std::vector<uint32_t> ends;
    std::string text;
};

/// Turns plain text, in which no added token occurs any more, into token ids. Immutable. Never
/// yields a control token.
class TextModel {
 public:
    virtual ~TextModel() = default;
    /// Appends the ids of `text` (any bytes; shorter than 4 GiB).
    virtual void encode(std::string_view text, EncodeScratch& scratch,
                        std::vector<TokenId>& out) const = 0;
};

/// Merges "left right" as ids, best first. Those that make a control token are left out, so that
/// text cannot spell one; those that name what is no token too, with a warning. Fails with
/// kBadTokenizer where a merge has not two parts.
Result<std::vector<BpeMerge>> parse_merges(const Vocabulary& vocabulary,
                                           const std::vector<std::string>& merges,
                                           std::vector<std::string>& warnings);

/// GPT-2's byte-level BPE. `ignore_merges`: a word that is a token is that token, whatever the
/// merges would make of it. The vocabulary must outlive the model.
std::unique_ptr<TextModel> make_byte_level_model(const Vocabulary& vocabulary,
                                                 const std::vector<BpeMerge>& merges,
                                                 bool ignore_merges,
                                                 std::unique_ptr<Splitter> splitter);

/// SentencePiece's BPE: what GGUF calls "llama".
struct SentencePieceOptions {
    TokenId unk = kNoToken;
    bool add_space_prefix = true;
    bool byte_fallback = true;
};
std::unique_ptr<TextModel> make_sentence_piece_model(const Vocabulary& vocabulary,
                                                     const std::vector<BpeMerge>& merges,
                                                     const SentencePieceOptions& options);

}  // namespace weir
