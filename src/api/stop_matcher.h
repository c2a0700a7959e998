#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// Finds stop strings in text that comes in pieces, and says how much of it may be shown already.
/// All stop strings are followed at once by their failure functions (Knuth, Morris, Pratt 1977), so
/// a piece costs O(size * number of stops), however long the stops are. A value per choice.
///
/// Held back is only what may still become a stop string (design 2.2); vLLM holds the length of the
/// longest one. The text is the same (reference 5.6): the match that ends first wins, ties go to
/// the order of the list.
class StopMatcher {
 public:
    /// `include`: the stop string stays in the text, so nothing needs to be held back.
    StopMatcher(const std::vector<std::string>& stops, bool include);

    struct Found {
        int32_t stop = -1;  // Index of the stop string, or -1.
        std::string text;   // What may be shown now.
    };
    /// `may_stop` false (before min_tokens): a match that ends in this piece does not count.
    Found push(std::string_view piece, bool may_stop);
    /// What was held back, when the text ends without a stop string.
    std::string finish();

 private:
    struct Pattern {
        std::string text;
        std::vector<int32_t> fail;  // fail[i]: longest border of text[0, i); fail[0] = -1.
        int32_t matched = 0;        // Length of the longest prefix that the text ends with.
    };

    bool advance(Pattern& pattern, char c) const;

    std::vector<Pattern> patterns_;
    bool include_;
    std::string held_;
};

}  // namespace weir
