#include "config/flag_parser.h"

#include <algorithm>
#include <climits>

#include "base/text.h"
#include "config/yaml.h"

namespace weir {

const char* to_string(FlagSource source) {
    switch (source) {
        case FlagSource::kDefault: return "default";
        case FlagSource::kEnvironment: return "environment";
        case FlagSource::kConfigFile: return "config file";
        case FlagSource::kCommandLine: return "command line";
    }
    return "";
}

const FlagValue* ParsedFlags::find(std::string_view name) const {
    for (const FlagValue& value : values) {
        if (value.flag->name == name) return &value;
    }
    return nullptr;
}

namespace {

/// vLLM has families of flags whose members the reference does not list one by one; unknown members
/// are taken like the known ones.
constexpr std::string_view kNoEffectFamilies[] = {
    "data-parallel-",
    "dbo-",
    "dcp-",
    "dp-supervisor-probe-",
    "enable-mamba-",
    "jit-monitor-",
    "kda-",
    "mamba-",
    "mm-",
    "numa-bind",
    "offload-",
    "safetensors-prefetch-",
    "video-pruning-",
};

/// What "--name" means: a flag, and whether the "no-" form was used.
struct FlagMatch {
    const FlagSpec* flag = nullptr;
    bool negated = false;
};

/// Dashes for underscores, up to the first dot (JSON keys behind it keep theirs).
std::string normalise(std::string_view name) {
    std::string out(name);
    const size_t dot = std::min(out.find('.'), out.size());
    std::replace(out.begin(), out.begin() + static_cast<ptrdiff_t>(dot), '_', '-');
    return out;
}

bool looks_like_flag(std::string_view argument) {
    if (argument.size() < 2 || argument[0] != '-') return false;
    return !('0' <= argument[1] && argument[1] <= '9') && argument[1] != '.';  // "-1" is a value.
}

bool is_boolean(const FlagSpec& flag) {
    return flag.kind == FlagKind::kBool || flag.kind == FlagKind::kSwitch;
}

std::optional<FlagMatch> find_exact(std::string_view option) {
    for (const FlagSpec& flag : serve_flags()) {
        if (option.starts_with("--") && option.substr(2) == flag.name)
            return FlagMatch{&flag, false};
        if (flag.kind == FlagKind::kBool && option.starts_with("--no-") &&
            option.substr(5) == flag.name) {
            return FlagMatch{&flag, true};
        }
        for (const std::string_view alias : split(flag.aliases, ' ')) {
            if (!alias.empty() && alias == option) return FlagMatch{&flag, false};
        }
    }
    return std::nullopt;
}

std::string nearest_flag(std::string_view option) {
    std::string best;
    int best_distance = INT_MAX;
    for (const FlagSpec& flag : serve_flags()) {
        if (flag.status != FlagStatus::kImplemented && flag.status != FlagStatus::kRefused)
            continue;
        const int distance = edit_distance(option, dashed(flag));
        if (distance < best_distance) {
            best_distance = distance;
            best = dashed(flag);
        }
    }
    return best;
}

/// argparse's abbreviations: a prefix that only one flag has.
Result<FlagMatch> find_flag(std::string_view option) {
    if (const std::optional<FlagMatch> exact = find_exact(option)) return *exact;
    std::vector<FlagMatch> found;
    std::string names;
    for (const FlagSpec& flag : serve_flags()) {
        const bool removed = flag.status == FlagStatus::kRemoved;
        for (const bool negated : {false, true}) {
            if (removed || (negated && flag.kind != FlagKind::kBool)) continue;
            const std::string full = (negated ? "--no-" : "--") + flag.name;
            if (!option.starts_with("--") || option.size() < 3 || !full.starts_with(option))
                continue;
            found.push_back({&flag, negated});
            names += concat(names.empty() ? "" : ", ", full);
        }
    }
    if (found.size() == 1) return found[0];
    if (found.size() > 1) {
        return fail(ErrorCode::kBadFlag,
                    concat("ambiguous option: ", option, " could match ", names));
    }
    return fail(ErrorCode::kBadFlag,
                concat("unrecognized argument: ", option, " (nearest: ", nearest_flag(option),
                       "; all flags: weir serve --help=all)"));
}

/// Sets value at path "a.b.c" below `root`, which is an object.
void set_nested(Json& root, std::string_view path, Json value) {
    const size_t dot = path.find('.');
    if (dot == std::string_view::npos) {
        root.set(path, std::move(value));
        return;
    }
    const std::string_view key = path.substr(0, dot);
    if (!root.find(key) || !root.find(key)->is_object()) root.set(key, Json::object());
    set_nested(*root.find(key), path.substr(dot + 1), std::move(value));
}

/// Value of a dotted key: JSON, else a human number, else a string (reference 4.1).
Json dotted_value(const std::string& text) {
    if (Result<Json> json = parse_json(text)) return std::move(*json);
    if (const Result<int64_t> number = parse_human_int(text)) return Json(*number);
    return Json(text);
}

class Parser {
 public:
    Parser(ParsedFlags& out, FlagSource source) : out_(out), source_(source) {}

    Result<void> parse(const std::vector<std::string>& arguments) {
        bool only_positional = false;
        for (size_t i = 0; i < arguments.size();) {
            const std::string& argument = arguments[i];
            if (!only_positional && argument == "--") {
                only_positional = true;
                ++i;
            } else if (only_positional || !looks_like_flag(argument)) {
                TRY_VOID(positional(argument));
                ++i;
            } else {
                TRY_VOID(option(arguments, i));
            }
        }
        return {};
    }

 private:
    Result<void> positional(const std::string& argument) {
        if (positional_seen_) {
            return fail(ErrorCode::kBadFlag,
                        concat("unrecognized argument: ", shorten(argument, 80),
                               " (MODEL is already given)"));
        }
        positional_seen_ = true;
        store(*find_exact("--model")->flag, {argument});
        return {};
    }

    /// Consumes arguments[i] and the values behind it.
    Result<void> option(const std::vector<std::string>& arguments, size_t& i) {
        const std::string& argument = arguments[i++];
        const size_t equals = argument.find('=');
        std::string name = normalise(std::string_view(argument).substr(0, equals));
        std::optional<std::string> inline_value;
        if (equals != std::string::npos) inline_value = argument.substr(equals + 1);
        if (name == "--help" || name == "-h") {
            out_.help = inline_value.value_or("");
            return {};
        }
        if (name.size() > 2 && name.starts_with("-O") && !inline_value) {  // -O3
            inline_value = name.substr(2);
            name = "-O";
        }
        std::string path;  // Behind the first dot of a JSON flag.
        if (const size_t dot = name.find('.'); dot != std::string::npos) {
            path = name.substr(dot + 1);
            name.resize(dot);
        }
        Result<FlagMatch> match = find_flag(name);
        if (!match) {
            if (take_family(name, arguments, i, inline_value.has_value())) return {};
            return tl::unexpected(std::move(match.error()));
        }
        const FlagSpec& flag = *match->flag;
        if (!path.empty() && flag.kind != FlagKind::kJson) {
            return fail(ErrorCode::kBadFlag, concat(dashed(flag), " takes no keys (.", path, ")"));
        }
        if (match->negated) {
            if (inline_value)
                return fail(ErrorCode::kBadFlag, concat("--no-", flag.name, " takes no value"));
            return assign(flag, {"false"});
        }
        if (is_boolean(flag)) return assign(flag, {inline_value.value_or("true")});
        std::vector<std::string> values;
        if (inline_value) {
            values.push_back(*inline_value);
        } else {
            const size_t most = flag.kind == FlagKind::kList ? arguments.size() : 1;
            while (i < arguments.size() && values.size() < most && !looks_like_flag(arguments[i])) {
                values.push_back(arguments[i++]);
            }
        }
        if (values.empty()) {
            return fail(ErrorCode::kBadFlag,
                        concat("argument ", dashed(flag), ": expected a value"));
        }
        if (!path.empty()) return assign_dotted(flag, path, values[0]);
        return assign(flag, std::move(values));
    }

    bool take_family(const std::string& name, const std::vector<std::string>& arguments, size_t& i,
                     bool has_inline_value) {
        const std::string_view bare =
            std::string_view(name).substr(std::min<size_t>(2, name.size()));
        const std::string_view stem = bare.starts_with("no-") ? bare.substr(3) : bare;
        const bool known =
            std::any_of(std::begin(kNoEffectFamilies), std::end(kNoEffectFamilies),
                        [&](std::string_view family) { return stem.starts_with(family); });
        if (!known) return false;
        while (!has_inline_value && i < arguments.size() && !looks_like_flag(arguments[i])) ++i;
        out_.notices.push_back(concat(name, " has no effect here"));
        return true;
    }

    Result<void> assign_dotted(const FlagSpec& flag, std::string path, const std::string& text) {
        Json root = Json::object();
        if (FlagValue* old = find_mutable(flag)) {
            if (Result<Json> parsed = parse_json(old->values[0]); parsed && parsed->is_object()) {
                root = std::move(*parsed);
            }
        }
        if (path.ends_with('+')) {  // --x.list+ a,b appends.
            path.pop_back();
            Json list = root[path].is_array() ? root[path] : Json::array();
            for (const std::string_view item : split(text, ','))
                list.push_back(dotted_value(std::string(item)));
            set_nested(root, path, std::move(list));
        } else {
            set_nested(root, path, dotted_value(text));
        }
        dotted_ = true;
        Result<void> result = assign(flag, {root.dump()});
        dotted_ = false;
        return result;
    }

    Result<void> assign(const FlagSpec& flag, std::vector<std::string> values) {
        for (const std::string& value : values) {
            if (Result<void> good = check_flag_value(flag, value); !good) {
                return fail(ErrorCode::kBadFlag,
                            concat("argument ", dashed(flag), ": ", good.error().text));
            }
        }
        switch (flag.status) {
            case FlagStatus::kImplemented: break;
            case FlagStatus::kNoEffect:
                out_.notices.push_back(concat(dashed(flag), " has no effect here: ", flag.help));
                break;
            case FlagStatus::kRemoved:
                out_.notices.push_back(
                    concat(dashed(flag), " does not exist any more: ", flag.help));
                break;
            case FlagStatus::kRefused:
                if (values.size() == 1 && values[0] == flag.default_text) return {};
                return fail(ErrorCode::kBadFlag,
                            concat("argument ", dashed(flag), ": ", flag.help, "; leave it out"));
        }
        if (find_mutable(flag) && find_mutable(flag)->source == source_ && !dotted_) {
            out_.notices.push_back(
                concat("Found duplicate keys ", dashed(flag), ": the last one wins"));
        }
        store(flag, std::move(values));
        return {};
    }

    void store(const FlagSpec& flag, std::vector<std::string> values) {
        FlagValue* value = find_mutable(flag);
        if (!value) value = &out_.values.emplace_back(FlagValue{&flag, {}, source_});
        value->values = std::move(values);
        value->source = source_;
    }

    FlagValue* find_mutable(const FlagSpec& flag) {
        return const_cast<FlagValue*>(out_.find(flag.name));
    }

    ParsedFlags& out_;
    FlagSource source_;
    bool positional_seen_ = false;
    bool dotted_ = false;
};

}  // namespace

Result<std::vector<std::string>> config_file_arguments(const std::string& path) {
    if (!path.ends_with(".yaml") && !path.ends_with(".yml")) {
        return fail(ErrorCode::kBadFlag,
                    concat("--config ", path, ": the file must end in .yaml or .yml"));
    }
    TRY(const Json file, read_yaml_file(path));
    if (!file.is_object() && !file.is_null()) {
        return fail(ErrorCode::kBadFlag, concat("--config ", path, ": needs `flag: value` lines"));
    }
    std::vector<std::string> arguments;
    if (file.is_null()) return arguments;
    const auto scalar = [](const Json& value) {
        return value.is_string() ? value.as_string() : value.is_null() ? "None" : value.dump();
    };
    for (const JsonMember& member : file.members()) {
        const std::string option = "--" + normalise(member.name);
        if (member.value.is_bool()) {
            const std::optional<FlagMatch> match = find_exact(option);
            if (member.value.as_bool()) {
                arguments.push_back(option);
            } else if (!match || match->flag->kind != FlagKind::kSwitch) {
                arguments.push_back("--no-" + normalise(member.name));
            }
        } else if (member.value.is_array()) {
            arguments.push_back(option);
            for (const Json& item : member.value.items()) arguments.push_back(scalar(item));
        } else {
            arguments.push_back(option + "=" + scalar(member.value));
        }
    }
    return arguments;
}

Result<ParsedFlags> parse_flags(const std::vector<std::string>& arguments) {
    ParsedFlags command_line, out;
    TRY_VOID(Parser(command_line, FlagSource::kCommandLine).parse(arguments));
    if (const FlagValue* config = command_line.find("config")) {
        TRY(const std::vector<std::string> lines, config_file_arguments(config->values[0]));
        Result<void> parsed = Parser(out, FlagSource::kConfigFile).parse(lines);
        if (!parsed) {
            return fail(ErrorCode::kBadFlag,
                        concat("--config ", config->values[0], ": ", parsed.error().text));
        }
        if (out.find("config")) {
            return fail(ErrorCode::kBadFlag, "a config file cannot name another config file");
        }
    }
    TRY_VOID(Parser(out, FlagSource::kCommandLine).parse(arguments));
    return out;
}

}  // namespace weir
