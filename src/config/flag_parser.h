#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "config/flag_spec.h"

namespace weir {

enum class FlagSource { kDefault, kEnvironment, kConfigFile, kCommandLine };
const char* to_string(FlagSource source);

/// One flag as given, last one wins.
struct FlagValue {
    const FlagSpec* flag = nullptr;
    std::vector<std::string> values;  // One; several for kList. Booleans: "true" or "false".
    FlagSource source = FlagSource::kDefault;
};

struct ParsedFlags {
    std::vector<FlagValue> values;     // One for each flag that was given.
    std::vector<std::string> notices;  // Lines for the operator: no effect, removed, repeated.
    std::optional<std::string> help;   // --help [=topic]; "" without topic.

    const FlagValue* find(std::string_view name) const;
};

/// vLLM's argument syntax (reference 4.1): dashes and underscores, --x=v, --no-x, unique prefixes,
/// dotted JSON, several values, --config FILE (its keys stand before the command line), positional
/// MODEL. Fails with kBadFlag: the unknown flag and the nearest name, a bad value and what it may
/// be. Reads the config file; no other I/O.
Result<ParsedFlags> parse_flags(const std::vector<std::string>& arguments);

/// The same from the keys of a YAML or JSON mapping, as --config does.
Result<std::vector<std::string>> config_file_arguments(const std::string& path);

}  // namespace weir
