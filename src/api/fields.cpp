#include "api/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/text.h"

namespace weir {

namespace {

constexpr size_t kProblemsListedMax = 10;
constexpr size_t kInputShownMax = 200;

constexpr auto kC = FieldRoute::kC;
constexpr auto kX = FieldRoute::kX;
constexpr auto kT = FieldRoute::kT;
constexpr auto kD = FieldRoute::kD;

constexpr FieldSpec kFields[] = {
#define WEIR_FIELD(name, type, routes, default_text, range, use, doc) \
    {#name, FieldType::type, routes, default_text, range, FieldUse::use, doc},
#include "api/fields.def"
#undef WEIR_FIELD
};

/// What is wrong with a value, or nothing.
using Verdict = std::optional<std::string>;

template <typename T>
bool parse_whole(std::string_view text, T& value) {
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    return !text.empty() && result.ec == std::errc() && result.ptr == end;
}

Verdict make_int(Json& value) {
    if (value.is_int()) return {};
    if (value.is_bool()) {
        value = Json(value.as_bool() ? int64_t{1} : int64_t{0});
        return {};
    }
    if (value.is_double()) {
        const double number = value.as_double();
        if (number != std::floor(number)) {
            return "Input should be a valid integer, got a number with a fractional part";
        }
        if (number >= 0x1p63) {
            return "Input should be less than or equal to 9223372036854775807";
        }
        if (number < -0x1p63) {
            return "Input should be greater than or equal to -9223372036854775808";
        }
        value = Json(static_cast<int64_t>(number));
        return {};
    }
    if (!value.is_string()) return "Input should be a valid integer";
    int64_t number = 0;
    if (!parse_whole(trim(value.as_string()), number)) {
        return "Input should be a valid integer, unable to parse string as an integer";
    }
    value = Json(number);
    return {};
}

Verdict make_float(Json& value) {
    if (value.is_number()) return {};
    if (value.is_bool()) {
        value = Json(value.as_bool() ? 1.0 : 0.0);
        return {};
    }
    if (!value.is_string()) return "Input should be a valid number";
    double number = 0;
    if (!parse_whole(trim(value.as_string()), number)) {
        return "Input should be a valid number, unable to parse string as a number";
    }
    value = Json(number);
    return {};
}

Verdict make_bool(Json& value) {
    if (value.is_bool()) return {};
    if (value.is_number() && (value.as_double() == 0 || value.as_double() == 1)) {
        value = Json(value.as_double() == 1);
        return {};
    }
    if (!value.is_string() && !value.is_number()) return "Input should be a valid boolean";
    if (value.is_string()) {
        constexpr std::string_view kTrue[] = {"true", "1", "yes", "on", "t", "y"};
        constexpr std::string_view kFalse[] = {"false", "0", "no", "off", "f", "n"};
        const std::string word = to_lower(value.as_string());
        const bool yes = std::ranges::find(kTrue, word) != std::end(kTrue);
        if (yes || std::ranges::find(kFalse, word) != std::end(kFalse)) {
            value = Json(yes);
            return {};
        }
    }
    return "Input should be a valid boolean, unable to interpret input";
}

Verdict make_strings(Json& value) {
    if (value.is_string()) {
        Json list = Json::array();
        list.push_back(std::move(value));
        value = std::move(list);
        return {};
    }
    if (!value.is_array()) return "Input should be a valid string or a list of strings";
    for (const Json& item : value.items()) {
        if (!item.is_string()) return "Input should be a valid string or a list of strings";
    }
    return {};
}

Verdict make_tokens(Json& value) {
    if (!value.is_array()) return "Input should be a valid list";
    for (Json& item : value.items()) {
        if (auto wrong = make_int(item)) return wrong;
    }
    return {};
}

Verdict make_prompt(Json& value) {
    constexpr const char* kWrong =
        "Input should be a string, a list of strings, a list of token ids or a list of such lists";
    if (value.is_string()) return {};
    if (!value.is_array()) return kWrong;
    const auto same_kind = [&](auto test) { return std::ranges::all_of(value.items(), test); };
    if (same_kind([](const Json& item) { return item.is_string(); })) return {};
    if (same_kind([](const Json& item) { return item.is_int(); })) return {};
    if (!same_kind([](const Json& item) { return item.is_array(); })) return kWrong;
    for (const Json& list : value.items()) {
        for (const Json& item : list.items()) {
            if (!item.is_int()) return kWrong;
        }
    }
    return {};
}

Verdict make_exact(Json& value, FieldType type) {
    switch (type) {
        case FieldType::kBool: return make_bool(value);
        case FieldType::kInt: return make_int(value);
        case FieldType::kFloat: return make_float(value);
        case FieldType::kString:
            return value.is_string() ? Verdict() : "Input should be a valid string";
        case FieldType::kStrings: return make_strings(value);
        case FieldType::kTokens: return make_tokens(value);
        case FieldType::kObject:
            return value.is_object() ? Verdict() : "Input should be a valid dictionary";
        case FieldType::kArray:
            return value.is_array() ? Verdict() : "Input should be a valid list";
        case FieldType::kPrompt: return make_prompt(value);
        case FieldType::kAny: return {};
    }
    CHECK(false);
}

Verdict check_length(const FieldSpec& field, const Json& value, const ApiLimits& limits) {
    if (field.name == "stop" && static_cast<int64_t>(value.size()) > limits.max_stop_strings) {
        return concat("List should have at most ", limits.max_stop_strings,
                      " items after validation, not ", value.size());
    }
    return {};
}

/// False for `use_beam_search: false` and the like, which ask for nothing.
bool asks_for_something(const Json& value) { return !(value.is_bool() && !value.as_bool()); }

}  // namespace

std::span<const FieldSpec> field_specs() { return kFields; }

const FieldSpec* find_field(std::string_view name, unsigned route) {
    for (const FieldSpec& field : kFields) {
        if (field.name == name && (field.routes & route) != 0) return &field;
    }
    return nullptr;
}

std::string show_input(const Json& value) {
    switch (value.type()) {
        case Json::Type::kNull: return "None";
        case Json::Type::kString:
            return concat("'", shorten(value.as_string(), kInputShownMax), "'");
        case Json::Type::kArray: return concat("<list of ", value.size(), " items>");
        case Json::Type::kObject: return concat("<dict of ", value.size(), " items>");
        default: return value.dump();
    }
}

Error schema_error(const std::vector<SchemaProblem>& problems) {
    CHECK(!problems.empty());
    std::string text =
        concat(problems.size(), " validation error", problems.size() == 1 ? ":" : "s:");
    for (size_t i = 0; i < problems.size() && i < kProblemsListedMax; ++i) {
        const SchemaProblem& problem = problems[i];
        text += concat("\n  ", problem.where, ": ", problem.what);
        if (!problem.input.empty()) text += concat(" (got ", problem.input, ")");
    }
    if (problems.size() > kProblemsListedMax) {
        text += concat("\n  ...and ", problems.size() - kProblemsListedMax, " more errors");
    }
    return {ErrorCode::kBadSchema, std::move(text), problems.front().where};
}

Result<void> check_fields(Json& body, unsigned route, const ApiLimits& limits,
                          std::vector<std::string_view>& warned) {
    if (!body.is_object()) {
        return tl::unexpected(
            schema_error({{"body", "Input should be a valid dictionary", show_input(body)}}));
    }
    std::vector<SchemaProblem> problems;
    const FieldSpec* later = nullptr;
    std::erase_if(body.members(), [](const JsonMember& member) {
        return member.value.is_null() && member.name != "messages" && member.name != "tokens";
    });
    for (JsonMember& member : body.members()) {
        const FieldSpec* field = find_field(member.name, route);
        if (!field) continue;
        if (field->use == FieldUse::kWarned) warned.push_back(field->name);
        Verdict wrong = make_exact(member.value, field->type);
        if (!wrong) wrong = check_length(*field, member.value, limits);
        if (wrong) {
            problems.push_back(
                {"body." + member.name, std::move(*wrong), show_input(member.value)});
        } else if (field->use == FieldUse::kLater && asks_for_something(member.value)) {
            later = field;
        }
    }
    if (!problems.empty()) return tl::unexpected(schema_error(problems));
    if (later) {
        return fail(ErrorCode::kNotImplemented,
                    concat(later->name, " is not supported yet (", later->doc, ")"),
                    std::string(later->name));
    }
    return {};
}

bool bool_field(const Json& body, std::string_view name, bool absent) {
    const Json* value = body.find(name);
    return value ? value->as_bool() : absent;
}

std::optional<int64_t> int_field(const Json& body, std::string_view name) {
    const Json* value = body.find(name);
    if (!value) return {};
    return value->as_int();
}

std::optional<double> float_field(const Json& body, std::string_view name) {
    const Json* value = body.find(name);
    if (!value) return {};
    return value->as_double();
}

const std::string* string_field(const Json& body, std::string_view name) {
    const Json* value = body.find(name);
    return value ? &value->as_string() : nullptr;
}

}  // namespace weir
