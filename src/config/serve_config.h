#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "config/flag_parser.h"

namespace weir {

/// The values of all flags of flags.def; frozen at start. A field is named like its flag.
struct ServeConfig {
#define WEIR_FLAG(field, type, kind, default_text, aliases, group, bounds, help) type field{};
#include "config/flags.def"
};

/// A VLLM_* variable that weir reads, or why it does not.
struct EnvironmentValue {
    std::string name;
    std::string value;
};

/// Names an environment variable's value; empty optional if it is not set. Handed in: config reads
/// no environment.
using GetEnvironment = std::function<std::optional<std::string>(const std::string& name)>;

struct LoadedConfig {
    ServeConfig config;
    std::vector<FlagValue> values;     // Given flags and variables, for --print-config.
    std::vector<std::string> notices;  // One line each, for the operator.
    std::optional<std::string> help;

    FlagSource source_of(std::string_view flag) const;
};

/// Command line, config file and environment to values; defaults for the rest. `environment` lists
/// all variables, for the notices of reference 4.3: service links of Kubernetes and unknown VLLM_*
/// names.
Result<LoadedConfig> load_serve_config(const std::vector<std::string>& arguments,
                                       const std::vector<EnvironmentValue>& environment);

/// "flag: value  # source" for every flag.
std::string print_config(const LoadedConfig& loaded);
/// What differs from the defaults, keys redacted: vLLM's "non-default args: {...}".
std::string non_default_args(const LoadedConfig& loaded);

/// Text of `weir serve --help[=topic]`: topic "" (groups), "all", "page", a group or a flag. Fails
/// with the nearest topic.
Result<std::string> serve_help(const std::string& topic);
/// docs/reference/flags.md and environment.md.
std::string flags_markdown();
std::string environment_markdown();

}  // namespace weir
