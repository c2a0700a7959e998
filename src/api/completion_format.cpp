#include "api/answer_format.h"
#include "api/json_text.h"
#include "base/json.h"

namespace weir {

namespace {

/// /v1/completions (reference 5.4, 5.5; field order as recorded).
class CompletionFormat final : public AnswerFormat {
 public:
    CompletionFormat(const GenerationJob& job, const ApiOptions& options,
                     const Tokenizer& tokenizer);

    void append_frame(std::string& out, const Choice& choice, const Usage* usage,
                      bool last) const override;
    void append_usage_frame(std::string& out, const Usage& usage) const override;
    std::string body(const std::vector<Choice>& choices, const Usage& usage,
                     std::string_view metrics, std::string_view extras) const override;

 private:
    /// What an echo puts in front: the prompt, unless its ids are returned.
    std::string_view echo_text(const Choice& choice) const;
    void append_logprobs(std::string& out, const Choice& choice) const;
    void append_choice(std::string& out, const Choice& choice) const;

    const GenerationJob& job_;
    const ApiOptions& options_;
    const Tokenizer& tokenizer_;
    std::string head_;         // {"id":...,"model":"m","choices":[
    std::string fingerprint_;  // ,"system_fingerprint":"f"
};

CompletionFormat::CompletionFormat(const GenerationJob& job, const ApiOptions& options,
                                   const Tokenizer& tokenizer)
    : job_(job), options_(options), tokenizer_(tokenizer) {
    head_ = "{\"id\":";
    append_json_string(head_, job.id);
    head_ += ",\"object\":\"text_completion\",\"created\":";
    append_number(head_, job.created);
    head_ += ",\"model\":";
    append_json_string(head_, options.served_model_names.front());
    head_ += ",\"choices\":[";
    fingerprint_ = ",\"system_fingerprint\":";
    append_json_string(fingerprint_, options.system_fingerprint);
}

std::string_view CompletionFormat::echo_text(const Choice& choice) const {
    if (!job_.shape.echo || job_.shape.return_token_ids) return {};
    return job_.prompts[choice.prompt].text;
}

void CompletionFormat::append_logprobs(std::string& out, const Choice& choice) const {
    if (job_.shape.logprobs) {
        choice.completion_logprobs.append_to(out);
    } else {
        out += "null";
    }
}

void CompletionFormat::append_frame(std::string& out, const Choice& choice, const Usage* usage,
                                    bool last) const {
    const bool echo_now = job_.shape.echo && !choice.started;
    out += "data: ";
    out += head_;
    out += "{\"index\":";
    append_number(out, choice.index);
    out += ",\"text\":";
    if (echo_now) {
        append_json_string(out, std::string(echo_text(choice)) + choice.text);
    } else {
        append_json_string(out, choice.text);
    }
    out += ",\"logprobs\":";
    append_logprobs(out, choice);
    out += ",\"finish_reason\":";
    append_finish_reason(out, choice.finish);
    out += ",\"stop_reason\":";
    out += choice.stop_reason;
    out += ",\"prompt_token_ids\":";
    if (!choice.started && (job_.shape.echo || job_.shape.return_token_ids)) {
        append_ids(out, job_.prompts[choice.prompt].ids);
    } else {
        out += "null";
    }
    out += ",\"token_ids\":";
    append_ids_or_null(out, choice.token_ids, job_.shape.return_token_ids);
    out += "}]";
    if (usage) {
        out += ",\"usage\":";
        append_usage(out, *usage, options_, false, true);
    }
    if (last) out += fingerprint_;
    out += "}\n\n";
}

void CompletionFormat::append_usage_frame(std::string& out, const Usage& usage) const {
    out += "data: ";
    out += head_;
    out += "],\"usage\":";
    append_usage(out, usage, options_, false, true);
    out += fingerprint_;
    out += "}\n\n";
}

void CompletionFormat::append_choice(std::string& out, const Choice& choice) const {
    const PromptInput& prompt = job_.prompts[choice.prompt];
    out += "{\"index\":";
    append_number(out, choice.index);
    out += ",\"text\":";
    if (job_.shape.echo) {
        append_json_string(out, std::string(echo_text(choice)) + choice.text);
    } else {
        append_json_string(out, choice.text);
    }
    out += ",\"logprobs\":";
    append_logprobs(out, choice);
    out += ",\"finish_reason\":";
    append_finish_reason(out, choice.finish);
    out += ",\"stop_reason\":";
    out += choice.stop_reason;
    out += ",\"token_ids\":";
    append_ids_or_null(out, choice.token_ids, job_.shape.return_token_ids);
    out += ",\"prompt_logprobs\":";
    if (job_.shape.prompt_logprobs) {
        out += prompt_logprobs_json(tokenizer_, prompt.ids, choice.prompt_logprobs,
                                    *job_.shape.prompt_logprobs);
    } else {
        out += "null";
    }
    out += ",\"prompt_token_ids\":";
    if (job_.shape.return_token_ids) {
        append_ids(out, prompt.ids);
    } else {
        out += "null";
    }
    out += ",\"routed_experts\":null}";
}

std::string CompletionFormat::body(const std::vector<Choice>& choices, const Usage& usage,
                                   std::string_view metrics, std::string_view extras) const {
    std::string out = head_;
    for (const Choice& choice : choices) {
        if (&choice != &choices.front()) out += ',';
        append_choice(out, choice);
    }
    out += "],\"service_tier\":null";
    out += fingerprint_;
    out += ",\"usage\":";
    append_usage(out, usage, options_, false, false);
    out += ",\"kv_transfer_params\":null,\"ec_transfer_params\":null,\"metrics\":";
    out += metrics;
    out += extras;
    out += '}';
    return out;
}

}  // namespace

std::unique_ptr<AnswerFormat> make_completion_format(const GenerationJob& job,
                                                     const ApiOptions& options,
                                                     const Tokenizer& tokenizer) {
    return std::make_unique<CompletionFormat>(job, options, tokenizer);
}

}  // namespace weir
