#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "base/text.h"
#include "tokenizer/quoted.h"
#include "tokenizer/splitter.h"

namespace weir {
namespace {

// White_Space, for which PCRE2 has no name: its \s also takes U+180E.
constexpr std::string_view kSpaces =
    R"(\x09-\x0d\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
// Patterns come from model files: their size and the work per match are bounded. A possessive scan
// of a megabyte needs no backtracking frames, so real patterns stay far below.
constexpr size_t kPatternBytesMax = 64 << 10;
constexpr uint32_t kMatchLimit = 10'000'000;
constexpr uint32_t kHeapLimitKib = 64 << 10;

/// `\s` and `\S` written out. A `\S` inside brackets cannot be and is left to PCRE2.
std::string with_own_spaces(std::string_view pattern) {
    std::string out;
    bool in_brackets = false;
    for (size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        if (c == '\\' && i + 1 < pattern.size()) {
            const char next = pattern[++i];
            if (next == 's') {
                out += in_brackets ? std::string(kSpaces) : concat('[', kSpaces, ']');
            } else if (next == 'S' && !in_brackets) {
                out += concat("[^", kSpaces, ']');
            } else {
                out += c;
                out += next;
            }
            continue;
        }
        if (c == '[') in_brackets = true;
        if (c == ']') in_brackets = false;
        out += c;
    }
    return out;
}

struct FreeCode {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatch {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeContext {
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

class PatternSplitter final : public Splitter {
 public:
    Result<void> add(std::string_view pattern) {
        if (pattern.size() > kPatternBytesMax) {
            return fail(ErrorCode::kBadTokenizer,
                        concat("the pre-tokenizer's pattern has ", pattern.size(),
                               " bytes, at most ", kPatternBytesMax, " are allowed"));
        }
        const std::string own = with_own_spaces(pattern);
        int error = 0;
        size_t offset = 0;
        std::unique_ptr<pcre2_code, FreeCode> code(pcre2_compile(
            reinterpret_cast<PCRE2_SPTR>(own.data()), own.size(),
            PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr));
        if (!code) {
            std::array<PCRE2_UCHAR, 120> text{};
            pcre2_get_error_message(error, text.data(), text.size());
            return fail(ErrorCode::kBadTokenizer,
                        concat("the pre-tokenizer's pattern ", quoted(pattern),
                               " does not compile: ", reinterpret_cast<const char*>(text.data())));
        }
        pcre2_jit_compile(code.get(),
                          PCRE2_JIT_COMPLETE);  // Where it fails, matching is only slower.
        codes_.push_back(std::move(code));
        return {};
    }

    void split(std::string_view text, std::vector<uint32_t>& ends) const override {
        std::unique_ptr<pcre2_match_context, FreeContext> context(
            pcre2_match_context_create(nullptr));
        pcre2_set_match_limit(context.get(), kMatchLimit);
        pcre2_set_heap_limit(context.get(), kHeapLimitKib);
        std::vector<uint32_t> pieces = {static_cast<uint32_t>(text.size())};
        std::vector<uint32_t> next;
        for (const auto& code : codes_) {
            std::unique_ptr<pcre2_match_data, FreeMatch> match(
                pcre2_match_data_create_from_pattern(code.get(), nullptr));
            next.clear();
            uint32_t begin = 0;
            for (const uint32_t end : pieces) {
                split_piece(*code, *match, *context, text.substr(begin, end - begin), begin, next);
                begin = end;
            }
            pieces.swap(next);
        }
        if (!text.empty()) ends.insert(ends.end(), pieces.begin(), pieces.end());
    }

 private:
    static void split_piece(const pcre2_code& code, pcre2_match_data& match,
                            pcre2_match_context& context, std::string_view piece, uint32_t offset,
                            std::vector<uint32_t>& ends) {
        const auto* subject = reinterpret_cast<PCRE2_SPTR>(piece.data());
        size_t done = 0;
        size_t pos = 0;
        while (pos < piece.size()) {
            // A limit that was hit counts as no match: the rest stays one piece.
            int rc = pcre2_match(&code, subject, piece.size(), pos, PCRE2_NO_UTF_CHECK, &match,
                                 &context);
            if (rc == PCRE2_ERROR_JIT_STACKLIMIT) {
                rc = pcre2_match(&code, subject, piece.size(), pos,
                                 PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, &match, &context);
            }
            if (rc < 0) break;
            const size_t* span = pcre2_get_ovector_pointer(&match);
            if (span[1] <= span[0]) {  // An empty match splits nothing; step over one character.
                pos = span[0] + 1;
                while (pos < piece.size() && (piece[pos] & 0xc0) == 0x80) ++pos;
                continue;
            }
            if (span[0] > done) ends.push_back(offset + static_cast<uint32_t>(span[0]));
            ends.push_back(offset + static_cast<uint32_t>(span[1]));
            done = pos = span[1];
        }
        if (done < piece.size()) ends.push_back(offset + static_cast<uint32_t>(piece.size()));
    }

    std::vector<std::unique_ptr<pcre2_code, FreeCode>> codes_;
};

}  // namespace

Result<std::unique_ptr<Splitter>> make_pattern_splitter(const SplitRule& rule) {
    auto out = std::make_unique<PatternSplitter>();
    for (const std::string& pattern : rule.patterns) {
        TRY_VOID(out->add(pattern));
    }
    return out;
}

Result<std::unique_ptr<Splitter>> make_splitter(const SplitRule& rule, const CharClasses& classes) {
    if (auto fast = make_fast_splitter(rule, classes)) return fast;
    return make_pattern_splitter(rule);
}

}  // namespace weir
