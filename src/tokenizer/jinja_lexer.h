#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir::jinja {

enum class TokenKind {
    kData,        // Text outside of tags, blanks already controlled.
    kPrintBegin,  // {{
    kPrintEnd,    // }}
    kTagBegin,    // {%
    kTagEnd,      // %}
    kName,
    kString,  // Escapes already resolved.
    kInteger,
    kFloat,
    kOperator,
    kEnd,
};

struct Token {
    TokenKind kind;
    std::string text;
    int line;

    bool is(TokenKind k, std::string_view t) const { return kind == k && text == t; }
    bool is_name(std::string_view t) const { return is(TokenKind::kName, t); }
    bool is_op(std::string_view t) const { return is(TokenKind::kOperator, t); }
};

/// Cuts a template into tokens as jinja2 does with trim_blocks and lstrip_blocks on and
/// keep_trailing_newline off; the last token is kEnd. Linear in source.size().
/// Fails with "line N: what".
Result<std::vector<Token>> tokenize_template(std::string_view source);

}  // namespace weir::jinja
