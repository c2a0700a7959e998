#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir {

/// The value of an environment variable; an empty value counts as set. Read before threads start:
/// setenv elsewhere would race.
std::optional<std::string> environment_variable(const std::string& name);

/// All of them, in the order of the environment.
std::vector<std::pair<std::string, std::string>> environment_variables();

/// Where weir keeps models: $WEIR_CACHE, else $XDG_CACHE_HOME/weir, else $HOME/.cache/weir.
std::string cache_directory();

}  // namespace weir
