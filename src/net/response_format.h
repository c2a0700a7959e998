#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/http_server.h"

namespace weir {

/// "Not Found" for 404; "Unknown" for codes without a name.
std::string_view status_text(int status);

/// "Thu, 01 Jan 1970 00:00:00 GMT" (RFC 9110 5.6.7), for any time of day.
std::string http_date(int64_t unix_seconds);

/// 1xx, 204 and 304 have neither body nor Content-Length (RFC 9110 6.4.1).
bool status_has_body(int status);

enum class BodyFraming { kLength, kChunked, kUntilClose, kNone };

struct ResponseHead {
    int status;
    BodyFraming framing;
    int64_t content_length;  // For kLength.
    bool close;              // Adds "Connection: close".
    bool http10_keep_alive;  // Adds "Connection: keep-alive", which HTTP/1.0 clients need.
    std::string_view server;
    std::string_view date;
};

/// Appends status line and fields. Framing fields and Connection in `headers` are left out (they
/// are this function's business), and so are fields with line breaks: nothing that came from
/// outside can split an answer in two.
void append_response_head(std::string& out, const ResponseHead& head, const HttpHeaders& headers);

/// Appends one chunk of a chunked body; nothing for an empty one, which would end the body.
void append_chunk(std::string& out, std::string_view data);

}  // namespace weir
