#include "net/request_head.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace weir {

namespace {

constexpr size_t kMethodBytesMax = 32;

constexpr BadRequest bad(const char* text) { return {400, text}; }

bool is_visible(char c) { return c > ' ' && c < 0x7f; }

/// RFC 9110 5.5: tab, blank, visible ASCII and bytes from 0x80 on.
bool is_value_char(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= ' ' && byte != 0x7f);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_absolute_form(std::string_view target) {
    const size_t scheme_end = target.find("://");
    if (scheme_end == std::string_view::npos) return false;
    const std::string_view scheme = target.substr(0, scheme_end);
    return equals_ignore_case(scheme, "http") || equals_ignore_case(scheme, "https");
}

BadRequest parse_version(std::string_view version, RequestFraming& framing) {
    const bool formed = version.size() == 8 && version.starts_with("HTTP/") &&
                        is_digit(version[5]) && version[6] == '.' && is_digit(version[7]);
    if (!formed) return bad("the request line does not end in HTTP/1.1 or HTTP/1.0");
    if (version[5] != '1') return {505, "only HTTP/1.1 and HTTP/1.0 are spoken here"};
    framing.http10 = version[7] == '0';
    return kNoBadRequest;
}

BadRequest parse_request_line(std::string_view line, HttpRequest& request,
                              RequestFraming& framing) {
    const size_t method_end = line.find(' ');
    const size_t target_end = line.rfind(' ');
    if (method_end == std::string_view::npos || method_end == target_end) {
        return bad("the request line is not METHOD TARGET VERSION");
    }
    const std::string_view method = line.substr(0, method_end);
    const std::string_view target = line.substr(method_end + 1, target_end - method_end - 1);
    if (method.empty() || method.size() > kMethodBytesMax ||
        !std::all_of(method.begin(), method.end(), is_token_char)) {
        return bad("the method is not a token");
    }
    if (target.empty() || !std::all_of(target.begin(), target.end(), is_visible)) {
        return bad("the target is empty or has characters that must be percent-encoded");
    }
    const bool asterisk = target == "*" && method == "OPTIONS";
    if (target.front() != '/' && !asterisk && !is_absolute_form(target)) {
        return bad("the target is neither a path nor an http address");
    }
    if (BadRequest error = parse_version(line.substr(target_end + 1), framing); error.status) {
        return error;
    }
    request.method = method;
    request.target = target;
    split_target(target, request.path, request.query);
    return kNoBadRequest;
}

/// "72", or "72, 72" as a proxy that joins equal fields writes it. -1: not given yet.
BadRequest parse_content_length(std::string_view value, int64_t& length) {
    for (std::string_view part : split(value, ',')) {
        part = trim(part);
        if (part.empty() || !std::all_of(part.begin(), part.end(), is_digit)) {
            return bad("Content-Length is not a number");
        }
        int64_t number = 0;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
        if (error != std::errc() || end != part.data() + part.size()) {
            return {413, "Content-Length is larger than any limit"};
        }
        if (length >= 0 && length != number) return bad("two Content-Length values differ");
        length = number;
    }
    return kNoBadRequest;
}

struct FramingFields {
    int64_t content_length = -1;
    int num_transfer_encodings = 0;
    int num_hosts = 0;
    bool close = false;
    bool keep_alive = false;
};

void read_connection_field(std::string_view value, FramingFields& fields) {
    for (const std::string_view option : split(value, ',')) {
        if (equals_ignore_case(trim(option), "close")) fields.close = true;
        if (equals_ignore_case(trim(option), "keep-alive")) fields.keep_alive = true;
    }
}

BadRequest read_field(const std::string& name, const std::string& value, FramingFields& fields,
                      RequestFraming& framing) {
    if (equals_ignore_case(name, "content-length")) {
        return parse_content_length(value, fields.content_length);
    }
    if (equals_ignore_case(name, "transfer-encoding")) {
        ++fields.num_transfer_encodings;
        if (!equals_ignore_case(value, "chunked")) {
            return {501, "the only Transfer-Encoding understood is chunked"};
        }
        framing.chunked = true;
    } else if (equals_ignore_case(name, "connection")) {
        read_connection_field(value, fields);
    } else if (equals_ignore_case(name, "host")) {
        ++fields.num_hosts;
    } else if (equals_ignore_case(name, "expect")) {
        if (!equals_ignore_case(value, "100-continue")) {
            return {417, "the only Expect understood is 100-continue"};
        }
        framing.expect_continue = true;
    }
    return kNoBadRequest;
}

BadRequest find_framing(const HttpHeaders& headers, RequestFraming& framing) {
    FramingFields fields;
    for (const auto& [name, value] : headers) {
        if (BadRequest error = read_field(name, value, fields, framing); error.status) {
            return error;
        }
    }
    if (framing.chunked && fields.content_length >= 0) {
        return bad("both Content-Length and Transfer-Encoding are given");
    }
    if (fields.num_transfer_encodings > 1) return bad("Transfer-Encoding is given twice");
    if (framing.chunked && framing.http10) return bad("HTTP/1.0 has no Transfer-Encoding");
    if (fields.num_hosts > 1) return bad("Host is given twice");
    if (fields.num_hosts == 0 && !framing.http10) return bad("Host is missing");
    framing.content_length = std::max<int64_t>(fields.content_length, 0);
    // RFC 9110 10.1.1: an HTTP/1.0 client cannot understand an interim answer.
    if (framing.http10) framing.expect_continue = false;
    framing.keep_alive = !fields.close && (!framing.http10 || fields.keep_alive);
    return kNoBadRequest;
}

}  // namespace

bool is_token_char(char c) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c)) return true;
    return c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

void split_target(std::string_view target, std::string& path, std::string& query) {
    if (is_absolute_form(target)) {
        target.remove_prefix(target.find("://") + 3);
        target.remove_prefix(std::min(target.find_first_of("/?#"), target.size()));
    }
    target = target.substr(0, target.find('#'));
    const size_t question = target.find('?');
    path = target.substr(0, question);
    query = question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
    if (path.empty()) path = "/";
}

BadRequest parse_field_line(std::string_view line, HttpHeaders& headers) {
    if (line.front() == ' ' || line.front() == '\t') return bad("a header line is folded");
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return bad("a header line has no colon");
    const std::string_view name = line.substr(0, colon);
    if (name.empty() || !std::all_of(name.begin(), name.end(), is_token_char)) {
        return bad("a header name has characters that are not allowed");
    }
    const std::string_view value = trim(line.substr(colon + 1));
    if (!std::all_of(value.begin(), value.end(), is_value_char)) {
        return bad("a header value has control characters");
    }
    headers.emplace_back(name, value);
    return kNoBadRequest;
}

BadRequest parse_request_head(std::string_view text, HttpRequest& request,
                              RequestFraming& framing) {
    bool first = true;
    while (true) {
        const size_t end = text.find('\n');
        if (end == std::string_view::npos || end == 0 || text[end - 1] != '\r') {
            return bad("a header line ends in a bare LF");
        }
        const std::string_view line = text.substr(0, end - 1);
        text.remove_prefix(end + 1);
        if (line.empty() && !first) return find_framing(request.headers, framing);
        const BadRequest error = first ? parse_request_line(line, request, framing)
                                       : parse_field_line(line, request.headers);
        if (error.status) return error;
        first = false;
    }
}

}  // namespace weir
