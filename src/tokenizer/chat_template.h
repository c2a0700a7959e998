#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace weir {

struct ChatRenderInput {
    Json messages;   // Array of message objects.
    Json tools;      // Array, or null.
    Json documents;  // Array, or null.
    bool add_generation_prompt = true;
    bool continue_final_message = false;  // Cuts the text behind the last message's content.
    Json kwargs;  // Object: chat_template_kwargs, server defaults already merged; or null.
    std::string bos_token;  // Empty: undefined in the template, as with transformers.
    std::string eos_token;
    std::string date_string;  // What strftime_now("%d %b %Y") gives; empty: from now_unix.
    int64_t now_unix = 0;  // For strftime_now, shown as UTC: add the zone's offset for local time.
};

/// A model's Jinja template, parsed once (trim_blocks, lstrip_blocks, loop controls: as
/// transformers does). Immutable, thread-safe. Rendering is bounded in steps, memory, output and
/// depth (tokenizer/jinja_value.h has the numbers).
class ChatTemplate {
 public:
    virtual ~ChatTemplate() = default;
    /// Fails with kBadTemplate: the template's own raise_exception text, or "line N: " and what is
    /// wrong. Pieces that come out of `messages`, `tools`, `documents` and `kwargs` are untrusted,
    /// the template's own text is trusted.
    virtual Result<std::vector<TextSegment>> render(const ChatRenderInput& input) const = 0;
    /// True if the template loops over a message's content items: content is passed as a list of
    /// parts ("openai"), else as one string (reference 5.7).
    virtual bool wants_content_parts() const = 0;
    /// True if the template mentions that word anywhere ("developer", "tools").
    virtual bool mentions(std::string_view word) const = 0;
};

/// Fails with kBadTemplate and the line.
Result<std::unique_ptr<ChatTemplate>> parse_chat_template(std::string source);

}  // namespace weir
