#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/generation_job.h"
#include "api/logprob_text.h"
#include "api/stop_matcher.h"
#include "sched/request.h"
#include "tokenizer/tokenizer.h"

namespace weir {

/// One answer in the making. `text`, `token_ids` and the log-probabilities collect what has not
/// been sent: all of it without stream, the next frame's share with.
struct Choice {
    Choice(const GenerationJob& job, const Tokenizer& tokenizer, size_t prompt_index,
           int32_t index);

    RequestId request = 0;
    int32_t index = 0;
    size_t prompt = 0;  // Index into the job's prompts.
    IncrementalDetokenizer detokenizer;
    StopMatcher stops;
    TokenTexts texts;

    std::string text;
    std::vector<TokenId> token_ids;
    CompletionLogprobs completion_logprobs;
    std::string chat_logprobs;  // Entries of content, separated by commas.
    std::vector<OutputPromptLogprobs> prompt_logprobs;

    int32_t num_tokens = 0;  // Generated, up to the stop.
    int32_t num_unsent = 0;  // Of these, not in a frame yet.
    bool started = false;    // The first frame has gone.
    FinishReason finish = FinishReason::kNone;
    std::string stop_reason = "null";  // JSON: a string, an id or null.

    // For metrics and the log.
    int32_t num_cached_tokens = 0;
    int32_t num_preemptions = 0;
    int64_t queued_us = 0, scheduled_us = 0, first_token_us = 0, last_token_us = 0;

    bool finished() const { return finish != FinishReason::kNone; }

    /// Takes one output of the engine. True if a stop string ended the choice now, so that the
    /// engine must be told.
    bool take(const GenerationJob& job, const RequestOutput& output);
    void clear_unsent();

 private:
    void take_token(const GenerationJob& job, const RequestOutput& output);
    void echo_logprobs(const GenerationJob& job);
    void take_text(const GenerationJob& job, const RequestOutput& output);
    void take_logprobs(const GenerationJob& job, const RequestOutput& output);

    bool echoed_ = false;  // The prompt's log-probabilities stand in front of the answer's.
};

}  // namespace weir
