#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/http_server.h"

namespace weir {

/// Why a request is refused before any handler sees it. `text` is for the client.
struct BadRequest {
    int status;        // 0: nothing is wrong.
    const char* text;  // Static.
};

constexpr BadRequest kNoBadRequest{0, ""};

/// How the body is framed and what the client wants of the connection.
struct RequestFraming {
    bool http10 = false;
    bool keep_alive = true;
    bool expect_continue = false;
    bool chunked = false;
    int64_t content_length = 0;  // 0 if absent or chunked.
};

/// Parses a whole header: request line and fields, each line with CRLF, the empty line last.
/// Stricter than RFC 9112 where leniency lets two readers disagree (request smuggling): bare LF,
/// folded lines, blanks before a colon, both framings at once, unequal lengths, no or several Host
/// fields are refused with 400. Pure.
BadRequest parse_request_head(std::string_view text, HttpRequest& request, RequestFraming& framing);

/// One field line without its CRLF, appended to `headers`.
BadRequest parse_field_line(std::string_view line, HttpHeaders& headers);

/// Visible ASCII that RFC 9110 5.6.2 allows in methods and field names.
bool is_token_char(char c);

/// Splits "http://host/path?query" or "/path?query" or "*" into path and query.
void split_target(std::string_view target, std::string& path, std::string& query);

}  // namespace weir
