#include "tokenizer/jinja_lexer.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "tokenizer/jinja_text.h"
#include "tokenizer/jinja_unicode.h"

namespace weir::jinja {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// jinja2 reads \r\n and \r as \n and drops the last newline.
std::string normalize(std::string_view source) {
    std::string out;
    out.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
        if (source[i] == '\r') {
            out += '\n';
            if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
        } else {
            out += source[i];
        }
    }
    if (out.ends_with('\n')) out.pop_back();
    return out;
}

size_t skip_blanks(std::string_view text, size_t pos) {
    while (pos < text.size()) {
        size_t next = pos;
        if (!is_space(next_char(text, next))) break;
        pos = next;
    }
    return pos;
}

std::string_view strip_right(std::string_view text) {
    while (!text.empty()) {
        size_t begin = prev_char(text, text.size());
        size_t pos = begin;
        if (!is_space(next_char(text, pos))) break;
        text = text.substr(0, begin);
    }
    return text;
}

class Lexer {
 public:
    explicit Lexer(std::string source) : source_(std::move(source)), text_(source_) {}

    Result<std::vector<Token>> run() {
        while (pos_ < text_.size()) {
            TRY_VOID(outside());
        }
        push(TokenKind::kEnd, "");
        return std::move(tokens_);
    }

 private:
    char at(size_t pos) const { return pos < text_.size() ? text_[pos] : '\0'; }
    bool starts(std::string_view what) const { return text_.substr(pos_).starts_with(what); }
    void push(TokenKind kind, std::string_view text) {
        tokens_.push_back({kind, std::string(text), line_});
    }
    void move_to(size_t pos) {
        line_ += static_cast<int>(std::count(text_.begin() + static_cast<ptrdiff_t>(pos_),
                                             text_.begin() + static_cast<ptrdiff_t>(pos), '\n'));
        pos_ = pos;
    }
    tl::unexpected<Error> error(const auto&... pieces) const {
        return fail(ErrorCode::kBadTemplate, concat("line ", line_, ": ", pieces...));
    }

    /// Begin of the next tag at or after pos_, or the end.
    size_t find_tag() const {
        for (size_t pos = text_.find('{', pos_); pos < text_.size();
             pos = text_.find('{', pos + 1)) {
            const char next = at(pos + 1);
            if (next == '%' || next == '{' || next == '#') return pos;
        }
        return text_.size();
    }

    /// `data` ends where a tag begins whose sign is `sign` ('-', '+' or anything else).
    std::string_view control_blanks(std::string_view data, char sign, bool is_print) const {
        if (sign == '-') return strip_right(data);
        if (sign == '+' || is_print) return data;
        const size_t newline = data.rfind('\n');
        const size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
        if (line_begin == 0 && !at_line_start_) return data;
        const std::string_view rest = data.substr(line_begin);
        return strip_right(rest).empty() ? data.substr(0, line_begin) : data;
    }

    void end_of_tag(size_t pos) {
        at_line_start_ = pos > 0 && text_[pos - 1] == '\n';
        move_to(pos);
    }

    /// Offset behind a tag's end at `pos`, which has its closing mark of two bytes there, with a
    /// sign or not.
    size_t behind_end(size_t pos, bool newline_too) const {
        const char sign = at(pos);
        if (sign == '-') return skip_blanks(text_, pos + 3);
        if (sign == '+') return pos + 3;
        pos += 2;
        return newline_too && at(pos) == '\n' ? pos + 1 : pos;
    }
    bool is_end(size_t pos, std::string_view mark, bool plus) const {
        if (at(pos) == '-' || (plus && at(pos) == '+')) ++pos;
        return text_.substr(pos).starts_with(mark);
    }

    Result<void> outside() {
        const size_t tag = find_tag();
        const std::string_view data = text_.substr(pos_, tag - pos_);
        if (tag == text_.size()) {
            if (!data.empty()) push(TokenKind::kData, data);
            move_to(tag);
            return {};
        }
        const char kind = at(tag + 1);
        const char sign = at(tag + 2);
        const bool signed_tag = sign == '-' || sign == '+';
        const std::string_view kept = control_blanks(data, signed_tag ? sign : '\0', kind == '{');
        if (!kept.empty()) push(TokenKind::kData, kept);
        move_to(tag);
        const size_t inside = tag + (signed_tag ? 3 : 2);
        if (kind == '#') return comment(inside);
        if (kind == '%') {
            if (const size_t raw_begin = raw_tag(inside, "raw")) return raw(raw_begin);
        }
        push(kind == '{' ? TokenKind::kPrintBegin : TokenKind::kTagBegin, "");
        move_to(inside);
        return kind == '{' ? tag_body("}}", TokenKind::kPrintEnd)
                           : tag_body("%}", TokenKind::kTagEnd);
    }

    Result<void> comment(size_t pos) {
        for (; pos < text_.size(); ++pos) {
            pos = text_.find('#', pos);
            if (pos == std::string_view::npos) break;
            if (at(pos + 1) != '}') continue;
            const char sign = at(pos - 1);
            // The sign belongs to the end even where it is the begin's ("{#-#}" has one for both).
            const bool has_sign = (sign == '-' || sign == '+') && pos - 1 >= pos_ + 2;
            end_of_tag(behind_end(has_sign ? pos - 1 : pos, true));
            return {};
        }
        return error("Missing end of comment tag");
    }

    /// `pos` is inside of a "{%": if it is the tag of that name, the offset of its closing mark,
    /// else 0.
    size_t raw_tag(size_t pos, std::string_view name) const {
        pos = skip_blanks(text_, pos);
        if (!text_.substr(pos).starts_with(name)) return 0;
        pos = skip_blanks(text_, pos + name.size());
        return is_end(pos, "%}", name == "endraw") ? pos : 0;
    }

    Result<void> raw(size_t end_mark) {
        end_of_tag(behind_end(end_mark, false));
        for (size_t pos = text_.find("{%", pos_); pos < text_.size();
             pos = text_.find("{%", pos + 2)) {
            const char sign = at(pos + 2);
            const bool has_sign = sign == '-' || sign == '+';
            const size_t end = raw_tag(pos + (has_sign ? 3 : 2), "endraw");
            if (end == 0) continue;
            const std::string_view data = text_.substr(pos_, pos - pos_);
            const std::string_view kept = control_blanks(data, has_sign ? sign : '\0', false);
            if (!kept.empty()) push(TokenKind::kData, kept);
            end_of_tag(behind_end(end, true));
            return {};
        }
        return error("Missing end of raw directive");
    }

    Result<void> tag_body(std::string_view mark, TokenKind end_kind) {
        std::string open;  // Brackets to be closed: the mark ends the tag only when there is none.
        while (true) {
            const size_t next = skip_blanks(text_, pos_);
            move_to(next);
            if (pos_ >= text_.size()) return error("unexpected end of template inside of a tag");
            if (open.empty() && is_end(pos_, mark, mark == "%}")) {
                push(end_kind, "");
                end_of_tag(behind_end(pos_, end_kind == TokenKind::kTagEnd));
                return {};
            }
            const char c = at(pos_);
            if (c == '"' || c == '\'') {
                TRY_VOID(string(c));
            } else if (is_digit(c)) {
                number();
            } else if (is_name_start(c) || char_bytes(c) > 1) {
                TRY_VOID(name());
            } else {
                TRY_VOID(op(open));
            }
        }
    }

    Result<void> name() {
        size_t pos = pos_;
        while (pos < text_.size()) {
            size_t next = pos;
            const char32_t c = next_char(text_, next);
            const bool part =
                c < 0x80 ? is_name_start(text_[pos]) || is_digit(text_[pos]) : is_alnum(c);
            if (!part) break;
            pos = next;
        }
        if (pos == pos_)
            return error("unexpected char '", text_.substr(pos_, char_bytes(at(pos_))), "'");
        push(TokenKind::kName, text_.substr(pos_, pos - pos_));
        move_to(pos);
        return {};
    }

    /// Digits with single underscores between them, of the kind that `is` takes.
    size_t digits(size_t pos, bool (*is)(char)) const {
        if (!is(at(pos))) return pos;
        while (is(at(pos)) || (at(pos) == '_' && is(at(pos + 1)))) ++pos;
        return pos;
    }
    void push_number(TokenKind kind, size_t end) {
        std::string text(text_.substr(pos_, end - pos_));
        std::erase(text, '_');
        push(kind, text);
        move_to(end);
    }
    void number() {
        const char base = static_cast<char>(at(pos_ + 1) | 0x20);
        if (at(pos_) == '0' && (base == 'x' || base == 'o' || base == 'b')) {
            const auto is = base == 'x'   ? &is_hex
                            : base == 'o' ? +[](char c) { return c >= '0' && c <= '7'; }
                                          : +[](char c) { return c == '0' || c == '1'; };
            const size_t first = pos_ + (at(pos_ + 2) == '_' ? 3 : 2);
            const size_t end = digits(first, is);
            if (end > first) return push_number(TokenKind::kInteger, end);
        }
        const size_t whole = digits(pos_, is_digit);
        size_t end = whole;
        // "a.1.2" is two subscripts, not the number 1.2.
        if (pos_ == 0 || text_[pos_ - 1] != '.') {
            if (at(end) == '.' && is_digit(at(end + 1))) end = digits(end + 1, is_digit);
            if ((at(end) | 0x20) == 'e') {
                const size_t sign = at(end + 1) == '+' || at(end + 1) == '-' ? 1 : 0;
                if (is_digit(at(end + 1 + sign))) end = digits(end + 1 + sign, is_digit);
            }
        }
        if (end > whole) return push_number(TokenKind::kFloat, end);
        size_t last = whole;  // 007 is 00, then 7: no integer starts with a zero.
        if (at(pos_) == '0')
            last = digits(
                pos_, +[](char c) { return c == '0'; });
        push_number(TokenKind::kInteger, last);
    }

    Result<void> op(std::string& open) {
        constexpr std::array<std::string_view, 6> kDouble = {"//", "**", "==", "!=", ">=", "<="};
        constexpr std::string_view kSingle = "+-/*%~[](){}><=.:|,;";
        for (const std::string_view two : kDouble) {
            if (!starts(two)) continue;
            push(TokenKind::kOperator, two);
            move_to(pos_ + 2);
            return {};
        }
        const char c = at(pos_);
        if (kSingle.find(c) == std::string_view::npos) return error("unexpected char '", c, "'");
        if (c == '(') open += ')';
        if (c == '[') open += ']';
        if (c == '{') open += '}';
        if (c == ')' || c == ']' || c == '}') {
            if (open.empty()) return error("unexpected '", c, "'");
            if (open.back() != c)
                return error("unexpected '", c, "', expected '", open.back(), "'");
            open.pop_back();
        }
        push(TokenKind::kOperator, std::string_view(&c, 1));
        move_to(pos_ + 1);
        return {};
    }

    Result<void> string(char quote) {
        std::string value;
        size_t pos = pos_ + 1;
        while (pos < text_.size() && text_[pos] != quote) {
            if (text_[pos] != '\\') {
                value += text_[pos++];
                continue;
            }
            TRY_VOID(escape(pos, value));
        }
        if (pos >= text_.size()) return error("unexpected char '", quote, "'");
        push(TokenKind::kString, value);
        move_to(pos + 1);
        return {};
    }

    /// Python's escapes; `pos` is at the backslash and moves behind the escape.
    Result<void> escape(size_t& pos, std::string& out) {
        constexpr std::string_view kFrom = "abfnrtv\\'\"";
        constexpr std::string_view kTo = "\a\b\f\n\r\t\v\\'\"";
        const char c = at(pos + 1);
        const size_t simple = c == '\0' ? std::string_view::npos : kFrom.find(c);
        if (simple != std::string_view::npos) {
            out += kTo[simple];
            pos += 2;
            return {};
        }
        if (c == '\n') {  // A continued line.
            pos += 2;
            return {};
        }
        uint32_t code = 0;
        size_t end = pos + 2;
        if (c >= '0' && c <= '7') {
            for (end = pos + 1; end < pos + 4 && at(end) >= '0' && at(end) <= '7'; ++end) {
                code = code * 8 + static_cast<uint32_t>(at(end) - '0');
            }
        } else if (c == 'x' || c == 'u' || c == 'U') {
            const size_t length = c == 'x' ? 2 : c == 'u' ? 4 : 8;
            for (; end < pos + 2 + length && is_hex(at(end)); ++end) {
                const char h = at(end);
                code = code * 16 +
                       static_cast<uint32_t>(is_digit(h) ? h - '0' : (h | 0x20) - 'a' + 10);
            }
            if (end != pos + 2 + length) return error("truncated \\", c, " escape in a string");
        } else if (c == 'N') {
            return error("\\N{...} escapes are not supported");
        } else {  // Not an escape: Python keeps the backslash.
            out += '\\';
            ++pos;
            return {};
        }
        if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
            return error("an escape in a string is no Unicode character");
        }
        append_utf8(out, code);
        pos = end;
        return {};
    }

    std::string source_;
    std::string_view text_;
    size_t pos_ = 0;
    int line_ = 1;
    bool at_line_start_ = true;  // The token before ended with a newline (or there is none).
    std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize_template(std::string_view source) {
    return Lexer(normalize(source)).run();
}

}  // namespace weir::jinja
