#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace weir {

enum class TokenType : int8_t {  // GGUF's tokenizer.ggml.token_type.
    kUndefined = 0,
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6,
};

/// Flags of an added token as in tokenizer.json; GGUF files do not carry them (defaults then).
struct AddedToken {
    TokenId id = kNoToken;
    std::string text;
    /// Control token: dropped by skip_special_tokens, matched only in trusted text.
    bool special = false;
    bool lstrip = false;
    bool rstrip = false;
    bool single_word = false;
    bool normalized = false;
};

/// Everything that defines a tokenizer, free of any file format. cmd/ fills it from a GGUF (later
/// from tokenizer.json).
struct TokenizerSpec {
    std::string model;  // "gpt2" (byte-level BPE) or "llama" (SentencePiece), GGUF's words.
    std::string pre;    // Pre-tokenizer of byte-level BPE: "smollm", "llama-bpe", "qwen2" ...
    std::vector<std::string> tokens;  // By id.
    std::vector<float> scores;        // SentencePiece; empty for BPE.
    std::vector<TokenType> types;     // By id; empty: all normal.
    std::vector<std::string> merges;  // "left right", best first.
    std::vector<AddedToken> added;    // Empty: derived from types (kControl, kUserDefined).
    TokenId bos = kNoToken;
    TokenId eos = kNoToken;
    TokenId unk = kNoToken;
    bool add_bos = false;
    bool add_eos = false;
    bool add_space_prefix = true;  // SentencePiece.
    bool byte_fallback = true;     // SentencePiece.
    // What only a tokenizer.json says; a GGUF's `pre` implies it.
    std::vector<std::string> split_patterns;  // Byte-level BPE: instead of `pre`, if not empty.
    bool ignore_merges = false;  // Byte-level BPE: a word that is a token is that token.
    bool normalize_nfc = false;  // Text is normalised before it is split (not added tokens).
    bool normalize_lowercase = false;
};

/// A piece of a rendered prompt. Control tokens are only recognised in trusted pieces: text that
/// came from a message is never trusted (design 2.2).
struct TextSegment {
    std::string text;
    bool trusted = true;
};

struct EncodeOptions {
    bool add_special_tokens = true;  // BOS/EOS as the model's tokenizer adds them.
    bool parse_special = true;       // Control tokens in the text become their ids.
};

/// Bytes to token ids and back. Immutable after creation; any number of threads may use it at once.
class Tokenizer {
 public:
    virtual ~Tokenizer() = default;

    /// Never fails: invalid UTF-8 goes through byte tokens or the unknown token. Linear time in
    /// text.size().
    virtual std::vector<TokenId> encode(std::string_view text,
                                        const EncodeOptions& options) const = 0;
    /// Same ids as encode() of the joined text, except that untrusted pieces give no control
    /// tokens; a piece border between trusted and untrusted text that holds no control token does
    /// not split words.
    virtual std::vector<TokenId> encode_segments(std::span<const TextSegment> segments,
                                                 const EncodeOptions& options) const = 0;
    /// Text of the ids; invalid UTF-8 becomes U+FFFD. Ids outside the vocabulary: CHECK.
    virtual std::string decode(std::span<const TokenId> ids, bool skip_special_tokens) const = 0;
    /// Raw bytes of one token as the incremental detokenizer joins them (may be half a character).
    /// Control tokens: their text.
    virtual std::string_view token_bytes(TokenId id) const = 0;
    /// The token as Hugging Face's convert_ids_to_tokens shows it ("Ġthe", "▁the", "<0x0A>").
    virtual std::string_view token_string(TokenId id) const = 0;

    virtual int32_t vocab_size() const = 0;
    virtual bool is_special(TokenId id) const = 0;
    virtual TokenId bos() const = 0;  // kNoToken if none.
    virtual TokenId eos() const = 0;
    /// Id of a token by its exact text (added tokens first), or kNoToken.
    virtual TokenId find(std::string_view token) const = 0;
    /// What its maker overlooked, a line each, for the log (merges that name no token).
    virtual std::vector<std::string> warnings() const { return {}; }
    /// True if decode() drops one blank at the very beginning (SentencePiece with a space prefix).
    virtual bool strips_leading_space() const { return false; }
};

/// Fails with kBadTokenizer, naming the field.
Result<std::unique_ptr<Tokenizer>> make_tokenizer(TokenizerSpec spec);

/// Token ids in, text out, as vLLM's detokenizer (reference 5.6): bytes of an incomplete UTF-8
/// character yield no text until complete. A value per choice; not thread-safe.
class IncrementalDetokenizer {
 public:
    /// The prompt is context: it decides about a leading space.
    IncrementalDetokenizer(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                           bool skip_special_tokens);
    /// New text that this token completes; "" if nothing is complete yet.
    std::string push(TokenId token);
    /// At the end of the text: U+FFFD if an incomplete character is left, else "". Who drops the
    /// result has vLLM's text; who appends it has what decode() gives
    /// (tests/cases/utf8-stream.json: cut-at-end).
    std::string finish();

 private:
    const Tokenizer* tokenizer_;
    bool skip_special_tokens_;
    bool strip_leading_space_;
    std::string pending_;  // Bytes of an incomplete character, at most 3.
};

}  // namespace weir
