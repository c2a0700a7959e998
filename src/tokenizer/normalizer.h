#pragma once

#include <string>
#include <string_view>

namespace weir {

/// What a tokenizer does to text before it splits it.
struct Normalizer {
    bool nfc = false;        // Unicode's normalization form C (UAX #15).
    bool lowercase = false;  // Full lower case, character by character.

    bool active() const { return nfc || lowercase; }
    /// Bytes that are no characters stay as they are. O(n log n) at worst: marks are sorted.
    std::string apply(std::string_view text) const;
};

}  // namespace weir
