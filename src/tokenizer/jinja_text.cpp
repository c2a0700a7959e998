#include "tokenizer/jinja_text.h"

#include <algorithm>

namespace weir::jinja {

void Text::append(std::string_view bytes, bool trusted) {
    if (bytes.empty()) return;
    if (bytes.size() > kTextBytesMax - bytes_.size()) {
        overflow_ = true;
        return;
    }
    if (bytes_.empty()) {
        first_trusted_ = trusted;
    } else if (last_trusted() != trusted) {
        borders_.push_back(bytes_.size());
    }
    bytes_.append(bytes);
}

void Text::append(const Text& other) { append(other, 0, other.size()); }

void Text::append(const Text& other, size_t begin, size_t end) {
    end = std::min(end, other.size());
    if (begin >= end) return;
    auto border = std::upper_bound(other.borders_.begin(), other.borders_.end(), begin);
    bool trusted = other.trusted_at(begin);
    const std::string_view bytes = other.view();
    while (begin < end) {
        const size_t stop = border == other.borders_.end() ? end : std::min(*border++, end);
        append(bytes.substr(begin, stop - begin), trusted);
        trusted = !trusted;
        begin = stop;
    }
}

Text Text::slice(size_t begin, size_t end) const {
    Text out;
    out.append(*this, begin, end);
    return out;
}

bool Text::trusted_at(size_t byte) const {
    const auto passed = std::upper_bound(borders_.begin(), borders_.end(), byte) - borders_.begin();
    return first_trusted_ == (passed % 2 == 0);
}

std::vector<TextSegment> Text::segments() const {
    std::vector<TextSegment> out;
    size_t begin = 0;
    bool trusted = first_trusted_;
    for (size_t i = 0; i <= borders_.size() && begin < bytes_.size(); ++i) {
        const size_t end = i < borders_.size() ? borders_[i] : bytes_.size();
        out.push_back({bytes_.substr(begin, end - begin), trusted});
        trusted = !trusted;
        begin = end;
    }
    return out;
}

char32_t next_char(std::string_view text, size_t& pos) {
    const auto lead = static_cast<unsigned char>(text[pos]);
    const size_t length = std::min(char_bytes(text[pos]), text.size() - pos);
    char32_t c = length == 1 ? lead : lead & (0xFFu >> (length + 1));
    for (size_t i = 1; i < length; ++i) {
        c = (c << 6) | (static_cast<unsigned char>(text[pos + i]) & 0x3F);
    }
    pos += length;
    return c;
}

size_t prev_char(std::string_view text, size_t end) {
    size_t begin = end - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    return begin;
}

void append_utf8(std::string& out, char32_t c) {
    const auto put = [&out](char32_t byte) { out += static_cast<char>(byte); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | (c >> 6));
        put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        put(0xE0 | (c >> 12));
        put(0x80 | ((c >> 6) & 0x3F));
        put(0x80 | (c & 0x3F));
    } else {
        put(0xF0 | (c >> 18));
        put(0x80 | ((c >> 12) & 0x3F));
        put(0x80 | ((c >> 6) & 0x3F));
        put(0x80 | (c & 0x3F));
    }
}

size_t count_chars(std::string_view text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
    }));
}

size_t char_offset(std::string_view text, size_t index) {
    size_t pos = 0;
    while (index > 0 && pos < text.size()) {
        pos += char_bytes(text[pos]);
        --index;
    }
    return std::min(pos, text.size());
}

bool is_ascii(std::string_view text) {
    return std::none_of(text.begin(), text.end(),
                        [](char byte) { return static_cast<unsigned char>(byte) >= 0x80; });
}

bool is_space(char32_t c) {
    if (c < 0x80) return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_line_end(char32_t c) {
    return (c >= 10 && c <= 13) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
}

}  // namespace weir::jinja
