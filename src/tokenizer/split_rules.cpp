#include <initializer_list>
#include <vector>

#include "tokenizer/split_patterns.h"
#include "tokenizer/splitter.h"

namespace weir {
namespace {

namespace patterns = split_patterns;

SplitRule rule_of(std::initializer_list<std::string_view> patterns) {
    return {{patterns.begin(), patterns.end()}};
}

/// One row per name that GGUF files use. The patterns are those of the models' own tokenizer.json.
const std::vector<NamedSplitRule>& named_rules() {
    static const std::vector<NamedSplitRule> rules = {
        {"default", rule_of({patterns::kGpt2}), false},
        {"gpt-2", rule_of({patterns::kGpt2}), false},
        {"phi-2", rule_of({patterns::kGpt2}), false},
        {"olmo", rule_of({patterns::kGpt2}), false},
        {"mpt", rule_of({patterns::kGpt2}), false},
        {"jina-v2-code", rule_of({patterns::kGpt2}), false},
        // The reference (transformers' reading of the GGUF, tests/golden/smollm2.json) cuts by
        // GPT-2's pattern alone. SmolLM's own tokenizer.json puts patterns::kEachDigit before it;
        // as no token has a digit and anything else, they differ only in blanks before a digit and
        // in numbers like U+00BD.
        {"smollm", rule_of({patterns::kGpt2}), false},
        {"starcoder", rule_of({patterns::kEachDigit, patterns::kGpt2}), false},
        {"codeshell", rule_of({patterns::kEachDigit, patterns::kGpt2}), false},
        {"refact", rule_of({patterns::kEachDigit, patterns::kGpt2}), false},
        {"command-r", rule_of({patterns::kEachDigit, patterns::kGpt2}), false},
        {"exaone", rule_of({patterns::kEachDigit, patterns::kGpt2}), false},
        {"llama-bpe", rule_of({patterns::kLlama3}), true},
        {"llama3", rule_of({patterns::kLlama3}), true},
        {"llama-v3", rule_of({patterns::kLlama3}), true},
        {"falcon3", rule_of({patterns::kLlama3}), true},
        {"pixtral", rule_of({patterns::kLlama3}), true},
        {"dbrx", rule_of({patterns::kLlama3}), false},
        {"smaug-bpe", rule_of({patterns::kLlama3}), false},
        {"qwen2", rule_of({patterns::kQwen2}), false},
        {"deepseek-r1-qwen", rule_of({patterns::kQwen2}), false},
        {"stablelm2", rule_of({patterns::kQwen2}), false},
        {"hunyuan", rule_of({patterns::kQwen2}), false},
        {"megrez", rule_of({patterns::kQwen2}), false},
        {"deepseek-v3", rule_of({patterns::kThreeDigits, patterns::kCjk, patterns::kDeepseekV3}),
         false},
        {"gpt-4o", rule_of({patterns::kGpt4o}), true},
        {"llama4", rule_of({patterns::kGpt4o}), true},
        {"tekken", rule_of({patterns::kTekken}), true},
    };
    return rules;
}

}  // namespace

const NamedSplitRule* find_split_rule(std::string_view pre) {
    for (const NamedSplitRule& rule : named_rules()) {
        if (rule.pre == pre) return &rule;
    }
    return nullptr;
}

std::string split_rule_names() {
    std::string out;
    for (const NamedSplitRule& rule : named_rules()) {
        if (!out.empty()) out += ", ";
        out += rule.pre;
    }
    return out;
}

}  // namespace weir
