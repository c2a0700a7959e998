#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine_client.h"
#include "tokenizer/tokenizer.h"

namespace weir {

/// Texts of single tokens within a running text, for log-probabilities: a token that holds half a
/// character is
/// "" until the character is complete, then the whole character (reference 5.4). A value per
/// choice.
class TokenTexts {
 public:
    /// `as_ids`: "token_id:N" instead of text.
    TokenTexts(const Tokenizer& tokenizer, bool as_ids) : tokenizer_(&tokenizer), as_ids_(as_ids) {}

    /// The text that `id` would add at the current place.
    std::string text(TokenId id) const;
    /// `id` was taken.
    void advance(TokenId id);
    std::string_view bytes(TokenId id) const { return tokenizer_->token_bytes(id); }

 private:
    const Tokenizer* tokenizer_;
    bool as_ids_;
    std::string pending_;  // Bytes of a character that is not complete.
};

/// The sampled (or given) token first, then the best others, each token once: at most `count` + 1
/// entries, `count` < 0: all. `list` is what the engine reports for one position.
std::vector<TokenLogprob> distinct_logprobs(std::span<const TokenLogprob> list, int32_t count);

/// The four arrays of a completion's logprobs as JSON text without brackets; cleared per stream
/// frame.
struct CompletionLogprobs {
    std::string tokens, values, tops, offsets;
    int64_t next_offset = 0;  // Characters so far.

    void add(TokenTexts& texts, std::span<const TokenLogprob> list, int32_t count);
    /// The first prompt token of an echo, which has no log-probability.
    void add_first(TokenTexts& texts, TokenId token);
    void append_to(std::string& out) const;
    void clear();
};

/// One entry of a chat choice's logprobs.content.
void append_chat_logprob(std::string& out, TokenTexts& texts, std::span<const TokenLogprob> list,
                         int32_t count);

/// prompt_logprobs: [null, {"id": {"logprob", "rank", "decoded_token"}}, ...].
std::string prompt_logprobs_json(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                                 const std::vector<OutputPromptLogprobs>& entries, int32_t count);

}  // namespace weir
