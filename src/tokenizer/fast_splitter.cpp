#include "tokenizer/split_patterns.h"
#include "tokenizer/splitter.h"
#include "tokenizer/utf8.h"

namespace weir {
namespace {

/// What the hand-written matchers share: characters with their classes, runs of one kind.
class Scanner {
 public:
    Scanner(std::string_view text, const CharClasses& classes) : text_(text), classes_(&classes) {}

    struct Char {
        uint8_t class_bits;
        uint32_t bytes;
    };
    size_t size() const { return text_.size(); }
    char byte(size_t pos) const { return text_[pos]; }
    Char at(size_t pos) const {
        const auto c = static_cast<unsigned char>(text_[pos]);
        if (c < 0x80) [[likely]]
            return {classes_->of_ascii(c), 1};
        const Utf8Char decoded = decode_valid_utf8(text_.data() + pos);
        return {classes_->of(decoded.code_point), decoded.bytes};
    }
    /// End of the run of characters at `pos` for which (class & mask) == want holds.
    size_t run_end(size_t pos, uint8_t mask, uint8_t want) const {
        while (pos < text_.size()) {
            const Char c = at(pos);
            if ((c.class_bits & mask) != want) break;
            pos += c.bytes;
        }
        return pos;
    }
    size_t newlines_end(size_t pos) const {
        while (pos < text_.size() && (text_[pos] == '\r' || text_[pos] == '\n')) ++pos;
        return pos;
    }
    /// Bytes of 's, 't, 're, 've, 'm, 'll or 'd at `pos`, where a ' stands; 0 if none.
    size_t contraction(size_t pos) const {
        const std::string_view rest = text_.substr(pos + 1, 2);
        if (rest.empty()) return 0;
        switch (rest[0]) {
            case 's':
            case 't':
            case 'm':
            case 'd': return 2;
            default: return rest == "re" || rest == "ve" || rest == "ll" ? 3 : 0;
        }
    }
    /// The same in any case; U+017F (long s) folds to s.
    size_t contraction_any_case(size_t pos) const {
        const std::string_view rest = text_.substr(pos + 1, 2);
        if (rest.empty()) return 0;
        const auto lower = [](char c) {
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        };
        const char first = lower(rest[0]);
        if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
        if (rest == "\xc5\xbf") return 3;
        if (rest.size() < 2) return 0;
        const char second = lower(rest[1]);
        const bool known =
            ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
        return known ? 3 : 0;
    }
    /// End of the word at `pos`, a run of White_Space that ends at `end`: before a visible
    /// character the last one of the run is left to it (`\s+(?!\S)|\s+`).
    size_t spaces_word(size_t pos, size_t end, bool at_end) const {
        if (at_end) return end;
        size_t last = end - 1;
        while ((text_[last] & 0xc0) == 0x80) --last;
        return last > pos ? last : end;
    }

 private:
    std::string_view text_;
    const CharClasses* classes_;
};

/// split_patterns::kGpt2, alone or behind split_patterns::kEachDigit.
template <bool kDigitsAlone>
class Gpt2Splitter final : public Splitter {
 public:
    explicit Gpt2Splitter(const CharClasses& classes) : classes_(&classes) {}

    void split(std::string_view text, std::vector<uint32_t>& ends) const override {
        const Scanner scan(text, *classes_);
        for (size_t pos = 0; pos < text.size();) {
            pos = word_end(scan, pos);
            ends.push_back(static_cast<uint32_t>(pos));
        }
    }

 private:
    static constexpr uint8_t kKind = char_class::kLetter | char_class::kNumber | char_class::kSpace;

    static size_t word_end(const Scanner& scan, size_t pos) {
        const Scanner::Char first = scan.at(pos);
        if (first.class_bits & char_class::kLetter)
            return scan.run_end(pos + first.bytes, char_class::kLetter, char_class::kLetter);
        if (scan.byte(pos) == ' ' && pos + 1 < scan.size()) {
            const Scanner::Char next = scan.at(pos + 1);
            if (next.class_bits & char_class::kLetter) {
                return scan.run_end(pos + 1 + next.bytes, char_class::kLetter, char_class::kLetter);
            }
            if (!(next.class_bits & char_class::kSpace)) {
                // Digits that stand alone end the piece, so the blank before them is a word too.
                if (kDigitsAlone && (next.class_bits & char_class::kNumber)) return pos + 1;
                return scan.run_end(pos + 1 + next.bytes, kKind, next.class_bits & kKind);
            }
        }
        if (first.class_bits & char_class::kSpace) {
            const size_t end =
                scan.run_end(pos + first.bytes, char_class::kSpace, char_class::kSpace);
            const bool at_end = end == scan.size() ||
                                (kDigitsAlone && (scan.at(end).class_bits & char_class::kNumber));
            return scan.spaces_word(pos, end, at_end);
        }
        if (first.class_bits & char_class::kNumber) {
            if (kDigitsAlone) return pos + first.bytes;
            return scan.run_end(pos + first.bytes, char_class::kNumber, char_class::kNumber);
        }
        if (scan.byte(pos) == '\'') {
            if (const size_t bytes = scan.contraction(pos)) return pos + bytes;
        }
        return scan.run_end(pos + first.bytes, kKind, 0);
    }

    const CharClasses* classes_;
};

/// split_patterns::kLlama3 (three digits) and split_patterns::kQwen2 (one).
template <int kDigitsMax>
class Llama3Splitter final : public Splitter {
 public:
    explicit Llama3Splitter(const CharClasses& classes) : classes_(&classes) {}

    void split(std::string_view text, std::vector<uint32_t>& ends) const override {
        const Scanner scan(text, *classes_);
        for (size_t pos = 0; pos < text.size();) {
            pos = word_end(scan, pos);
            ends.push_back(static_cast<uint32_t>(pos));
        }
    }

 private:
    static constexpr uint8_t kKind = char_class::kLetter | char_class::kNumber | char_class::kSpace;

    static size_t word_end(const Scanner& scan, size_t pos) {
        const Scanner::Char first = scan.at(pos);
        const char byte = scan.byte(pos);
        if (first.class_bits & char_class::kLetter)
            return scan.run_end(pos + first.bytes, char_class::kLetter, char_class::kLetter);
        if (first.class_bits & char_class::kNumber) return digits_end(scan, pos);
        if (byte == '\'') {
            if (const size_t bytes = scan.contraction_any_case(pos)) return pos + bytes;
        }
        const size_t second = pos + first.bytes;
        if (byte != '\r' && byte != '\n' && second < scan.size()) {
            const Scanner::Char next = scan.at(second);
            if (next.class_bits & char_class::kLetter) {
                return scan.run_end(second + next.bytes, char_class::kLetter, char_class::kLetter);
            }
            if (byte == ' ' && !(next.class_bits & kKind)) {
                return scan.newlines_end(scan.run_end(second + next.bytes, kKind, 0));
            }
        }
        if (!(first.class_bits & char_class::kSpace)) {
            return scan.newlines_end(scan.run_end(second, kKind, 0));
        }
        return spaces_end(scan, pos);
    }

    static size_t digits_end(const Scanner& scan, size_t pos) {
        for (int i = 0; i < kDigitsMax && pos < scan.size(); ++i) {
            const Scanner::Char c = scan.at(pos);
            if (!(c.class_bits & char_class::kNumber)) break;
            pos += c.bytes;
        }
        return pos;
    }

    /// `\s*[\r\n]+|\s+(?!\S)|\s+`: up to the last line end of the run, if it has one.
    static size_t spaces_end(const Scanner& scan, size_t pos) {
        const size_t end = scan.run_end(pos, char_class::kSpace, char_class::kSpace);
        for (size_t last = end; last > pos; --last) {
            if (scan.byte(last - 1) == '\n' || scan.byte(last - 1) == '\r') return last;
        }
        return scan.spaces_word(pos, end, end == scan.size());
    }

    const CharClasses* classes_;
};

}  // namespace

std::unique_ptr<Splitter> make_fast_splitter(const SplitRule& rule, const CharClasses& classes) {
    const auto& patterns = rule.patterns;
    if (patterns.size() == 1 && patterns[0] == split_patterns::kGpt2) {
        return std::make_unique<Gpt2Splitter<false>>(classes);
    }
    if (patterns.size() == 2 && patterns[0] == split_patterns::kEachDigit &&
        patterns[1] == split_patterns::kGpt2) {
        return std::make_unique<Gpt2Splitter<true>>(classes);
    }
    if (patterns.size() == 1 && patterns[0] == split_patterns::kLlama3) {
        return std::make_unique<Llama3Splitter<3>>(classes);
    }
    if (patterns.size() == 1 && patterns[0] == split_patterns::kQwen2) {
        return std::make_unique<Llama3Splitter<1>>(classes);
    }
    return nullptr;
}

}  // namespace weir
