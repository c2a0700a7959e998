#include "api/routes.h"

#include "base/text.h"

namespace weir {

namespace {

constexpr RouteSpec kRoutes[] = {
#define WEIR_ROUTE(id, methods, path, when, counted, doc) \
    {RouteId::id, methods, path, RouteWhen::when, counted, doc},
#include "api/routes.def"
#undef WEIR_ROUTE
};

/// Looks at every byte of `given`, whatever it finds.
bool equal_in_constant_time(std::string_view given, std::string_view key) {
    unsigned difference = given.size() == key.size() ? 0 : 1;
    for (size_t i = 0; i < given.size(); ++i) {
        const char other = key.empty() ? '\0' : key[i % key.size()];
        difference |= static_cast<unsigned char>(given[i] ^ other);
    }
    return difference == 0;
}

}  // namespace

std::span<const RouteSpec> route_specs() { return kRoutes; }

bool route_exists(const RouteSpec& route, const ApiOptions& options, bool has_page) {
    switch (route.when) {
        case RouteWhen::kAlways: return true;
        case RouteWhen::kDev: return options.dev_mode;
        case RouteWhen::kDocs: return !options.disable_fastapi_docs;
        case RouteWhen::kPage: return has_page;
    }
    return false;
}

std::string_view strip_root(std::string_view path, const std::string& root_path) {
    std::string_view root = root_path;
    while (root.ends_with('/')) root.remove_suffix(1);
    if (root.empty() || !path.starts_with(root)) return path;
    const std::string_view rest = path.substr(root.size());
    if (rest.empty()) return "/";
    return rest.front() == '/' ? rest : path;
}

bool is_guarded(std::string_view path) {
    for (const char* begin : {"/v1", "/v2", "/inference", "/cohere"}) {
        if (path.starts_with(begin)) return true;
    }
    return false;
}

bool has_key(const std::string* authorization, const std::vector<std::string>& keys) {
    if (!authorization) return false;
    const std::string_view text = *authorization;
    const size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return false;
    if (!equals_ignore_case(text.substr(0, blank), "Bearer")) return false;
    const std::string_view given = text.substr(blank + 1);
    bool found = false;
    for (const std::string& key : keys) {
        const bool same = equal_in_constant_time(given, key);
        found = found || (same && !key.empty());
    }
    return found;
}

std::string_view query_value(std::string_view query, std::string_view name) {
    for (const std::string_view part : split(query, '&')) {
        const size_t equal = part.find('=');
        if (equal != std::string_view::npos && part.substr(0, equal) == name) {
            return part.substr(equal + 1);
        }
    }
    return {};
}

}  // namespace weir
