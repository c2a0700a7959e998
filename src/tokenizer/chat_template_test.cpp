// Chat templates against the cases from the field and the recorded renderings of transformers.

#include "tokenizer/chat_template.h"

#include <gtest/gtest.h>

#include "base/testing.h"
#include "base/text.h"
#include "tokenizer/jinja_context.h"
#include "tokenizer/jinja_parser.h"

namespace weir {
namespace {

constexpr int64_t kCaseClock = 1741529107;  // 2025-03-09 14:05:07, the clock of the cases.

std::string joined(const std::vector<TextSegment>& segments) {
    std::string out;
    for (const TextSegment& segment : segments) out += segment.text;
    return out;
}

/// Renders with `context` as the only names.
Result<std::string> render_with(const std::string& source, const Json& context) {
    TRY(const std::unique_ptr<ChatTemplate> parsed, parse_chat_template(source));
    ChatRenderInput input;
    input.kwargs = context;
    input.messages = context["messages"];
    input.now_unix = kCaseClock;
    TRY(const std::vector<TextSegment> segments, parsed->render(input));
    return joined(segments);
}

TEST(ChatTemplate, CasesFromTheField) {
    const Json file = read_json_file(test_file("cases/jinja-templates.json")).value();
    const Json& cases = file["input"]["cases"];
    ASSERT_EQ(cases.size(), 47u);
    for (const Json& one : cases.items()) {
        SCOPED_TRACE(one["id"].as_string());
        const std::string& source = one["template"].as_string();
        if (one["render"].is_string()) {
            const Result<std::string> text = render_with(source, one["context"]);
            ASSERT_TRUE(text.has_value()) << text.error().text;
            EXPECT_EQ(*text, one["render"].as_string());
            continue;
        }
        const bool parses = parse_chat_template(source).has_value();
        EXPECT_EQ(parses, one["fails"].as_string() == "runtime");
        const Result<std::string> text = render_with(source, one["context"]);
        ASSERT_FALSE(text.has_value());
        // The recorded text, less the name of Python's exception.
        std::string wanted = one["reference"].as_string();
        const size_t colon = wanted.find("Error: ");
        if (colon != std::string::npos) wanted.erase(0, colon + 7);
        EXPECT_NE(text.error().text.find(wanted), std::string::npos) << text.error().text;
    }
}

}  // namespace
}  // namespace weir
