#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/choice.h"
#include "api/generation_job.h"
#include "api/options.h"
#include "tokenizer/tokenizer.h"

namespace weir {

struct Usage {
    int64_t prompt_tokens = 0;
    int64_t completion_tokens = 0;
    int64_t cached_tokens = 0;
};

/// How the answers of one API look on the wire. Frames are whole server-sent events, built by
/// appends into the caller's buffer: per token nothing else is allocated.
class AnswerFormat {
 public:
    virtual ~AnswerFormat() = default;

    /// The frame (or frames) of what `choice` has collected. `usage` null: none in this frame.
    /// `last`: nothing follows but [DONE], so the fingerprint belongs here.
    virtual void append_frame(std::string& out, const Choice& choice, const Usage* usage,
                              bool last) const = 0;
    /// The frame behind the last choice's end: choices [] and usage.
    virtual void append_usage_frame(std::string& out, const Usage& usage) const = 0;
    /// The whole answer without stream. `extras`: ready members, each with a comma in front.
    virtual std::string body(const std::vector<Choice>& choices, const Usage& usage,
                             std::string_view metrics, std::string_view extras) const = 0;
};

// The job and the tokenizer outlive the format.
std::unique_ptr<AnswerFormat> make_completion_format(const GenerationJob& job,
                                                     const ApiOptions& options,
                                                     const Tokenizer& tokenizer);
std::unique_ptr<AnswerFormat> make_chat_format(const GenerationJob& job, const ApiOptions& options,
                                               const Tokenizer& tokenizer);

/// {"prompt_tokens", "total_tokens", "completion_tokens"} and, in whole answers, the details (null
/// where not enabled). `chat`: the details of a chat.
void append_usage(std::string& out, const Usage& usage, const ApiOptions& options, bool chat,
                  bool in_stream);

/// "stop" with quotes, or null.
void append_finish_reason(std::string& out, FinishReason reason);

}  // namespace weir
