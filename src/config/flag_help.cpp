#include <algorithm>
#include <climits>

#include "base/text.h"
#include "config/serve_config.h"

namespace weir {

namespace {

constexpr size_t kColumn = 44;  // Where the help text begins.
constexpr size_t kWidth = 100;

std::string value_form(const FlagSpec& flag) {
    switch (flag.kind) {
        case FlagKind::kBool:
        case FlagKind::kSwitch: return "";
        case FlagKind::kInt: return " N";
        case FlagKind::kHumanInt: return " N|Nk|NK";
        case FlagKind::kFloat: return " X";
        case FlagKind::kString: return " TEXT";
        case FlagKind::kChoice:
            return flag.bounds.size() < 24 ? concat(" ", flag.bounds) : " CHOICE";
        case FlagKind::kList: return " TEXT ...";
        case FlagKind::kJson: return " JSON";
    }
    return "";
}

std::string flag_form(const FlagSpec& flag) {
    std::string form = flag.kind == FlagKind::kBool ? concat("--[no-]", flag.name) : dashed(flag);
    for (const std::string_view alias : split(flag.aliases, ' ')) {
        if (!alias.empty()) form += concat(", ", alias);
    }
    return form + value_form(flag);
}

/// `text` in lines of at most kWidth, continued at kColumn.
std::string wrapped(std::string_view text) {
    std::string out;
    size_t column = kColumn;
    for (const std::string_view word : split(text, ' ')) {
        if (column + word.size() + 1 > kWidth) {
            out += "\n" + std::string(kColumn, ' ');
            column = kColumn;
        } else if (column > kColumn) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
    }
    return out;
}

std::string status_text(const FlagSpec& flag) {
    switch (flag.status) {
        case FlagStatus::kImplemented: return "";
        case FlagStatus::kNoEffect: return "no effect here: ";
        case FlagStatus::kRefused: return "refused: ";
        case FlagStatus::kRemoved: return "gone: ";
    }
    return "";
}

std::string flag_help(const FlagSpec& flag) {
    std::string line = "  " + flag_form(flag);
    line += line.size() + 1 < kColumn ? std::string(kColumn - line.size(), ' ')
                                      : "\n" + std::string(kColumn, ' ');
    std::string text = concat(status_text(flag), flag.help);
    if (flag.kind == FlagKind::kChoice && flag.bounds.size() >= 24)
        text += concat(" (", flag.bounds, ")");
    if (flag.status == FlagStatus::kImplemented && flag.default_text != "None" &&
        !flag.default_text.empty()) {
        text += concat(" [", flag.default_text, "]");
    }
    return line + wrapped(text) + "\n";
}

std::vector<std::string> group_names() {
    std::vector<std::string> names;
    for (const FlagSpec& flag : serve_flags()) {
        const std::string name(flag.group);
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names;
}

std::string group_help(std::string_view group) {
    std::string out = concat("\n", group, ":\n");
    for (const FlagSpec& flag : serve_flags()) {
        if (flag.group == group) out += flag_help(flag);
    }
    return out;
}

std::string overview() {
    std::string out =
        "usage: weir serve [MODEL] [flags]\n\n"
        "Serves MODEL (a GGUF file or folder) with OpenAI's HTTP API and vLLM's flags.\n"
        "Without MODEL: SmolLM2-135M-Instruct, which `make model` puts into the cache.\n\n"
        "The six knobs:\n";
    for (const std::string_view knob :
         {"enable-chunked-prefill", "max-num-batched-tokens", "max-num-seqs",
          "gpu-memory-utilization", "max-model-len", "enable-prefix-caching"}) {
        for (const FlagSpec& flag : serve_flags()) {
            if (flag.name == knob) out += flag_help(flag);
        }
    }
    out += "\nGroups, shown by --help=GROUP:\n ";
    for (const std::string& group : group_names()) out += concat(" \"", group, "\"");
    return out +
           "\nAlso: --help=all, --help=FLAG (e.g. --help=max-model-len), --print-config, --config "
           "FILE.yaml\n";
}

}  // namespace

Result<std::string> serve_help(const std::string& topic) {
    if (topic.empty()) return overview();
    if (topic == "all" || topic == "page") {
        std::string out = "usage: weir serve [MODEL] [flags]\n";
        for (const std::string& group : group_names()) out += group_help(group);
        return out;
    }
    std::string nearest;
    int distance = INT_MAX;
    std::string wanted = to_lower(topic);
    std::replace(wanted.begin(), wanted.end(), '_', '-');
    while (wanted.starts_with('-')) wanted.erase(0, 1);
    const auto consider = [&](std::string_view name) {
        const int d = edit_distance(wanted, to_lower(name));
        if (d < distance) {
            distance = d;
            nearest = name;
        }
        return d == 0;
    };
    for (const std::string& group : group_names()) {
        if (consider(group)) return group_help(group);
    }
    for (const FlagSpec& flag : serve_flags()) {
        if (consider(flag.name)) return flag_help(flag);
    }
    return fail(ErrorCode::kBadFlag, concat("no help for '", topic, "' (nearest: ", nearest, ")"));
}

std::string flags_markdown() {
    std::string out;
    for (const std::string& group : group_names()) {
        out +=
            concat("\n## ", group, "\n\n| flag | default | status | what |\n|---|---|---|---|\n");
        for (const FlagSpec& flag : serve_flags()) {
            if (flag.group != group) continue;
            std::string form = flag_form(flag), help(flag.help);
            for (size_t at = 0; (at = form.find('|', at)) != std::string::npos; at += 2)
                form.insert(at, "\\");
            const char* const status = flag.status == FlagStatus::kImplemented ? "yes"
                                       : flag.status == FlagStatus::kNoEffect  ? "no effect"
                                       : flag.status == FlagStatus::kRefused   ? "refused"
                                                                               : "gone";
            out += concat("| `", form, "` | ",
                          flag.default_text.empty() ? "" : concat("`", flag.default_text, "`"),
                          " | ", status, " | ", help, " |\n");
        }
    }
    return out;
}

}  // namespace weir
