#pragma once

#include <optional>

#include "api/options.h"
#include "net/http_server.h"

namespace weir {

/// Cross-origin rules, as the WHATWG Fetch standard asks of a server and as vLLM's server answers
/// (reference 4.2; recorded): no origin is allowed by default.
class Cors {
 public:
    explicit Cors(const ApiOptions& options) : options_(options) {}

    /// The answer to a preflight (OPTIONS with Origin and Access-Control-Request-Method), or
    /// nothing.
    std::optional<HttpResponse> preflight(const HttpRequest& request) const;
    /// Headers for the answer to any other request; none without Origin.
    HttpHeaders headers(const HttpRequest& request) const;

 private:
    bool allows_all() const;
    bool allows(const std::string& origin) const;

    const ApiOptions& options_;
};

}  // namespace weir
