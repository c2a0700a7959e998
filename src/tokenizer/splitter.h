#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/char_classes.h"

namespace weir {

/// Cuts text into the words within which byte pairs are merged ("pre-tokenizer"). Immutable.
class Splitter {
 public:
    virtual ~Splitter() = default;
    /// Appends where each word of `text` ends; together the words are the text. `text` is
    /// well-formed UTF-8, shorter than 4 GiB. Linear time.
    virtual void split(std::string_view text, std::vector<uint32_t>& ends) const = 0;
};

/// How a pre-tokenizer cuts. Patterns are applied in turn, each to the pieces that the one before
/// left: a match is a piece, and so is the text between matches. "\s" in them means White_Space.
struct SplitRule {
    std::vector<std::string> patterns;
};

/// By PCRE2, with the limits of pattern_splitter.cpp. Fails with kBadTokenizer.
Result<std::unique_ptr<Splitter>> make_pattern_splitter(const SplitRule& rule);

/// By hand-written code, equal to the patterns (splitter_test.cpp compares them), or null if there
/// is none for these. `classes` must outlive it.
std::unique_ptr<Splitter> make_fast_splitter(const SplitRule& rule, const CharClasses& classes);

/// The fast one if there is one, else the one by PCRE2.
Result<std::unique_ptr<Splitter>> make_splitter(const SplitRule& rule, const CharClasses& classes);

struct NamedSplitRule {
    std::string_view pre;
    SplitRule rule;
    bool ignore_merges;  // A word that is a token is that token, whatever the merges say.
};
/// The rule of a name in GGUF's tokenizer.ggml.pre, or null.
const NamedSplitRule* find_split_rule(std::string_view pre);
/// "smollm, gpt-2, ..." for messages.
std::string split_rule_names();

}  // namespace weir
