#include "net/http_client.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/text.h"
#include "net/request_head.h"
#include "net/stream_socket.h"
#include "os/clock.h"
#include "os/signals.h"

namespace weir {

namespace {

constexpr size_t kHeadBytesMax = size_t{1} << 20;
constexpr size_t kLineBytesMax = size_t{64} << 20;
using Status = StreamSocket::Status;

enum class BodyMode { kNone, kLength, kChunked, kUntilClose };

std::string server_name(const HttpClientOptions& options) {
    if (!options.uds.empty()) return options.uds;
    const bool v6 = options.host.find(':') != std::string::npos;
    return concat(v6 ? "[" : "", options.host, v6 ? "]:" : ":", options.port);
}

Result<SslContext> make_client_context(const HttpClientOptions& options) {
    const SslContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    if (!context) return fail(ErrorCode::kIo, "OpenSSL cannot make a client context");
    SSL_CTX_set_mode(context.get(),
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(context.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_verify(context.get(), options.tls_verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                       nullptr);
    bool good = true;
    if (!options.ca_certs.empty()) {
        good = SSL_CTX_load_verify_file(context.get(), options.ca_certs.c_str()) == 1;
    } else if (options.tls_verify) {
        SSL_CTX_set_default_verify_paths(context.get());
    }
    if (good && !options.certfile.empty()) {
        const std::string& key = options.keyfile.empty() ? options.certfile : options.keyfile;
        good = SSL_CTX_use_certificate_chain_file(context.get(), options.certfile.c_str()) == 1 &&
               SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) == 1;
    }
    ERR_clear_error();
    if (!good) return fail(ErrorCode::kIo, "a certificate file of the client does not load");
    return context;
}

}  // namespace

struct HttpClient::State {
    HttpClientOptions options;
    SslContext tls;
    std::unique_ptr<StreamSocket> socket;
    std::string in;       // Received, not yet used; from in_used on.
    size_t in_used = 0;
    BodyMode mode = BodyMode::kNone;
    int64_t left_bytes = 0;      // Of the body, or of the chunk.
    bool in_chunk = false;
    bool close_after = false;    // The server announced it.
    bool used = false;           // A request was sent on this or an earlier connection.
    int64_t body_bytes = 0;
    std::string text;  // Of the body, for read_line(); from text_used on.
    size_t text_used = 0;

    tl::unexpected<Error> error(std::string_view what) {
        if (socket) socket->close();
        socket.reset();
        return fail(ErrorCode::kIo, concat(server_name(options), ": ", what));
    }

    Result<void> wait(int fd, short events) {
        pollfd item{.fd = fd, .events = events, .revents = 0};
        const int64_t end_us = monotonic_us() + options.timeout.count() * 1000;
        while (true) {
            const int64_t left_ms = std::max<int64_t>((end_us - monotonic_us() + 999) / 1000, 0);
            const int ready = ::poll(&item, 1, static_cast<int>(left_ms));
            if (ready > 0) return {};
            if (ready == 0) {
                return error(concat("no progress within ", options.timeout.count(), " ms"));
            }
            if (errno != EINTR) return error(std::strerror(errno));
        }
    }

    Result<void> wait(Status status, std::string_view doing) {
        if (status == Status::kWantRead) return wait(socket->fd(), POLLIN);
        if (status == Status::kWantWrite) return wait(socket->fd(), POLLOUT);
        const std::string why = status == Status::kClosed ? "the server closed the connection"
                                                          : socket->failure();
        return error(concat(doing, ": ", why));
    }

    Result<void> open_socket();
    Result<void> connect_fd(int fd, const sockaddr* address, socklen_t size);
    Result<void> ensure_open();
    Result<void> send(std::string_view bytes);
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

Result<void> HttpClient::State::connect_fd(int fd, const sockaddr* address, socklen_t size) {
    socket = std::make_unique<StreamSocket>(fd, tls);
    if (::connect(fd, address, size) == 0) return {};
    if (errno != EINPROGRESS) return error(concat("cannot connect: ", std::strerror(errno)));
    TRY_VOID(wait(fd, POLLOUT));
    int problem = 0;
    socklen_t problem_size = sizeof(problem);
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &problem_size);
    if (problem) return error(concat("cannot connect: ", std::strerror(problem)));
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return {};
}

Result<void> HttpClient::State::open_socket() {
    in.clear();
    in_used = 0;
    constexpr int kFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    if (!options.uds.empty()) {
        sockaddr_un address{};
        if (options.uds.size() >= sizeof(address.sun_path)) return error("the path is too long");
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, options.uds.c_str(), options.uds.size() + 1);
        TRY_VOID(connect_fd(::socket(AF_UNIX, kFlags, 0),
                            reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
    } else {
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        addrinfo* list = nullptr;
        const std::string port = std::to_string(options.port);
        const int problem = ::getaddrinfo(options.host.c_str(), port.c_str(), &hints, &list);
        if (problem) return error(concat("cannot resolve the name: ", gai_strerror(problem)));
        const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
        Result<void> result;
        for (const addrinfo* item = list; item; item = item->ai_next) {
            const int fd = ::socket(item->ai_family, kFlags, 0);
            result = connect_fd(fd, item->ai_addr, item->ai_addrlen);
            if (result) break;
        }
        TRY_VOID(std::move(result));
    }
    if (!tls) return {};
    socket->set_server_name(options.host);
    while (true) {
        const Status status = socket->handshake();
        if (status == Status::kOk) return {};
        TRY_VOID(wait(status, "TLS handshake"));
    }
}

Result<void> HttpClient::State::ensure_open() {
    if (socket && !used) {
        used = true;
        return {};
    }
    if (socket && !close_after) {
        // A server that closed an idle connection has made it readable.
        pollfd item{.fd = socket->fd(), .events = POLLIN, .revents = 0};
        if (::poll(&item, 1, 0) == 0) return {};
    }
    close_after = false;
    used = true;
    socket.reset();
    return open_socket();
}

Result<void> HttpClient::State::send(std::string_view bytes) {
    if (!socket) return error("not connected");
    while (!bytes.empty()) {
        const auto [status, sent] = socket->write(bytes);
        if (status == Status::kOk) {
            bytes.remove_prefix(sent);
        } else {
            TRY_VOID(wait(status, "sending"));
        }
    }
    return {};
}

Result<bool> HttpClient::State::receive() {
    if (!socket) return error("not connected");
    if (in_used > 0) in.erase(0, std::exchange(in_used, 0));
    std::array<char, 16384> buffer;
    while (true) {
        const auto [status, bytes] = socket->read(buffer.data(), buffer.size());
        if (status == Status::kOk) {
            in.append(buffer.data(), bytes);
            return true;
        }
        if (status == Status::kClosed) return false;
        TRY_VOID(wait(status, "receiving"));
    }
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
    if (close_after) socket.reset();
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
    if (parsed.ec != std::errc() || left_bytes < 0) return error("a chunk of the answer has no size");
    if (left_bytes > 0) return true;
    while (true) {
        TRY(const std::string trailer, take_line(kHeadBytesMax));
        if (trailer.empty()) return false;
    }
}

Result<std::optional<std::string>> HttpClient::State::read_part() {
    if (mode == BodyMode::kNone) return std::optional<std::string>();
    if (body_bytes > options.body_bytes_max) return error("the answer is larger than the limit");
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
    auto state = std::make_unique<State>();
    state->options = options;
    if (options.tls) {
        ignore_sigpipe();  // OpenSSL writes without MSG_NOSIGNAL.
        TRY(state->tls, make_client_context(options));
    }
    TRY_VOID(state->open_socket());
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
    const bool unix_socket = !state_->options.uds.empty();
    std::string text = concat(method, " ", target, " HTTP/1.1\r\nhost: ",
                              unix_socket ? "localhost" : server_name(state_->options), "\r\n");
    bool has_type = body.empty();
    for (const auto& [name, value] : headers) {
        text += concat(name, ": ", value, "\r\n");
        has_type = has_type || equals_ignore_case(name, "content-type");
    }
    if (!has_type) text += "content-type: application/json\r\n";
    if (!body.empty() || method == "POST") text += concat("content-length: ", body.size(), "\r\n");
    text += "\r\n";
    text += body;
    TRY_VOID(state_->send(text));
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

Result<void> HttpClient::send_raw(std::string_view bytes) { return state_->send(bytes); }

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
        if (!state_->socket) break;
        TRY(const bool more, state_->receive());
        if (!more) break;
    }
    std::string rest = state_->in.substr(state_->in_used);
    state_->in.clear();
    state_->in_used = 0;
    return rest;
}

void HttpClient::shutdown_write() {
    if (state_->socket) state_->socket->shutdown_write();
}

void HttpClient::abort() {
    if (!state_->socket) return;
    const linger reset{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(state_->socket->fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close();
}

void HttpClient::close() { state_->socket.reset(); }

}  // namespace weir
