#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "tokenizer/char_classes.h"
#include "tokenizer/tokenizer.h"

namespace weir {

/// Which bytes of a text may spell control tokens: [begin, end), ascending, not touching.
struct TrustedRange {
    size_t begin;
    size_t end;
};

/// Finds added tokens in text: the leftmost, of those at one place the longest.
class AddedTokenMatcher {
 public:
    /// Tokens with an empty text are ignored; of equal texts the first counts.
    AddedTokenMatcher(std::vector<AddedToken> tokens, const CharClasses& classes);

    struct Match {
        size_t begin;  // With the white space that lstrip and rstrip take in.
        size_t end;
        TokenId id;
    };
    /// The next match that begins at or after `from`. Special tokens match only within a trusted
    /// range. Time: O(distance to the match * length of the longest token).
    std::optional<Match> find(std::string_view text, size_t from,
                              const std::vector<TrustedRange>& trusted) const;
    bool empty() const { return tokens_.empty(); }

 private:
    std::optional<Match> match_at(std::string_view text, size_t pos, size_t from,
                                  const std::vector<TrustedRange>& trusted) const;
    bool allowed(const AddedToken& token, std::string_view text, size_t pos,
                 const std::vector<TrustedRange>& trusted) const;

    std::vector<AddedToken> tokens_;  // Sorted by text.
    std::array<uint32_t, 257>
        first_byte_begin_;  // Index of the first token with at least that byte.
    const CharClasses* classes_;
};

}  // namespace weir
