#include <algorithm>

#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8.h"

namespace weir {
namespace {

// vLLM primes its decoder with at least the last four tokens of the prompt: a blank at the
// beginning is dropped only where nothing visible stands in them.
constexpr size_t kContextTokens = 4;

}  // namespace

IncrementalDetokenizer::IncrementalDetokenizer(const Tokenizer& tokenizer,
                                               std::span<const TokenId> prompt,
                                               bool skip_special_tokens)
    : tokenizer_(&tokenizer),
      skip_special_tokens_(skip_special_tokens),
      strip_leading_space_(tokenizer.strips_leading_space()) {
    const auto tail = prompt.last(std::min(prompt.size(), kContextTokens));
    std::string bytes;
    for (const TokenId id : tail) {
        if (!skip_special_tokens || !tokenizer.is_special(id)) bytes += tokenizer.token_bytes(id);
    }
    if (!bytes.empty()) strip_leading_space_ = false;
    // A character that the prompt began is completed; nothing else of the prompt comes out.
    std::string prompt_text;
    pending_ = bytes.substr(append_utf8_lossy(prompt_text, bytes, true));
}

std::string IncrementalDetokenizer::push(TokenId token) {
    if (skip_special_tokens_ && tokenizer_->is_special(token)) return {};
    std::string_view bytes = tokenizer_->token_bytes(token);
    if (bytes.empty()) return {};
    if (strip_leading_space_ && bytes[0] == ' ') bytes.remove_prefix(1);
    strip_leading_space_ = false;
    pending_ += bytes;
    std::string out;
    pending_.erase(0, append_utf8_lossy(out, pending_, true));
    return out;
}

std::string IncrementalDetokenizer::finish() {
    std::string out;
    append_utf8_lossy(out, pending_, false);
    pending_.clear();
    return out;
}

}  // namespace weir
