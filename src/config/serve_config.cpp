#include "config/serve_config.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"

namespace weir {

namespace {

struct Variable {
    const char* name;
    const char* flag;
    const char* help;
};

constexpr Variable kVariables[] = {
#define WEIR_VARIABLE(name, flag, help) {name, flag, help},
#include "config/environment.def"
};

/// Values were checked by check_flag_value(), so conversions cannot fail.
int64_t to_int(const FlagSpec& flag, const std::string& text) {
    if (text == "auto") return -1;
    if (flag.kind == FlagKind::kHumanInt) return parse_human_int(text).value();
    int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

double to_double(const std::string& text) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

using Values = std::vector<std::string>;
bool is_null(const Values& values) { return values.size() == 1 && values[0] == "None"; }

void set_field(bool& field, const FlagSpec&, const Values& values) { field = values[0] == "true"; }
void set_field(int64_t& field, const FlagSpec& flag, const Values& values) {
    if (!is_null(values)) field = to_int(flag, values[0]);
}
void set_field(double& field, const FlagSpec&, const Values& values) {
    field = to_double(values[0]);
}
void set_field(std::optional<int64_t>& field, const FlagSpec& flag, const Values& values) {
    field.reset();
    if (!is_null(values) && !values[0].empty()) field = to_int(flag, values[0]);
}
void set_field(std::optional<double>& field, const FlagSpec&, const Values& values) {
    field.reset();
    if (!is_null(values) && !values[0].empty()) field = to_double(values[0]);
}
void set_field(std::string& field, const FlagSpec&, const Values& values) {
    field = is_null(values) ? std::string() : values[0];
}
void set_field(std::vector<std::string>& field, const FlagSpec&, const Values& values) {
    field = is_null(values) ? Values{} : values;
}
void set_field(Json& field, const FlagSpec&, const Values& values) {
    field = is_null(values) ? Json() : parse_json(values[0]).value_or(Json());
}

const FlagSpec& implemented_flag(std::string_view name) {
    for (const FlagSpec& flag : serve_flags()) {
        if (flag.name == name) return flag;
    }
    CHECK(!"a name out of flags.def");
    return serve_flags()[0];
}

void apply(ServeConfig& config, const FlagSpec& flag, const Values& values) {
#define WEIR_FLAG(field, type, kind, default_text, aliases, group, bounds, help) \
    {                                                                            \
        static const FlagSpec* const spec = [] {                                 \
            std::string name = #field;                                           \
            std::replace(name.begin(), name.end(), '_', '-');                    \
            return &implemented_flag(name);                                      \
        }();                                                                     \
        if (spec == &flag) return set_field(config.field, flag, values);         \
    }
#include "config/flags.def"
}

/// Kubernetes sets NAME_PORT=tcp://10.0.0.7:8000, NAME_SERVICE_HOST and more for each service; a
/// service called "vllm" or "weir" then looks like a setting (demands.md 44).
bool is_service_link(const EnvironmentValue& variable) {
    const std::string_view name = variable.name;
    if (!name.starts_with("VLLM_") && !name.starts_with("WEIR_")) return false;
    return variable.value.starts_with("tcp://") || variable.value.starts_with("udp://") ||
           name.ends_with("_SERVICE_HOST") ||
           name.find("_SERVICE_PORT") != std::string_view::npos ||
           name.find("_PORT_") != std::string_view::npos;
}

/// The variable's value as the flag would be given, or nothing to take.
Result<std::optional<FlagValue>> variable_as_flag(const Variable& known,
                                                  const EnvironmentValue& given) {
    if (!*known.flag || given.value.empty()) return std::optional<FlagValue>();
    const FlagSpec& flag = implemented_flag(known.flag);
    std::string text = given.value;
    if (given.name == "VLLM_CPU_KVCACHE_SPACE") text += "G";
    if (flag.name == "log-level") text = to_lower(text);
    if (Result<void> good = check_flag_value(flag, text); !good) {
        return fail(ErrorCode::kBadFlag,
                    concat("environment variable ", given.name, ": ", good.error().text));
    }
    return std::optional<FlagValue>(FlagValue{&flag, {text}, FlagSource::kEnvironment});
}

Result<void> apply_environment(const std::vector<EnvironmentValue>& environment,
                               LoadedConfig& loaded) {
    std::string links, unknown;
    for (const EnvironmentValue& variable : environment) {
        if (is_service_link(variable)) {
            links += concat(links.empty() ? "" : ", ", variable.name);
            continue;
        }
        const auto* known =
            std::find_if(std::begin(kVariables), std::end(kVariables),
                         [&](const Variable& v) { return variable.name == v.name; });
        if (known == std::end(kVariables)) {
            if (variable.name.starts_with("VLLM_")) {
                unknown += concat(unknown.empty() ? "" : ", ", variable.name);
            }
            continue;
        }
        TRY(std::optional<FlagValue> value, variable_as_flag(*known, variable));
        if (!value) continue;
        const auto old = std::find_if(loaded.values.begin(), loaded.values.end(),
                                      [&](const FlagValue& v) { return v.flag == value->flag; });
        if (old == loaded.values.end()) {
            loaded.values.push_back(std::move(*value));
        } else if (variable.name == "VLLM_CPU_KVCACHE_SPACE") {  // Beats the flag (reference 2.6).
            *old = std::move(*value);
        }
    }
    if (!links.empty()) {
        loaded.notices.push_back(
            "ignored environment variables that a Kubernetes service link sets: " + links);
    }
    if (!unknown.empty()) {
        loaded.notices.push_back("environment variables without effect here: " + unknown);
    }
    return {};
}

std::string shown_value(const FlagSpec& flag, const Values& values) {
    if (flag.name == "api-key" && !is_null(values)) return "***";
    std::string out;
    for (const std::string& value : values) out += concat(out.empty() ? "" : " ", value);
    return out;
}

}  // namespace

FlagSource LoadedConfig::source_of(std::string_view flag) const {
    for (const FlagValue& value : values) {
        if (value.flag->name == flag) return value.source;
    }
    return FlagSource::kDefault;
}

Result<LoadedConfig> load_serve_config(const std::vector<std::string>& arguments,
                                       const std::vector<EnvironmentValue>& environment) {
    TRY(ParsedFlags parsed, parse_flags(arguments));
    LoadedConfig loaded;
    loaded.values = std::move(parsed.values);
    loaded.notices = std::move(parsed.notices);
    loaded.help = std::move(parsed.help);
    TRY_VOID(apply_environment(environment, loaded));
    for (const FlagSpec& flag : serve_flags()) {
        if (flag.status == FlagStatus::kImplemented) {
            apply(loaded.config, flag, {std::string(flag.default_text)});
        }
    }
    for (const FlagValue& value : loaded.values) apply(loaded.config, *value.flag, value.values);
    return loaded;
}

std::string print_config(const LoadedConfig& loaded) {
    std::string out;
    for (const FlagSpec& flag : serve_flags()) {
        if (flag.status != FlagStatus::kImplemented) continue;
        Values values = {std::string(flag.default_text)};
        for (const FlagValue& value : loaded.values) {
            if (value.flag == &flag) values = value.values;
        }
        std::string line = concat(flag.name, ": ", shown_value(flag, values));
        line.resize(std::max<size_t>(line.size() + 2, 56), ' ');
        out += concat(line, "# ", to_string(loaded.source_of(flag.name)), "\n");
    }
    return out;
}

std::string non_default_args(const LoadedConfig& loaded) {
    Json out = Json::object();
    for (const FlagValue& value : loaded.values) {
        if (value.flag->status != FlagStatus::kImplemented) continue;
        std::string field = value.flag->name;
        std::replace(field.begin(), field.end(), '-', '_');
        out.set(field, shown_value(*value.flag, value.values));
    }
    return out.dump();
}

std::string environment_markdown() {
    std::string out = "| variable | effect |\n|---|---|\n";
    for (const Variable& variable : kVariables) {
        out += concat("| `", variable.name, "` | ", variable.help,
                      *variable.flag ? concat(" (sets `--", variable.flag, "`)") : std::string(),
                      " |\n");
    }
    return out;
}

}  // namespace weir
