#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace weir {

struct MessageOptions {
    bool content_parts = false;    // The template wants lists of parts ("openai").
    bool knows_developer = false;  // Else the role developer becomes system.
    std::string_view model_name;   // For the refusal of images.
};

/// Messages as chat templates see them (reference 5.7): content as one string or as parts, tool
/// calls with parsed arguments, `reasoning` for reasoning_content. Fails with kBadSchema (param
/// "body.messages.0.content") or kBadRequest.
Result<Json> normalise_messages(const Json& messages, const MessageOptions& options);

/// tools and tool_choice of a server without a tool parser (reference 5.8, recordings).
Result<void> check_tools(const Json& body);

}  // namespace weir
