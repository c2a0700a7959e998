#include "net/response_format.h"

#include <array>
#include <charconv>
#include <ctime>

#include "base/text.h"

namespace weir {

namespace {

bool is_own_field(std::string_view name) {
    for (const std::string_view own :
         {"content-length", "transfer-encoding", "connection", "date", "server"}) {
        if (equals_ignore_case(name, own)) return true;
    }
    return false;
}

void append_number(std::string& out, int64_t number) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), end);
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
}

bool has_line_break(std::string_view text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

}  // namespace

std::string_view status_text(int status) {
    switch (status) {
        case 100: return "Continue";
        case 200: return "OK";
        case 201: return "Created";
        case 202: return "Accepted";
        case 204: return "No Content";
        case 301: return "Moved Permanently";
        case 302: return "Found";
        case 304: return "Not Modified";
        case 307: return "Temporary Redirect";
        case 308: return "Permanent Redirect";
        case 400: return "Bad Request";
        case 401: return "Unauthorized";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 408: return "Request Timeout";
        case 409: return "Conflict";
        case 411: return "Length Required";
        case 413: return "Content Too Large";
        case 415: return "Unsupported Media Type";
        case 417: return "Expectation Failed";
        case 422: return "Unprocessable Entity";
        case 429: return "Too Many Requests";
        case 431: return "Request Header Fields Too Large";
        case 499: return "Client Closed Request";
        case 500: return "Internal Server Error";
        case 501: return "Not Implemented";
        case 502: return "Bad Gateway";
        case 503: return "Service Unavailable";
        case 504: return "Gateway Timeout";
        case 505: return "HTTP Version Not Supported";
        default: return "Unknown";
    }
}

std::string http_date(int64_t unix_seconds) {
    // Not strftime: weekday and month must be English under any locale.
    static constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed",
                                                         "Thu", "Fri", "Sat"};
    static constexpr std::array<const char*, 12> kMonths = {
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const auto seconds = static_cast<std::time_t>(unix_seconds);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    const auto two = [](int number) {
        return std::string(number < 10 ? "0" : "") + std::to_string(number);
    };
    return concat(kDays[static_cast<size_t>(parts.tm_wday)], ", ", two(parts.tm_mday), " ",
                  kMonths[static_cast<size_t>(parts.tm_mon)], " ", parts.tm_year + 1900, " ",
                  two(parts.tm_hour), ":", two(parts.tm_min), ":", two(parts.tm_sec), " GMT");
}

bool status_has_body(int status) { return status >= 200 && status != 204 && status != 304; }

void append_response_head(std::string& out, const ResponseHead& head, const HttpHeaders& headers) {
    out += "HTTP/1.1 ";
    append_number(out, head.status);
    out += ' ';
    out += status_text(head.status);
    out += "\r\n";
    append_field(out, "date", head.date);
    append_field(out, "server", head.server);
    for (const auto& [name, value] : headers) {
        if (is_own_field(name) || has_line_break(name) || has_line_break(value)) continue;
        append_field(out, name, value);
    }
    if (head.framing == BodyFraming::kLength) {
        out += "content-length: ";
        append_number(out, head.content_length);
        out += "\r\n";
    } else if (head.framing == BodyFraming::kChunked) {
        append_field(out, "transfer-encoding", "chunked");
    }
    if (head.close) {
        append_field(out, "connection", "close");
    } else if (head.http10_keep_alive) {
        append_field(out, "connection", "keep-alive");
    }
    out += "\r\n";
}

void append_chunk(std::string& out, std::string_view data) {
    if (data.empty()) return;
    std::array<char, 16> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), data.size(), 16);
    out.append(digits.data(), end.ptr);
    out += "\r\n";
    out += data;
    out += "\r\n";
}

}  // namespace weir
