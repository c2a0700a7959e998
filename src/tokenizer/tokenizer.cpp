#include "tokenizer/tokenizer.h"

#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "tokenizer/added_token_matcher.h"
#include "tokenizer/char_classes.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/quoted.h"
#include "tokenizer/score_merges.h"
#include "tokenizer/splitter.h"
#include "tokenizer/text_model.h"
#include "tokenizer/utf8.h"
#include "tokenizer/vocabulary.h"

namespace weir {
namespace {

/// What the pieces that belong together are made of; moved into the tokenizer.
struct Parts {
    std::unique_ptr<CharClasses> classes;
    std::unique_ptr<Vocabulary> vocabulary;
    std::unique_ptr<TextModel> model;
    std::vector<AddedToken> added;
    Normalizer normalizer;
    TokenCoding coding;
    std::vector<std::string> warnings;
};

class BpeTokenizer final : public Tokenizer {
 public:
    BpeTokenizer(Parts parts, const TokenizerSpec& spec)
        : parts_(std::move(parts)),
          bos_(spec.bos),
          eos_(spec.eos),
          add_bos_(spec.add_bos && spec.bos != kNoToken),
          add_eos_(spec.add_eos && spec.eos != kNoToken),
          strip_leading_space_(parts_.coding == TokenCoding::kSentencePiece &&
                               spec.add_space_prefix),
          raw_matcher_(pick(parts_.added, false), *parts_.classes),
          normalized_matcher_(pick(parts_.added, true), *parts_.classes) {}

    std::vector<TokenId> encode(std::string_view text,
                                const EncodeOptions& options) const override {
        return encode_text(text, {{0, text.size()}}, options);
    }

    std::vector<TokenId> encode_segments(std::span<const TextSegment> segments,
                                         const EncodeOptions& options) const override {
        if (segments.size() == 1 && segments[0].trusted) return encode(segments[0].text, options);
        std::string text;
        std::vector<TrustedRange> trusted;
        for (const TextSegment& segment : segments) {
            const size_t begin = text.size();
            text += segment.text;
            if (!segment.trusted || segment.text.empty()) continue;
            if (!trusted.empty() && trusted.back().end == begin) {
                trusted.back().end = text.size();
            } else {
                trusted.push_back({begin, text.size()});
            }
        }
        return encode_text(text, trusted, options);
    }

    std::string decode(std::span<const TokenId> ids, bool skip_special_tokens) const override {
        std::string bytes;
        std::string out;
        for (const TokenId id : ids) {
            CHECK(0 <= id && id < vocab_size());
            if (skip_special_tokens && is_special(id)) continue;
            if (is_byte_fallback(id)) {
                bytes += token_bytes(id);
                continue;
            }
            flush_fallback_bytes(bytes, out);
            out += token_bytes(id);
        }
        flush_fallback_bytes(bytes, out);
        if (parts_.coding == TokenCoding::kByteLevel) {
            std::string text;
            append_utf8_lossy(text, out, false);
            return text;
        }
        if (strip_leading_space_ && out.starts_with(' ')) out.erase(0, 1);
        return out;
    }

    std::string_view token_bytes(TokenId id) const override {
        CHECK(0 <= id && id < vocab_size());
        return parts_.vocabulary->bytes(id);
    }
    std::string_view token_string(TokenId id) const override {
        CHECK(0 <= id && id < vocab_size());
        return parts_.vocabulary->string(id);
    }
    int32_t vocab_size() const override { return parts_.vocabulary->size(); }
    bool is_special(TokenId id) const override {
        CHECK(0 <= id && id < vocab_size());
        return parts_.vocabulary->is_special(id);
    }
    TokenId bos() const override { return bos_; }
    TokenId eos() const override { return eos_; }
    TokenId find(std::string_view token) const override {
        for (const AddedToken& added : parts_.added) {
            if (added.text == token) return added.id;
        }
        return parts_.vocabulary->find(token);
    }
    std::vector<std::string> warnings() const override { return parts_.warnings; }
    bool strips_leading_space() const override { return strip_leading_space_; }

 private:
    /// Control tokens are matched in the text as it was written, whatever their `normalized` says:
    /// trust is known about that text only.
    static std::vector<AddedToken> pick(const std::vector<AddedToken>& added, bool normalized) {
        std::vector<AddedToken> out;
        for (const AddedToken& token : added) {
            if ((token.normalized && !token.special) == normalized) out.push_back(token);
        }
        return out;
    }

    bool is_byte_fallback(TokenId id) const {
        if (parts_.coding != TokenCoding::kSentencePiece) return false;
        const std::string_view bytes = parts_.vocabulary->bytes(id);
        return bytes.size() == 1 &&
               parts_.vocabulary->byte_token(static_cast<uint8_t>(bytes[0])) == id;
    }

    /// As Hugging Face's ByteFallback decoder: a run of byte tokens is text, or as many U+FFFD.
    static void flush_fallback_bytes(std::string& bytes, std::string& out) {
        if (valid_utf8_prefix(bytes) == bytes.size()) {
            out += bytes;
        } else {
            for (size_t i = 0; i < bytes.size(); ++i) out += "\xef\xbf\xbd";
        }
        bytes.clear();
    }

    std::vector<TokenId> encode_text(std::string_view text, std::vector<TrustedRange> trusted,
                                     const EncodeOptions& options) const {
        std::vector<TokenId> out;
        out.reserve(text.size() / 4 + 4);
        EncodeScratch scratch;
        if (options.add_special_tokens && add_bos_) out.push_back(bos_);
        if (!options.parse_special) trusted.clear();
        size_t done = 0;
        while (done < text.size()) {
            const auto match = raw_matcher_.find(text, done, trusted);
            const size_t end = match ? match->begin : text.size();
            encode_raw(text.substr(done, end - done), scratch, out);
            if (!match) break;
            out.push_back(match->id);
            done = match->end;
        }
        if (options.add_special_tokens && add_eos_) out.push_back(eos_);
        return out;
    }

    void encode_raw(std::string_view text, EncodeScratch& scratch,
                    std::vector<TokenId>& out) const {
        if (text.empty()) return;
        std::string normalized;
        if (parts_.normalizer.active()) {
            normalized = parts_.normalizer.apply(text);
            text = normalized;
        }
        size_t done = 0;
        while (!normalized_matcher_.empty()) {
            const auto match = normalized_matcher_.find(text, done, {});
            if (!match) break;
            if (match->begin > done) {
                parts_.model->encode(text.substr(done, match->begin - done), scratch, out);
            }
            out.push_back(match->id);
            done = match->end;
        }
        if (done < text.size()) parts_.model->encode(text.substr(done), scratch, out);
    }

    Parts parts_;
    TokenId bos_;
    TokenId eos_;
    bool add_bos_;
    bool add_eos_;
    bool strip_leading_space_;
    AddedTokenMatcher raw_matcher_;
    AddedTokenMatcher normalized_matcher_;
};

/// GGUF files only have types: control and unknown tokens are special, user-defined ones are not.
std::vector<AddedToken> added_from_types(const TokenizerSpec& spec) {
    std::vector<AddedToken> out;
    for (size_t i = 0; i < spec.types.size() && i < spec.tokens.size(); ++i) {
        const TokenType type = spec.types[i];
        const bool special = type == TokenType::kControl || type == TokenType::kUnknown;
        if (!special && type != TokenType::kUserDefined) continue;
        AddedToken token;
        token.id = static_cast<TokenId>(i);
        token.text = spec.tokens[i];
        token.special = special;
        out.push_back(std::move(token));
    }
    return out;
}

/// SentencePiece writes blanks as U+2581, but GGUF converters write tokens of blanks alone as
/// blanks.
void write_blanks(TokenizerSpec& spec) {
    for (std::string& token : spec.tokens) {
        if (token.empty() || token.find_first_not_of(' ') != std::string::npos) continue;
        const size_t count = token.size();
        token.clear();
        for (size_t i = 0; i < count; ++i) token += "\xe2\x96\x81";
    }
}

Result<void> check_id(std::string_view name, TokenId id, size_t num_tokens) {
    if (id == kNoToken || (id >= 0 && static_cast<size_t>(id) < num_tokens)) return {};
    return fail(ErrorCode::kBadTokenizer, concat("the ", name, " token has the id ", id,
                                                 ", but there are only ", num_tokens, " tokens"));
}

Result<std::unique_ptr<TextModel>> make_byte_level(const TokenizerSpec& spec, Parts& parts) {
    SplitRule rule{spec.split_patterns};
    bool ignore_merges = spec.ignore_merges;
    if (rule.patterns.empty()) {
        const NamedSplitRule* named = find_split_rule(spec.pre);
        if (!named) {
            return fail(ErrorCode::kBadTokenizer,
                        concat("unknown pre-tokenizer ", quoted(spec.pre),
                               " (tokenizer.ggml.pre); known are ", split_rule_names(),
                               ". Give the model's own tokenizer.json with --tokenizer DIR"));
        }
        rule = named->rule;
        ignore_merges = named->ignore_merges;
    }
    TRY(auto splitter, make_splitter(rule, *parts.classes));
    TRY(const auto merges, parse_merges(*parts.vocabulary, spec.merges, parts.warnings));
    return make_byte_level_model(*parts.vocabulary, merges, ignore_merges, std::move(splitter));
}

/// A tokenizer.json lists its merges; in a GGUF they follow from the scores.
Result<std::unique_ptr<TextModel>> make_sentence_piece(const TokenizerSpec& spec, Parts& parts) {
    TRY(const auto merges, spec.merges.empty()
                               ? merges_from_scores(*parts.vocabulary, spec.scores)
                               : parse_merges(*parts.vocabulary, spec.merges, parts.warnings));
    return make_sentence_piece_model(*parts.vocabulary, merges,
                                     {spec.unk, spec.add_space_prefix, spec.byte_fallback});
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_tokenizer(TokenizerSpec spec) {
    const bool byte_level = spec.model == "gpt2";
    if (!byte_level && spec.model != "llama") {
        return fail(ErrorCode::kBadTokenizer,
                    concat("tokenizer model ", quoted(spec.model),
                           " is not supported; known are gpt2 (byte-level BPE) and llama "
                           "(SentencePiece)"));
    }
    Parts parts;
    parts.coding = byte_level ? TokenCoding::kByteLevel : TokenCoding::kSentencePiece;
    parts.normalizer = {spec.normalize_nfc, spec.normalize_lowercase};
    if (!byte_level) write_blanks(spec);
    parts.added = spec.added.empty() ? added_from_types(spec) : std::move(spec.added);
    const size_t num_tokens = spec.tokens.size();
    TRY(auto vocabulary,
        Vocabulary::make(parts.coding, std::move(spec.tokens), std::move(spec.types), parts.added));
    TRY_VOID(check_id("bos", spec.bos, num_tokens));
    TRY_VOID(check_id("eos", spec.eos, num_tokens));
    TRY_VOID(check_id("unk", spec.unk, num_tokens));
    parts.vocabulary = std::make_unique<Vocabulary>(std::move(vocabulary));
    parts.classes = std::make_unique<CharClasses>();
    if (byte_level) {
        TRY(parts.model, make_byte_level(spec, parts));
    } else {
        TRY(parts.model, make_sentence_piece(spec, parts));
    }
    return std::make_unique<BpeTokenizer>(std::move(parts), spec);
}

}  // namespace weir
