#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// GPT-2's alphabet of byte-level BPE: each byte is written as one printable character, so that
/// token strings are text (0x20 is "Ġ"). Published with GPT-2 (encoder.py, bytes_to_unicode).
class ByteAlphabet {
 public:
    ByteAlphabet();
    /// The character of that byte, as UTF-8.
    const std::string& character(uint8_t byte) const { return characters_[byte]; }
    /// The bytes that a token string stands for, or nothing if it has a character outside the
    /// alphabet.
    std::optional<std::string> to_bytes(std::string_view token) const;

 private:
    std::array<std::string, 256> characters_;
    std::array<int16_t, 0x144> bytes_;  // By code point; -1: not in the alphabet.
};

}  // namespace weir
