#include "os/environment.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace weir {

std::optional<std::string> environment_variable(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    if (!value) return std::nullopt;
    return std::string(value);
}

std::vector<std::pair<std::string, std::string>> environment_variables() {
    std::vector<std::pair<std::string, std::string>> variables;
    for (char** entry = ::environ; entry && *entry; ++entry) {
        if (const char* equals = std::strchr(*entry, '=')) {
            const std::string_view whole = *entry;
            variables.emplace_back(whole.substr(0, static_cast<size_t>(equals - *entry)),
                                   equals + 1);
        }
    }
    return variables;
}

std::string cache_directory() {
    const auto set = [](const char* name) {
        const char* value = std::getenv(name);
        return value && *value ? std::string(value) : std::string();
    };
    if (const std::string own = set("WEIR_CACHE"); !own.empty()) return own;
    if (const std::string xdg = set("XDG_CACHE_HOME"); !xdg.empty()) return xdg + "/weir";
    const std::string home = set("HOME");
    return (home.empty() ? "/root" : home) + "/.cache/weir";
}

}  // namespace weir
