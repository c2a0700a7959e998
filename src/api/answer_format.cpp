#include "api/answer_format.h"

#include "api/json_text.h"

namespace weir {

void append_usage(std::string& out, const Usage& usage, const ApiOptions& options, bool chat,
                  bool in_stream) {
    out += "{\"prompt_tokens\":";
    append_number(out, usage.prompt_tokens);
    out += ",\"total_tokens\":";
    append_number(out, usage.prompt_tokens + usage.completion_tokens);
    out += ",\"completion_tokens\":";
    append_number(out, usage.completion_tokens);
    if (options.enable_prompt_tokens_details) {
        out += ",\"prompt_tokens_details\":{\"cached_tokens\":";
        append_number(out, usage.cached_tokens);
        if (chat) out += ",\"created_cache_tokens\":null,\"multimodal_tokens\":null";
        out += '}';
    } else if (!in_stream) {
        out += ",\"prompt_tokens_details\":null";
    }
    if (!in_stream) out += ",\"completion_tokens_details\":null";
    out += '}';
}

void append_finish_reason(std::string& out, FinishReason reason) {
    if (reason == FinishReason::kNone) {
        out += "null";
        return;
    }
    out += '"';
    out += to_string(reason);
    out += '"';
}

}  // namespace weir
