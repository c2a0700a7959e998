#include "api/choice.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace weir {

Choice::Choice(const GenerationJob& job, const Tokenizer& tokenizer, size_t prompt_index,
               int32_t choice_index)
    : index(choice_index),
      prompt(prompt_index),
      detokenizer(tokenizer, job.prompts[prompt_index].ids, job.shape.skip_special_tokens),
      stops(job.params.stop, job.params.include_stop_str_in_output),
      texts(tokenizer, job.shape.tokens_as_ids) {}

bool Choice::take(const GenerationJob& job, const RequestOutput& output) {
    if (finished()) return false;
    num_preemptions = output.num_preemptions;
    num_cached_tokens = output.num_cached_tokens;
    queued_us = output.queued_us;
    scheduled_us = output.scheduled_us;
    if (!output.prompt_logprobs.empty()) prompt_logprobs = output.prompt_logprobs;
    if (output.token != kNoToken) {
        if (first_token_us == 0) first_token_us = output.token_us;
        last_token_us = output.token_us;
        echo_logprobs(job);
        if (!job.prompt_only) take_token(job, output);
        if (finished()) {  // By a stop string, which beats the engine's own reason.
            return output.finish_reason == FinishReason::kNone;
        }
    }
    if (output.finish_reason != FinishReason::kNone) {
        finish = output.finish_reason;
        if (output.stop_token_id) stop_reason = concat(*output.stop_token_id);
        if (finish == FinishReason::kRepetition) stop_reason = "\"repetition_detected\"";
        // An incomplete character at the end becomes U+FFFD; what was held back is released.
        text += stops.push(detokenizer.finish(), false).text;
        text += stops.finish();
    }
    return false;
}

void Choice::take_token(const GenerationJob& job, const RequestOutput& output) {
    ++num_tokens;
    ++num_unsent;
    if (job.shape.return_token_ids) token_ids.push_back(output.token);
    if (job.shape.logprobs && !output.logprobs.empty()) take_logprobs(job, output);
    take_text(job, output);
}

/// An echo with log-probabilities shows the prompt's in front, the first token without one.
void Choice::echo_logprobs(const GenerationJob& job) {
    if (echoed_ || !job.shape.echo || !job.shape.logprobs || job.shape.is_chat) return;
    echoed_ = true;
    completion_logprobs.add_first(texts, job.prompts[prompt].ids.front());
    for (const OutputPromptLogprobs& entry : prompt_logprobs) {
        if (entry.logprobs.empty()) continue;
        completion_logprobs.add(texts, entry.logprobs, *job.shape.logprobs);
    }
}

void Choice::take_text(const GenerationJob& job, const RequestOutput& output) {
    // The text of the token that ended the answer (EOS, a stop id) is no part of it
    // (reference 5.6).
    const bool ended_by_token = output.finish_reason == FinishReason::kStop;
    if (ended_by_token && !job.params.include_stop_str_in_output) return;
    const std::string piece = detokenizer.push(output.token);
    const bool may_stop = num_tokens > job.params.min_tokens;
    StopMatcher::Found found = stops.push(piece, may_stop);
    text += found.text;
    if (found.stop < 0) return;
    finish = FinishReason::kStop;
    stop_reason.clear();
    append_json_string(stop_reason, job.params.stop[static_cast<size_t>(found.stop)]);
}

void Choice::take_logprobs(const GenerationJob& job, const RequestOutput& output) {
    if (job.shape.is_chat) {
        append_chat_logprob(chat_logprobs, texts, output.logprobs, *job.shape.logprobs);
    } else {
        completion_logprobs.add(texts, output.logprobs, *job.shape.logprobs);
    }
}

void Choice::clear_unsent() {
    text.clear();
    token_ids.clear();
    completion_logprobs.clear();
    chat_logprobs.clear();
    num_unsent = 0;
    started = true;
}

}  // namespace weir
