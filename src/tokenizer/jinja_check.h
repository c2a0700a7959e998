#pragma once

#include "base/result.h"
#include "tokenizer/jinja_ast.h"

namespace weir::jinja {

/// Refuses filters and tests that do not exist, as jinja2 does when it compiles: except in branches
/// of `if`, where only reaching them fails. Fails with "line N: No filter named 'x'."
Result<void> check_names(const Template& source);

/// vLLM's detection of the content format (reference 5.7): a loop over a message's content, or over
/// a variable that was set to one, where a message is the variable of a loop over `messages`.
bool loops_over_content(const Template& source);

}  // namespace weir::jinja
