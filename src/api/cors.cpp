#include "api/cors.h"

#include <algorithm>

#include "api/errors.h"
#include "base/text.h"

namespace weir {

namespace {

constexpr const char* kAllMethods = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";
constexpr const char* kMaxAgeSeconds = "600";

bool has_star(const std::vector<std::string>& list) {
    return std::ranges::find(list, "*") != list.end();
}

bool contains_ignoring_case(const std::vector<std::string>& list, std::string_view word) {
    return std::ranges::any_of(
        list, [&](const std::string& item) { return equals_ignore_case(item, word); });
}

/// Headers that the Fetch standard lets every client send.
bool is_safelisted(std::string_view name) {
    for (const char* safe : {"Accept", "Accept-Language", "Content-Language", "Content-Type"}) {
        if (equals_ignore_case(name, safe)) return true;
    }
    return false;
}

bool headers_allowed(std::string_view wanted, const std::vector<std::string>& allowed) {
    for (const std::string_view item : split(wanted, ',')) {
        const std::string_view name = trim(item);
        if (!name.empty() && !is_safelisted(name) && !contains_ignoring_case(allowed, name)) {
            return false;
        }
    }
    return true;
}

}  // namespace

bool Cors::allows_all() const { return has_star(options_.allowed_origins); }

bool Cors::allows(const std::string& origin) const {
    return allows_all() ||
           std::ranges::find(options_.allowed_origins, origin) != options_.allowed_origins.end();
}

std::optional<HttpResponse> Cors::preflight(const HttpRequest& request) const {
    const std::string* origin = request.header("origin");
    const std::string* method = request.header("access-control-request-method");
    if (request.method != "OPTIONS" || !origin || !method) return {};

    HttpResponse answer = text_response(200, "OK");
    HttpHeaders& headers = answer.headers;
    std::vector<std::string> failures;
    const bool explicit_origin = !allows_all() || options_.allow_credentials;
    if (!allows(*origin)) {
        failures.emplace_back("origin");
    } else {
        headers.emplace_back("Access-Control-Allow-Origin", explicit_origin ? *origin : "*");
    }
    if (explicit_origin) headers.emplace_back("Vary", "Origin");

    const bool all_methods = has_star(options_.allowed_methods);
    headers.emplace_back("Access-Control-Allow-Methods",
                         all_methods ? kAllMethods : join(options_.allowed_methods, ", "));
    headers.emplace_back("Access-Control-Max-Age", kMaxAgeSeconds);
    if (options_.allow_credentials)
        headers.emplace_back("Access-Control-Allow-Credentials", "true");
    if (!all_methods &&
        std::ranges::find(options_.allowed_methods, *method) == options_.allowed_methods.end()) {
        failures.emplace_back("method");
    }
    const std::string* wanted = request.header("access-control-request-headers");
    const bool all_headers = has_star(options_.allowed_headers);
    if (all_headers && wanted) {
        headers.emplace_back("Access-Control-Allow-Headers", *wanted);
    } else if (!all_headers) {
        headers.emplace_back("Access-Control-Allow-Headers", join(options_.allowed_headers, ", "));
        if (wanted && !headers_allowed(*wanted, options_.allowed_headers)) {
            failures.emplace_back("headers");
        }
    }
    if (!failures.empty()) {
        answer.status = 400;
        answer.body = "Disallowed CORS " + join(failures, ", ");
    }
    return answer;
}

HttpHeaders Cors::headers(const HttpRequest& request) const {
    const std::string* origin = request.header("origin");
    if (!origin) return {};
    HttpHeaders headers;
    if (options_.allow_credentials)
        headers.emplace_back("Access-Control-Allow-Credentials", "true");
    if (!allows(*origin)) return headers;
    // A browser that sends cookies does not accept "*".
    const bool with_cookies = request.header("cookie") != nullptr;
    if (allows_all() && !with_cookies) {
        headers.emplace_back("Access-Control-Allow-Origin", "*");
    } else {
        headers.emplace_back("Access-Control-Allow-Origin", *origin);
        headers.emplace_back("Vary", "Origin");
    }
    return headers;
}

}  // namespace weir
