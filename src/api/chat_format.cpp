#include "api/answer_format.h"
#include "api/json_text.h"
#include "base/json.h"

namespace weir {

namespace {

/// /v1/chat/completions (reference 5.4, 5.5; field order as recorded).
class ChatFormat final : public AnswerFormat {
 public:
    ChatFormat(const GenerationJob& job, const ApiOptions& options, const Tokenizer& tokenizer);

    void append_frame(std::string& out, const Choice& choice, const Usage* usage,
                      bool last) const override;
    void append_usage_frame(std::string& out, const Usage& usage) const override;
    std::string body(const std::vector<Choice>& choices, const Usage& usage,
                     std::string_view metrics, std::string_view extras) const override;

 private:
    void append_role_frame(std::string& out, const Choice& choice, const Usage* usage) const;
    void append_echo_frame(std::string& out, const Choice& choice, const Usage* usage) const;
    void append_delta_head(std::string& out, const Choice& choice) const;
    void end_frame(std::string& out, const Usage* usage, bool last) const;
    void append_logprobs(std::string& out, const Choice& choice) const;
    void append_choice(std::string& out, const Choice& choice) const;
    /// ,"prompt_token_ids":...,"prompt_text":...
    void append_prompt(std::string& out) const;

    const GenerationJob& job_;
    const ApiOptions& options_;
    const Tokenizer& tokenizer_;
    std::string head_;         // {"id":"x","object":"
    std::string head_rest_;    // ,"created":1,"model":"m","choices":[
    std::string frame_head_;   // data: + all of it for chunks
    std::string fingerprint_;  // ,"system_fingerprint":"f"
};

ChatFormat::ChatFormat(const GenerationJob& job, const ApiOptions& options,
                       const Tokenizer& tokenizer)
    : job_(job), options_(options), tokenizer_(tokenizer) {
    head_ = "{\"id\":";
    append_json_string(head_, job.id);
    head_ += ",\"object\":\"chat.completion";
    head_rest_ = "\",\"created\":";
    append_number(head_rest_, job.created);
    head_rest_ += ",\"model\":";
    append_json_string(head_rest_, options.served_model_names.front());
    head_rest_ += ",\"choices\":[";
    frame_head_ = "data: " + head_ + ".chunk" + head_rest_;
    fingerprint_ = ",\"system_fingerprint\":";
    append_json_string(fingerprint_, options.system_fingerprint);
}

void ChatFormat::append_delta_head(std::string& out, const Choice& choice) const {
    out += frame_head_;
    out += "{\"index\":";
    append_number(out, choice.index);
    out += ",\"delta\":{";
}

void ChatFormat::end_frame(std::string& out, const Usage* usage, bool last) const {
    if (usage) {
        out += ",\"usage\":";
        append_usage(out, *usage, options_, true, true);
    }
    if (last) out += fingerprint_;
    out += "}\n\n";
}

void ChatFormat::append_prompt(std::string& out) const {
    out += ",\"prompt_token_ids\":";
    if (job_.shape.return_token_ids) {
        append_ids(out, job_.prompts.front().ids);
    } else {
        out += "null";
    }
    out += ",\"prompt_text\":";
    if (job_.want_prompt_text) {
        append_json_string(out, job_.prompt_text);
    } else {
        out += "null";
    }
}

void ChatFormat::append_role_frame(std::string& out, const Choice& choice,
                                   const Usage* usage) const {
    append_delta_head(out, choice);
    out += "\"role\":";
    append_json_string(out, job_.role);
    out += ",\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}]";
    append_prompt(out);
    end_frame(out, usage, false);
}

void ChatFormat::append_echo_frame(std::string& out, const Choice& choice,
                                   const Usage* usage) const {
    append_delta_head(out, choice);
    out += "\"content\":";
    append_json_string(out, job_.echo_text);
    out += "},\"logprobs\":null,\"finish_reason\":null}]";
    end_frame(out, usage, false);
}

void ChatFormat::append_logprobs(std::string& out, const Choice& choice) const {
    if (!job_.shape.logprobs) {
        out += "null";
        return;
    }
    out += "{\"content\":[";
    out += choice.chat_logprobs;
    out += "]}";
}

void ChatFormat::append_frame(std::string& out, const Choice& choice, const Usage* usage,
                              bool last) const {
    if (!choice.started) {
        Usage none;
        if (usage) none.prompt_tokens = usage->prompt_tokens;
        append_role_frame(out, choice, usage ? &none : nullptr);
        if (!job_.echo_text.empty()) append_echo_frame(out, choice, usage ? &none : nullptr);
    }
    append_delta_head(out, choice);
    out += "\"content\":";
    append_json_string(out, choice.text);
    out += "},\"logprobs\":";
    append_logprobs(out, choice);
    out += ",\"finish_reason\":";
    append_finish_reason(out, choice.finish);
    if (choice.finished()) {
        out += ",\"stop_reason\":";
        out += choice.stop_reason;
    }
    out += ",\"token_ids\":";
    append_ids_or_null(out, choice.token_ids, job_.shape.return_token_ids);
    out += "}]";
    end_frame(out, usage, last);
}

void ChatFormat::append_usage_frame(std::string& out, const Usage& usage) const {
    out += frame_head_;
    out += ']';
    end_frame(out, &usage, true);
}

void ChatFormat::append_choice(std::string& out, const Choice& choice) const {
    out += "{\"index\":";
    append_number(out, choice.index);
    out += ",\"message\":{\"role\":";
    append_json_string(out, job_.role);
    out += ",\"content\":";
    append_json_string(out, job_.echo_text.empty() ? choice.text : job_.echo_text + choice.text);
    out +=
        ",\"refusal\":null,\"annotations\":null,\"audio\":null,\"function_call\":null,"
        "\"reasoning\":null},\"logprobs\":";
    append_logprobs(out, choice);
    out += ",\"finish_reason\":";
    append_finish_reason(out, choice.finish);
    out += ",\"stop_reason\":";
    out += choice.stop_reason;
    out += ",\"token_ids\":";
    append_ids_or_null(out, choice.token_ids, job_.shape.return_token_ids);
    out += ",\"routed_experts\":null}";
}

std::string ChatFormat::body(const std::vector<Choice>& choices, const Usage& usage,
                             std::string_view metrics, std::string_view extras) const {
    std::string out = head_ + head_rest_;
    for (const Choice& choice : choices) {
        if (&choice != &choices.front()) out += ',';
        append_choice(out, choice);
    }
    out += "],\"service_tier\":null";
    out += fingerprint_;
    out += ",\"usage\":";
    append_usage(out, usage, options_, true, false);
    out += ",\"prompt_logprobs\":";
    if (job_.shape.prompt_logprobs) {
        out += prompt_logprobs_json(tokenizer_, job_.prompts.front().ids,
                                    choices.front().prompt_logprobs, *job_.shape.prompt_logprobs);
    } else {
        out += "null";
    }
    append_prompt(out);
    out += ",\"kv_transfer_params\":null,\"ec_transfer_params\":null,\"metrics\":";
    out += metrics;
    out += extras;
    out += '}';
    return out;
}

}  // namespace

std::unique_ptr<AnswerFormat> make_chat_format(const GenerationJob& job, const ApiOptions& options,
                                               const Tokenizer& tokenizer) {
    return std::make_unique<ChatFormat>(job, options, tokenizer);
}

}  // namespace weir
