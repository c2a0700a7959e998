#include "net/http_client.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "net/blocking_socket.h"
#include "net/request_head.h"

namespace weir {

namespace {

constexpr size_t kHeadBytesMax = size_t{1} << 20;
constexpr size_t kLineBytesMax = size_t{64} << 20;

enum class BodyMode { kNone, kLength, kChunked, kUntilClose };

}  // namespace

struct HttpClient::State {
    explicit State(const HttpClientOptions& options) : socket(options) {}

    BlockingSocket socket;
    std::string in;  // Received, not yet used; from in_used on.
    size_t in_used = 0;
    BodyMode mode = BodyMode::kNone;
    int64_t left_bytes = 0;  // Of the body, or of the chunk.
    bool in_chunk = false;
    bool close_after = false;  // The server announced it.
    bool used = false;         // A request was sent on this or an earlier connection.
    int64_t body_bytes = 0;
    std::string text;  // Of the body, for read_line(); from text_used on.
    size_t text_used = 0;

    tl::unexpected<Error> error(std::string_view what) { return socket.error(what); }
    /// A connection that can take a request.
    Result<void> ensure_open();
    /// More input into `in`; false at the end of the connection.
    Result<bool> receive();
    Result<std::string> take_line(size_t line_bytes_max);
    Result<HttpReply> read_head(bool head_request);
    void find_body(const HttpReply& reply, bool head_request);
    Result<std::optional<std::string>> read_part();
    Result<std::string> read_body();
    Result<bool> next_chunk();
    std::optional<std::string> take(size_t bytes_max);
    Result<std::optional<std::string>> end_body();
};

Result<void> HttpClient::State::ensure_open() {
    const bool first = !std::exchange(used, true);
    if (socket.connected() && (first || (!close_after && !socket.readable()))) return {};
    close_after = false;
    in.clear();
    in_used = 0;
    return socket.connect();
}

Result<bool> HttpClient::State::receive() {
    if (in_used > 0) in.erase(0, std::exchange(in_used, 0));
    return socket.receive(in);
}

Result<std::string> HttpClient::State::take_line(size_t line_bytes_max) {
    size_t scanned = 0;  // Behind in_used.
    while (true) {
        const size_t end = in.find('\n', in_used + scanned);
        if (end != std::string::npos) {
            std::string line = in.substr(in_used, end - in_used);
            in_used = end + 1;
            if (line.ends_with('\r')) line.pop_back();
            return line;
        }
        scanned = in.size() - in_used;
        if (scanned > line_bytes_max) return error("a line of the answer is too long");
        TRY(const bool more, receive());
        if (!more) return error("the server closed the connection before the answer ended");
    }
}

Result<HttpReply> HttpClient::State::read_head(bool head_request) {
    TRY(const std::string first, take_line(kHeadBytesMax));
    HttpReply reply;
    const bool formed = first.size() >= 12 && first.starts_with("HTTP/1.") && first[8] == ' ';
    const char* const digits = first.data() + std::min<size_t>(first.size(), 9);
    if (!formed || std::from_chars(digits, digits + 3, reply.status).ptr != digits + 3) {
        return error(concat("not an HTTP answer: ", shorten(first, 80)));
    }
    size_t head_bytes = first.size();
    while (true) {
        TRY(const std::string line, take_line(kHeadBytesMax));
        if (line.empty()) break;
        head_bytes += line.size();
        if (head_bytes > kHeadBytesMax) return error("the header of the answer is too large");
        const BadRequest problem = parse_field_line(line, reply.headers);
        if (problem.status) return error(concat("bad answer: ", problem.text));
    }
    if (reply.status != 101 && reply.status < 200) {
        mode = BodyMode::kNone;
        return reply;
    }
    const std::string* connection = reply.header("connection");
    close_after = connection ? equals_ignore_case(*connection, "close") : first[7] == '0';
    find_body(reply, head_request);
    return reply;
}

void HttpClient::State::find_body(const HttpReply& reply, bool head_request) {
    const std::string* length = reply.header("content-length");
    const std::string* encoding = reply.header("transfer-encoding");
    left_bytes = 0;
    body_bytes = 0;
    in_chunk = false;
    text.clear();
    text_used = 0;
    if (head_request || reply.status == 204 || reply.status == 304) {
        mode = BodyMode::kNone;
    } else if (encoding) {
        mode = BodyMode::kChunked;
    } else if (length) {
        mode = BodyMode::kLength;
        std::from_chars(length->data(), length->data() + length->size(), left_bytes);
    } else {
        mode = BodyMode::kUntilClose;
        close_after = true;
    }
}

std::optional<std::string> HttpClient::State::take(size_t bytes_max) {
    std::string part = in.substr(in_used, bytes_max);
    in_used += part.size();
    body_bytes += static_cast<int64_t>(part.size());
    return part;
}

Result<std::optional<std::string>> HttpClient::State::end_body() {
    mode = BodyMode::kNone;
    if (close_after) socket.close();
    return std::optional<std::string>();
}

/// False behind the last chunk and its trailers.
Result<bool> HttpClient::State::next_chunk() {
    if (in_chunk) {
        TRY(const std::string rest, take_line(16));
        if (!rest.empty()) return error("a chunk of the answer is longer than its size");
    }
    in_chunk = true;
    TRY(const std::string line, take_line(4096));
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), left_bytes, 16);
    if (parsed.ec != std::errc() || left_bytes < 0)
        return error("a chunk of the answer has no size");
    if (left_bytes > 0) return true;
    while (true) {
        TRY(const std::string trailer, take_line(kHeadBytesMax));
        if (trailer.empty()) return false;
    }
}

Result<std::optional<std::string>> HttpClient::State::read_part() {
    if (mode == BodyMode::kNone) return std::optional<std::string>();
    if (body_bytes > socket.options().body_bytes_max)
        return error("the answer is larger than the limit");
    if (mode == BodyMode::kChunked && left_bytes == 0) {
        TRY(const bool more, next_chunk());
        if (!more) return end_body();
    }
    if (mode == BodyMode::kLength && left_bytes == 0) return end_body();
    if (in_used == in.size()) {
        TRY(const bool more, receive());
        if (!more && mode == BodyMode::kUntilClose) return end_body();
        if (!more) return error("the server closed the connection before the answer ended");
    }
    if (mode == BodyMode::kUntilClose) return take(in.size());
    std::optional<std::string> part = take(static_cast<size_t>(left_bytes));
    left_bytes -= static_cast<int64_t>(part->size());
    return part;
}

Result<std::string> HttpClient::State::read_body() {
    std::string body;
    while (true) {
        TRY(const auto part, read_part());
        if (!part) return body;
        body += *part;
    }
}

const std::string* HttpReply::header(std::string_view name) const {
    for (const auto& [field, value] : headers) {
        if (equals_ignore_case(field, name)) return &value;
    }
    return nullptr;
}

Result<HttpUrl> parse_http_url(std::string_view url) {
    HttpUrl result;
    const size_t scheme_end = url.find("://");
    const std::string_view scheme = url.substr(0, std::min(scheme_end, url.size()));
    result.options.tls = equals_ignore_case(scheme, "https");
    std::string_view rest = scheme_end == std::string_view::npos ? "" : url.substr(scheme_end + 3);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
    rest.remove_prefix(authority.size());
    result.path = rest.substr(0, rest.find('#'));
    if (!result.path.starts_with('/')) result.path.insert(0, "/");

    const size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
    const size_t colon = authority.find(':', std::min(bracket, authority.size()));
    std::string_view host = authority.substr(0, colon);
    result.options.port = result.options.tls ? 443 : 80;
    bool good = result.options.tls || equals_ignore_case(scheme, "http");
    if (colon != std::string_view::npos) {
        const std::string_view port = authority.substr(colon + 1);
        const auto parsed =
            std::from_chars(port.data(), port.data() + port.size(), result.options.port);
        good = good && parsed.ec == std::errc() && parsed.ptr == port.data() + port.size() &&
               result.options.port > 0 && result.options.port < 65536;
    }
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (!good || host.empty()) {
        return fail(ErrorCode::kBadRequest,
                    concat("not a URL of the form http://host:port/path: ", shorten(url, 200)));
    }
    result.options.host = host;
    return result;
}

HttpClient::HttpClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpClient::HttpClient(HttpClient&& other) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&& other) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::connect(const HttpClientOptions& options) {
    auto state = std::make_unique<State>(options);
    TRY_VOID(state->socket.load_certificates());
    TRY_VOID(state->socket.connect());
    return HttpClient(std::move(state));
}

Result<HttpReply> HttpClient::get(std::string_view target, const HttpHeaders& headers) {
    return request("GET", target, headers, "");
}

Result<HttpReply> HttpClient::post(std::string_view target, std::string_view body,
                                   const HttpHeaders& headers) {
    return request("POST", target, headers, body);
}

Result<HttpReply> HttpClient::open(std::string_view method, std::string_view target,
                                   const HttpHeaders& headers, std::string_view body) {
    TRY_VOID(state_->ensure_open());
    BlockingSocket& socket = state_->socket;
    const bool unix_socket = !socket.options().uds.empty();
    std::string text =
        concat(method, " ", target,
               " HTTP/1.1\r\nhost: ", unix_socket ? "localhost" : socket.server_name(), "\r\n");
    bool has_type = body.empty();
    for (const auto& [name, value] : headers) {
        text += concat(name, ": ", value, "\r\n");
        has_type = has_type || equals_ignore_case(name, "content-type");
    }
    if (!has_type) text += "content-type: application/json\r\n";
    if (!body.empty() || method == "POST") text += concat("content-length: ", body.size(), "\r\n");
    text += "\r\n";
    text += body;
    TRY_VOID(socket.send(text));
    while (true) {
        TRY(HttpReply reply, state_->read_head(method == "HEAD"));
        if (reply.status >= 200) return reply;
    }
}

Result<HttpReply> HttpClient::request(std::string_view method, std::string_view target,
                                      const HttpHeaders& headers, std::string_view body) {
    TRY(HttpReply reply, open(method, target, headers, body));
    TRY(reply.body, state_->read_body());
    return reply;
}

Result<std::optional<std::string>> HttpClient::read_part() { return state_->read_part(); }

Result<std::optional<std::string>> HttpClient::read_line() {
    std::string& text = state_->text;
    size_t& used = state_->text_used;
    size_t scanned = used;
    while (true) {
        const size_t end = text.find('\n', scanned);
        if (end != std::string::npos) {
            std::string line = text.substr(used, end - used);
            used = end + 1;
            if (line.ends_with('\r')) line.pop_back();
            return line;
        }
        text.erase(0, std::exchange(used, 0));
        scanned = text.size();
        if (text.size() > kLineBytesMax) return state_->error("a line of the answer is too long");
        TRY(auto part, state_->read_part());
        if (part) {
            text += *part;
        } else if (text.empty()) {
            return std::optional<std::string>();
        } else {
            return std::exchange(text, std::string());
        }
    }
}

Result<std::optional<std::string>> HttpClient::read_event() {
    std::optional<std::string> data;
    while (true) {
        TRY(const auto line, read_line());
        if (!line) return data;
        if (line->empty()) {
            if (data) return data;
        } else if (line->starts_with("data:")) {
            std::string_view value = std::string_view(*line).substr(5);
            if (value.starts_with(' ')) value.remove_prefix(1);
            if (data) *data += '\n';
            data = concat(data.value_or(""), value);
        }
    }
}

Result<void> HttpClient::send_raw(std::string_view bytes) { return state_->socket.send(bytes); }

Result<HttpReply> HttpClient::read_head(bool answers_head_request) {
    return state_->read_head(answers_head_request);
}

Result<HttpReply> HttpClient::read_reply(bool answers_head_request) {
    TRY(HttpReply reply, state_->read_head(answers_head_request));
    TRY(reply.body, state_->read_body());
    return reply;
}

Result<std::string> HttpClient::read_to_end() {
    while (true) {
        if (!state_->socket.connected()) break;
        TRY(const bool more, state_->receive());
        if (!more) break;
    }
    std::string rest = state_->in.substr(state_->in_used);
    state_->in.clear();
    state_->in_used = 0;
    return rest;
}

void HttpClient::shutdown_write() { state_->socket.shutdown_write(); }
void HttpClient::abort() { state_->socket.abort(); }
void HttpClient::close() { state_->socket.close(); }

}  // namespace weir
