#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace weir {

/// Unicode general categories as far as pre-tokenizers ask for them; one bit each.
namespace char_class {
constexpr uint8_t kLetter = 1;   // \p{L}
constexpr uint8_t kNumber = 2;   // \p{N}
constexpr uint8_t kSpace = 4;    // White_Space: what \s means to the published tokenizers.
constexpr uint8_t kMark = 8;     // \p{M}
constexpr uint8_t kPunct = 16;   // \p{P}
constexpr uint8_t kSymbol = 32;  // \p{S}
constexpr uint8_t kUpper = 64;   // \p{Lu} or \p{Lt}; a kLetter as well.
constexpr uint8_t kLower = 128;  // \p{Ll}; a kLetter as well.
}  // namespace char_class

/// Class bits of every code point. 200 KiB, of which English text touches 128 bytes.
class CharClasses {
 public:
    CharClasses();

    uint8_t of(char32_t code_point) const {
        if (code_point < table_.size()) [[likely]]
            return table_[code_point];
        return of_high(code_point);
    }
    uint8_t of_ascii(unsigned char c) const { return table_[c]; }

    /// Where the run of White_Space that ends at `end` begins; `text` is well-formed up to there.
    size_t space_run_begin(std::string_view text, size_t end) const;
    /// Where the run of White_Space that begins at `begin` ends.
    size_t space_run_end(std::string_view text, size_t begin) const;
    /// A character of \w (letter, mark, number, connector) ends before `pos` / begins at `pos`.
    bool word_char_before(std::string_view text, size_t pos) const;
    bool word_char_at(std::string_view text, size_t pos) const;

 private:
    static uint8_t of_high(char32_t code_point);
    bool is_word(char32_t code_point) const;
    std::vector<uint8_t> table_;
};

}  // namespace weir
