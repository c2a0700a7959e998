#include "tokenizer/byte_alphabet.h"

#include "tokenizer/utf8.h"

namespace weir {

ByteAlphabet::ByteAlphabet() {
    bytes_.fill(-1);
    char32_t next_free = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
        const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
        const char32_t c = printable ? static_cast<char32_t>(byte) : next_free++;
        append_utf8(characters_[static_cast<size_t>(byte)], c);
        bytes_[c] = static_cast<int16_t>(byte);
    }
}

std::optional<std::string> ByteAlphabet::to_bytes(std::string_view token) const {
    std::string out;
    for (size_t pos = 0; pos < token.size();) {
        const Utf8Char c = decode_utf8(token, pos);
        if (c.bytes == 0 || c.code_point >= bytes_.size() || bytes_[c.code_point] < 0) {
            return std::nullopt;
        }
        out += static_cast<char>(bytes_[c.code_point]);
        pos += c.bytes;
    }
    return out;
}

}  // namespace weir
