#include "tokenizer/chat_template.h"

#include <algorithm>

#include "base/text.h"
#include "tokenizer/jinja_check.h"
#include "tokenizer/jinja_context.h"
#include "tokenizer/jinja_parser.h"
#include "tokenizer/jinja_string.h"

namespace weir {
namespace {

// Put behind the message to be continued, so that its end is found in the rendered text whatever
// the template does around it. It ends with a blank: if that is gone, the template trims, and so
// does the cut.
constexpr std::string_view kContinueMark = "CONTINUE_FINAL_MESSAGE_TAG ";

/// The text that a message's content ends with: itself, or its last text part.
Json* last_text(Json& content) {
    if (content.is_string()) return &content;
    if (!content.is_array()) return nullptr;
    for (auto part = content.items().rbegin(); part != content.items().rend(); ++part) {
        Json* text = part->find("text");
        if (text && text->is_string()) return text;
    }
    return nullptr;
}

class ParsedTemplate : public ChatTemplate {
 public:
    ParsedTemplate(std::string source, jinja::Template parsed)
        : source_(std::move(source)),
          parsed_(std::move(parsed)),
          wants_content_parts_(jinja::loops_over_content(parsed_)) {}

    Result<std::vector<TextSegment>> render(const ChatRenderInput& input) const override {
        if (!input.continue_final_message) {
            TRY(const jinja::Text text, render_messages(input, input.messages));
            return text.segments();
        }
        return render_continued(input);
    }

    bool wants_content_parts() const override { return wants_content_parts_; }
    bool mentions(std::string_view word) const override {
        return source_.find(word) != std::string::npos;
    }

 private:
    Result<jinja::Text> render_messages(const ChatRenderInput& input, const Json& messages) const {
        std::vector<jinja::ContextEntry> context;
        if (input.kwargs.is_object()) {
            for (const JsonMember& member : input.kwargs.members()) {
                context.push_back({member.name, &member.value, false});
            }
        }
        const Json null;
        const Json prompt(input.add_generation_prompt);
        const Json proceed(input.continue_final_message);
        const Json bos(input.bos_token);
        const Json eos(input.eos_token);
        context.push_back({"messages", &messages, false});
        // A null does not hide what kwargs say.
        const auto optional = [&](std::string_view name, const Json& value) {
            const bool given =
                std::any_of(context.begin(), context.end(),
                            [name](const auto& entry) { return entry.name == name; });
            if (!value.is_null() || !given) context.push_back({name, &value, false});
        };
        optional("tools", input.tools);
        optional("documents", input.documents);
        context.push_back({"add_generation_prompt", &prompt, true});
        context.push_back({"continue_final_message", &proceed, true});
        // An absent token is undefined, as with transformers: templates test for it.
        if (!input.bos_token.empty()) context.push_back({"bos_token", &bos, true});
        if (!input.eos_token.empty()) context.push_back({"eos_token", &eos, true});
        return jinja::render(parsed_, jinja::Limits{},
                             jinja::Now{input.now_unix, input.date_string}, context);
    }

    Result<std::vector<TextSegment>> render_continued(const ChatRenderInput& input) const {
        Json messages = input.messages;
        Json* last = nullptr;
        if (messages.is_array() && messages.size() > 0) {
            if (Json* content = messages.items().back().find("content")) last = last_text(*content);
        }
        if (!last) {
            return fail(ErrorCode::kBadTemplate,
                        "continue_final_message is set but we could not find any text to continue "
                        "in the final message!");
        }
        *last = Json(last->as_string() + std::string(kContinueMark));
        TRY(const jinja::Text text, render_messages(input, messages));
        const size_t at =
            jinja::find_last(text.view(), kContinueMark.substr(0, kContinueMark.size() - 1));
        if (at == jinja::kNotFound) {
            return fail(ErrorCode::kBadTemplate,
                        "continue_final_message is set but the final message does not appear in "
                        "the chat after applying the chat template");
        }
        const jinja::Text cut = text.slice(0, at);
        const bool trims = !text.view().substr(at).starts_with(kContinueMark);
        return (trims ? jinja::strip(cut, nullptr, jinja::Side::kRight) : cut).segments();
    }

    std::string source_;
    jinja::Template parsed_;
    bool wants_content_parts_;
};

}  // namespace

Result<std::unique_ptr<ChatTemplate>> parse_chat_template(std::string source) {
    TRY(jinja::Template parsed, jinja::parse_template(source));
    TRY_VOID(jinja::check_names(parsed));
    return std::make_unique<ParsedTemplate>(std::move(source), std::move(parsed));
}

}  // namespace weir
