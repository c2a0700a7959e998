#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/options.h"

namespace weir {

enum class RouteId {
#define WEIR_ROUTE(id, methods, path, when, counted, doc) id,
#include "api/routes.def"
#undef WEIR_ROUTE
};

enum class RouteWhen { kAlways, kDev, kDocs, kPage };

/// One row of routes.def.
struct RouteSpec {
    RouteId id;
    std::string_view methods;  // Separated by blanks; empty: any.
    std::string_view path;
    RouteWhen when;
    bool counted;
    std::string_view doc;
};

std::span<const RouteSpec> route_specs();

/// Whether these options have the route at all.
bool route_exists(const RouteSpec& route, const ApiOptions& options, bool has_page);

/// The path without root_path, if it stands in front.
std::string_view strip_root(std::string_view path, const std::string& root_path);

/// True for paths that need a key if there are keys (reference 4.4).
bool is_guarded(std::string_view path);

/// True if `authorization` ("Bearer K", scheme in any case, one blank) carries one of `keys`. Takes
/// the same time for every wrong key of a length.
bool has_key(const std::string* authorization, const std::vector<std::string>& keys);

/// The value of `name` in "a=1&b=2"; empty if absent. Not percent-decoded: dev routes only.
std::string_view query_value(std::string_view query, std::string_view name);

}  // namespace weir
