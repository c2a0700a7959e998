// Chat templates against the cases from the field and the recorded renderings of transformers.

#include "tokenizer/chat_template.h"

#include <gtest/gtest.h>
#include <lzma.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/testing.h"
#include "base/text.h"
#include "tokenizer/strftime.h"

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

// The template inside of the default model's file.
constexpr const char* kSmolLm2 =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
    "{% endif %}";

void expect_golden(const ChatTemplate& parsed, const Json& golden, const std::string& bos,
                   const std::string& eos) {
    for (const Json& one : golden["chat_template"].items()) {
        SCOPED_TRACE(one["messages"].dump());
        ChatRenderInput input;
        input.messages = one["messages"];
        input.tools = one["tools"];
        input.add_generation_prompt = one["add_generation_prompt"].as_bool();
        input.bos_token = bos;
        input.eos_token = eos;
        input.date_string = "26 Jul 2024";
        const auto segments = parsed.render(input);
        if (one["text"].is_string()) {
            ASSERT_TRUE(segments.has_value()) << segments.error().text;
            EXPECT_EQ(joined(*segments), one["text"].as_string());
        } else {
            ASSERT_FALSE(segments.has_value());
            const std::string& wanted = one["error"].as_string();
            EXPECT_NE(wanted.find(segments.error().text), std::string::npos)
                << "want " << wanted << ", got " << segments.error().text;
        }
    }
}

TEST(ChatTemplate, GoldenOfTheDefaultModel) {
    const Json golden = read_json_file(test_file("golden/smollm2.json")).value();
    ASSERT_EQ(golden["chat_template"].size(), 10u);
    expect_golden(*parse_chat_template(kSmolLm2).value(), golden, "<|im_start|>", "<|im_end|>");
}

std::string read_xz(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream packed;
    packed << file.rdbuf();
    const std::string in = packed.str();
    std::string out(size_t{16} << 20, '\0');
    uint64_t memory_max = UINT64_MAX;
    size_t in_pos = 0;
    size_t out_pos = 0;
    const lzma_ret status = lzma_stream_buffer_decode(
        &memory_max, 0, nullptr, reinterpret_cast<const uint8_t*>(in.data()), &in_pos, in.size(),
        reinterpret_cast<uint8_t*>(out.data()), &out_pos, out.size());
    EXPECT_EQ(status, LZMA_OK) << path;
    out.resize(out_pos);
    return out;
}

class FamilyTemplates : public testing::TestWithParam<const char*> {};

// The published files of the families lie outside the project (their licences are their own).
TEST_P(FamilyTemplates, Golden) {
    const std::string name = GetParam();
    const std::string data = concat(WEIR_SOURCE_DIR, "/../shared/data/");
    const std::string path = concat(data, "tokenizers/", name, "/tokenizer_config.json.xz");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << name << ": no published files here";
    const Json config = parse_json(read_xz(path)).value();
    const Json golden = read_json_file(concat(data, "golden/", name, ".json")).value();
    ASSERT_EQ(golden["chat_template"].size(), 10u);
    const auto token = [&config](std::string_view key) {
        const Json& entry = config[key];
        if (entry.is_string()) return entry.as_string();
        return entry.is_object() ? entry["content"].as_string() : std::string();
    };
    const auto parsed = parse_chat_template(config["chat_template"].as_string());
    ASSERT_TRUE(parsed.has_value()) << parsed.error().text;
    expect_golden(**parsed, golden, token("bos_token"), token("eos_token"));
    // Only Gemma's loops over the parts of a content.
    EXPECT_EQ((*parsed)->wants_content_parts(), name == "gemma3");
}

INSTANTIATE_TEST_SUITE_P(Published, FamilyTemplates,
                         testing::Values("gemma3", "qwen3", "llama3_1", "deepseek_v3"),
                         [](const auto& family) { return std::string(family.param); });

bool wants_parts(const std::string& source) {
    return parse_chat_template(source).value()->wants_content_parts();
}

TEST(ChatTemplate, DetectsLoopsOverContent) {
    EXPECT_TRUE(
        wants_parts("{% for m in messages %}{% for c in m.content %}{% endfor %}{% endfor %}"));
    EXPECT_TRUE(
        wants_parts("{% for m in messages %}{% for c in m['content'] %}{% endfor %}{% endfor %}"));
    EXPECT_TRUE(
        wants_parts("{% set all = messages[1:] %}{% for m in all %}{% if m.content is string %}"
                    "{% else %}{% for c in m['content']|list %}{% endfor %}{% endif %}"
                    "{% endfor %}"));
    EXPECT_TRUE(
        wants_parts("{% for m in messages %}{% set parts = m.content %}"
                    "{% for c in parts %}{% endfor %}{% endfor %}"));
    EXPECT_FALSE(wants_parts("{% for m in messages %}{{ m.content }}{% endfor %}"));
    EXPECT_FALSE(
        wants_parts("{% for m in messages %}{% for c in m.tool_calls %}{% endfor %}{% endfor %}"));
    EXPECT_FALSE(
        wants_parts("{% for m in tools %}{% for c in m.content %}{% endfor %}{% endfor %}"));
    EXPECT_FALSE(
        wants_parts("{% for m in messages %}{% for c in m.content.x %}{% endfor %}{% endfor %}"));
}

TEST(ChatTemplate, MentionsAnywhere) {
    const auto parsed = parse_chat_template("{% if m.role == 'developer' %}x{% endif %}").value();
    EXPECT_TRUE(parsed->mentions("developer"));
    EXPECT_FALSE(parsed->mentions("tools"));
}

/// Renders one user's and one assistant's message, the latter to be continued.
Result<std::string> continued(const std::string& source, const Json& last_content) {
    const auto parsed = parse_chat_template(source).value();
    ChatRenderInput input;
    input.messages =
        Json::array({Json::object({{"role", "user"}, {"content", "Hi"}}),
                     Json::object({{"role", "assistant"}, {"content", last_content}})});
    input.add_generation_prompt = false;
    input.continue_final_message = true;
    TRY(const std::vector<TextSegment> segments, parsed->render(input));
    return joined(segments);
}

TEST(ChatTemplate, ContinuesTheFinalMessage) {
    const std::string plain = "{% for m in messages %}<{{ m.content }}>{% endfor %}end";
    EXPECT_EQ(*continued(plain, "Yes, "), "<Hi><Yes, ");
    const std::string trimming = "{% for m in messages %}<{{ m.content|trim }}>{% endfor %}end";
    EXPECT_EQ(*continued(trimming, "Yes, "), "<Hi><Yes,");
    const std::string parts =
        "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
        "{% for c in m.content %}{{ c.text }}{% endfor %}{% endif %}|{% endfor %}";
    const Json content = Json::array({Json::object({{"type", "text"}, {"text", "a"}}),
                                      Json::object({{"type", "text"}, {"text", "b"}})});
    EXPECT_EQ(*continued(parts, content), "Hi|ab");
    EXPECT_EQ(continued(plain, nullptr).error().text,
              "continue_final_message is set but we could not find any text to continue in the "
              "final message!");
    EXPECT_EQ(continued("{{ messages[0].content }}", "x").error().text,
              "continue_final_message is set but the final message does not appear in the chat "
              "after applying the chat template");
}

TEST(ChatTemplate, NamesOfTheContext) {
    const auto parsed = parse_chat_template(
                            "{{ bos_token }}|{{ eos_token is defined }}|{{ tools is none }}|"
                            "{{ documents }}|{{ enable_thinking }}|{{ add_generation_prompt }}")
                            .value();
    ChatRenderInput input;
    input.messages = Json::array();
    input.bos_token = "<s>";
    input.kwargs = Json::object({{"enable_thinking", false},
                                 {"documents", "from kwargs"},
                                 {"add_generation_prompt", "no"},
                                 {"unused", 1}});
    EXPECT_EQ(joined(parsed->render(input).value()), "<s>|False|True|from kwargs|False|True");
}

TEST(ChatTemplate, StrftimeNow) {
    const auto parsed =
        parse_chat_template("{{ strftime_now('%d %b %Y') }} {{ strftime_now('%H') }}").value();
    ChatRenderInput input;
    input.now_unix = kCaseClock;
    EXPECT_EQ(joined(parsed->render(input).value()), "09 Mar 2025 14");
    input.date_string = "26 Jul 2024";
    EXPECT_EQ(joined(parsed->render(input).value()), "26 Jul 2024 14");
    EXPECT_EQ(strftime_utc("%a %A %b %B %c %C %d %D %e %F %g %G %h %H %I %j %k %l %m %M %p %P %R "
                           "%S %T %u %U %V %w %W %x %X %y %Y %% %-d %-m %f|%z%Z|%q",
                           kCaseClock),
              "Sun Sunday Mar March Sun Mar  9 14:05:07 2025 20 09 03/09/25  9 2025-03-09 25 2025 "
              "Mar 14 02 068 14  2 03 05 PM pm 14:05 07 14:05:07 7 10 10 0 09 03/09/25 14:05:07 25 "
              "2025 % 9 3 000000||%q");
    EXPECT_EQ(strftime_utc("%F %V %G %U %W", 1735603200), "2024-12-31 01 2025 52 53");
    EXPECT_EQ(strftime_utc("%F %V %G %U %W", 1609459200), "2021-01-01 53 2020 00 00");
}

}  // namespace
}  // namespace weir
