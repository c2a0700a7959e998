#pragma once

#include <string>
#include <vector>

#include "api/context.h"
#include "base/json.h"
#include "base/result.h"

namespace weir {

struct ChatPrompt {
    std::vector<TokenId> ids;
    std::string text;       // As rendered.
    std::string last_role;  // Of the last message.
    std::string last_text;  // Its content, for echo.
};

/// Messages to token ids by the model's chat template (reference 5.7). Text that came from a
/// message never becomes a control token. Front-end pool. Fails with kBadSchema, kBadRequest or
/// kBadTemplate.
Result<ChatPrompt> render_chat(const Json& body, const ApiContext& context);

}  // namespace weir
