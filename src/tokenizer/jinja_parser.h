#pragma once

#include <string_view>

#include "base/result.h"
#include "tokenizer/jinja_ast.h"

namespace weir::jinja {

constexpr size_t kSourceBytesMax = size_t{1} << 20;
constexpr int kNestingMax = 100;  // Of tags and of brackets: what the parser itself recurses on.
constexpr int kExprDepthMax =
    200;  // Of an expression's tree, chains of filters and subscripts included.

/// Jinja2's language with the loop controls and transformers' generation tag. include, import,
/// extends, block and autoescape are refused. Fails with kBadTemplate and "line N: what".
Result<Template> parse_template(std::string_view source);

}  // namespace weir::jinja
