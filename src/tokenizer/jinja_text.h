#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace weir::jinja {

/// No text of a rendering, its output included, grows beyond this.
constexpr size_t kTextBytesMax = size_t{16} << 20;

/// A UTF-8 text that knows of each byte whether the template wrote it (trusted) or a request did.
/// All string operations of the interpreter keep that origin. Appending past kTextBytesMax drops
/// the bytes and sets overflow(), which whoever makes a value of the text turns into an error.
class Text {
 public:
    Text() = default;
    Text(std::string_view bytes, bool trusted) { append(bytes, trusted); }

    void append(std::string_view bytes, bool trusted);
    void append(const Text& other);
    /// The bytes [begin, end) of other; clamped to its size.
    void append(const Text& other, size_t begin, size_t end);
    Text slice(size_t begin, size_t end) const;

    std::string_view view() const { return bytes_; }
    size_t size() const { return bytes_.size(); }
    bool empty() const { return bytes_.empty(); }
    bool overflow() const { return overflow_; }
    bool trusted_at(size_t byte) const;
    /// True if no byte is untrusted.
    bool trusted() const { return bytes_.empty() || (first_trusted_ && borders_.empty()); }
    std::vector<TextSegment> segments() const;
    /// For the meter: what the text holds.
    size_t memory_bytes() const { return bytes_.size() + borders_.size() * sizeof(size_t); }

 private:
    bool last_trusted() const { return first_trusted_ == (borders_.size() % 2 == 0); }

    std::string bytes_;
    std::vector<size_t> borders_;  // Offsets where the origin changes; it alternates.
    bool first_trusted_ = true;
    bool overflow_ = false;
};

// UTF-8. All texts of the interpreter are well-formed: sources are checked when they come in.

/// Bytes of the character that starts with `lead`.
inline size_t char_bytes(char lead) {
    const auto byte = static_cast<unsigned char>(lead);
    return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}
/// The character at byte `pos`, which moves behind it.
char32_t next_char(std::string_view text, size_t& pos);
/// Begin of the last character before byte `end` (> 0).
size_t prev_char(std::string_view text, size_t end);
void append_utf8(std::string& out, char32_t c);
size_t count_chars(std::string_view text);
/// Byte offset of the character with that index; text.size() if there are not so many.
size_t char_offset(std::string_view text, size_t index);
bool is_ascii(std::string_view text);

/// Python's str.isspace and what str.splitlines splits at.
bool is_space(char32_t c);
bool is_line_end(char32_t c);

}  // namespace weir::jinja
