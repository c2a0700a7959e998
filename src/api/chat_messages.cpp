#include "api/chat_messages.h"

#include "api/errors.h"
#include "api/fields.h"
#include "base/text.h"

namespace weir {

namespace {

tl::unexpected<Error> misshapen(std::string where, std::string what, const Json& value) {
    return tl::unexpected(schema_error({{std::move(where), std::move(what), show_input(value)}}));
}

bool is_media(std::string_view type) {
    for (const char* word : {"image", "audio", "video"}) {
        if (type.find(word) != std::string_view::npos) return true;
    }
    return false;
}

/// The text of one part of a content list.
Result<std::string> part_text(const Json& part, const std::string& where,
                              const MessageOptions& options) {
    if (part.is_string()) return part.as_string();
    if (!part.is_object()) return misshapen(where, "Input should be a valid dictionary", part);
    const Json& type = part["type"];
    if (!type.is_string()) return misshapen(where + ".type", "Field required", part);
    const std::string& name = type.as_string();
    if (is_media(name)) {
        return fail(ErrorCode::kBadRequest,
                    concat(options.model_name, " is not a multimodal model"));
    }
    const bool refusal = name == "refusal";
    if (name != "text" && name != "input_text" && name != "output_text" && !refusal) {
        return fail(ErrorCode::kBadRequest, concat("Unknown part type: ", shorten(name, 60)));
    }
    const char* key = refusal ? "refusal" : "text";
    const Json& text = part[key];
    if (!text.is_string()) {
        return misshapen(concat(where, ".", key), "Input should be a valid string", text);
    }
    return text.as_string();
}

Json text_part(std::string text) {
    return Json::object({{"type", "text"}, {"text", std::move(text)}});
}

/// A string, or a list of text parts; vLLM joins parts with newlines for templates that take
/// strings.
Result<Json> read_content(const Json& content, const std::string& where,
                          const MessageOptions& options) {
    Json parts = Json::array();
    std::string joined;
    if (content.is_string()) {
        if (!options.content_parts) return content;
        parts.push_back(text_part(content.as_string()));
    } else if (content.is_array()) {
        for (size_t i = 0; i < content.size(); ++i) {
            TRY(std::string text, part_text(content[i], concat(where, ".", i), options));
            if (i > 0) joined += '\n';
            joined += text;
            parts.push_back(text_part(std::move(text)));
        }
    } else {
        return misshapen(where, "Input should be a valid string or a list of parts", content);
    }
    if (options.content_parts) return parts;
    return Json(std::move(joined));
}

/// A zero-argument call comes back as "null", null, "" or without the key: all are {} for the
/// template, and a malformed string stays text, as it must not fail the request.
Json read_arguments(const Json& arguments) {
    if (arguments.is_null()) return Json::object();
    if (!arguments.is_string()) return arguments;
    if (trim(arguments.as_string()).empty()) return Json::object();
    Result<Json> parsed = parse_json(arguments.as_string());
    if (!parsed) return arguments;
    return parsed->is_null() ? Json::object() : std::move(*parsed);
}

Result<Json> read_tool_calls(const Json& calls, const std::string& where) {
    if (!calls.is_array()) return misshapen(where, "Input should be a valid list", calls);
    Json out = Json::array();
    for (size_t i = 0; i < calls.size(); ++i) {
        const Json& call = calls[i];
        if (!call.is_object() || !call["function"].is_object()) {
            return fail(ErrorCode::kBadRequest,
                        concat(where, ".", i, " must be an object with a function object"));
        }
        Json function = call["function"];
        function.set("arguments", read_arguments(function["arguments"]));
        Json copy = call;
        copy.set("function", std::move(function));
        out.push_back(std::move(copy));
    }
    return out;
}

Result<Json> read_message(const Json& message, const std::string& where,
                          const MessageOptions& options) {
    if (!message.is_object()) {
        return misshapen(where, "Input should be a valid dictionary", message);
    }
    const Json& role = message["role"];
    if (!role.is_string()) {
        return misshapen(where + ".role",
                         message.find("role") ? "Input should be a valid string" : "Field required",
                         message.find("role") ? role : message);
    }
    std::string name = role.as_string();
    if (name == "developer" && !options.knows_developer) name = "system";
    Json out = Json::object({{"role", Json(name)}});

    const Json* content = message.find("content");
    if (content && content->is_null() && name != "assistant") {
        return misshapen(where + ".content", "Input should be a valid string or a list of parts",
                         *content);
    }
    static const Json kEmpty = Json("");
    const bool absent = !content || content->is_null();
    TRY(Json text, read_content(absent ? kEmpty : *content, where + ".content", options));
    out.set("content", std::move(text));

    const Json* calls = message.find("tool_calls");
    if (calls && !calls->is_null() && !(calls->is_array() && calls->size() == 0)) {
        TRY(Json read, read_tool_calls(*calls, where + ".tool_calls"));
        out.set("tool_calls", std::move(read));
    }
    for (const char* key : {"name", "tool_call_id"}) {
        const Json& value = message[key];
        if (value.is_null()) continue;
        if (!value.is_string()) {
            return misshapen(concat(where, ".", key), "Input should be a valid string", value);
        }
        out.set(key, value);
    }
    for (const char* key : {"reasoning_content", "reasoning"}) {
        if (message[key].is_string()) out.set("reasoning", message[key]);
    }
    return out;
}

/// The function that tool_choice names, or the reason why the choice is misshapen.
Result<std::string> named_function(const Json& choice) {
    const Json& name = choice["function"]["name"];
    if (!name.is_string()) {
        return misshapen("body.tool_choice",
                         "Input should be 'none', 'auto', 'required' or name a function", choice);
    }
    return name.as_string();
}

}  // namespace

Result<Json> normalise_messages(const Json& messages, const MessageOptions& options) {
    if (!messages.is_array()) {
        return misshapen("body.messages", "Input should be a valid list", messages);
    }
    Json out = Json::array();
    for (size_t i = 0; i < messages.size(); ++i) {
        TRY(Json message, read_message(messages[i], concat("body.messages.", i), options));
        out.push_back(std::move(message));
    }
    return out;
}

Result<void> check_tools(const Json& body) {
    const Json* tools = body.find("tools");
    const Json* choice = body.find("tool_choice");
    if (tools && tools->size() == 0) {
        return tl::unexpected(
            parameter_error("tools",
                            "`tools` must not be an empty array. Either provide at least "
                            "one tool or omit the field entirely."));
    }
    if (choice && choice->is_string() && choice->as_string() == "none") return {};
    if (choice && !tools) {
        return tl::unexpected(
            parameter_error("tool_choice", "When using `tool_choice`, `tools` must be set."));
    }
    if (!tools) return {};
    if (!choice || (choice->is_string() && choice->as_string() == "auto")) {
        return fail(ErrorCode::kBadRequest,
                    "\"auto\" tool choice requires --enable-auto-tool-choice "
                    "and --tool-call-parser to be set");
    }
    if (choice->is_string() && choice->as_string() == "required") {
        return fail(ErrorCode::kBadRequest,
                    "tool_choice=\"required\" requires --tool-call-parser to be set");
    }
    TRY(const std::string name, named_function(*choice));
    for (const Json& tool : tools->items()) {
        const Json& own = tool["function"]["name"];
        if (own.is_string() && own.as_string() == name) {
            return fail(ErrorCode::kBadRequest,
                        concat("tool_choice=function \"", shorten(name, 100),
                               "\" requires --tool-call-parser to be set"));
        }
    }
    return tl::unexpected(parameter_error(
        "tool_choice",
        "The tool specified in `tool_choice` does not match any of the specified `tools`"));
}

}  // namespace weir
