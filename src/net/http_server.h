#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace weir {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;  // Names as sent.

struct HttpRequest {
    std::string method;
    std::string target;  // As sent: "/v1/models?x=1".
    std::string path;    // Without the query; not percent-decoded, slashes not merged.
    std::string query;   // Without "?".
    HttpHeaders headers;
    std::string body;         // Whole body, chunked already joined.
    std::string remote;       // "127.0.0.1:5000", or "unix:".
    int64_t received_us = 0;  // Monotonic, when the header was complete.

    /// First header of that name, ASCII case ignored, or null.
    const std::string* header(std::string_view name) const;
};

struct HttpResponse {
    int status = 200;
    HttpHeaders headers;  // Content-Length, Date and Server are added.
    std::string body;
};

/// The answer of one request. IO thread only. Calls after the connection has gone are ignored.
class HttpResponder {
 public:
    virtual ~HttpResponder() = default;
    /// Whole answer; the only call for this request.
    virtual void send(HttpResponse response) = 0;
    /// Begins a chunked answer (HTTP/1.0: until close).
    virtual void begin_stream(int status, HttpHeaders headers) = 0;
    /// Queues bytes; several writes before the socket is ready share one system call. Beyond
    /// stream_buffer_bytes_max unsent bytes the connection is dropped and on_close called.
    virtual void write(std::string_view chunk) = 0;
    virtual void end_stream() = 0;
    /// Called once if the client hangs up (also by half-close while a response is pending) or is
    /// dropped before the answer ended. Set it before returning from the handler.
    virtual void on_close(std::function<void()> callback) = 0;
    virtual bool closed() const = 0;
};

struct HttpServerOptions {
    std::string host;  // Empty: all interfaces, IPv6 and IPv4.
    int port = 8000;   // 0: any free one.
    std::string uds;   // Unix socket path; host and port are ignored then.
    std::string ssl_certfile, ssl_keyfile, ssl_ca_certs, ssl_ciphers;
    int ssl_cert_reqs = 0;               // 0 none, 1 optional, 2 required (Python's ssl constants).
    bool enable_ssl_refresh = false;     // Reload certificate files when they change.
    int64_t header_bytes_max = 4194304;  // --h11-max-incomplete-event-size.
    int header_count_max = 256;          // --h11-max-header-count.
    int64_t body_bytes_max = int64_t{256} << 20;
    int64_t stream_buffer_bytes_max = int64_t{4} << 20;
    int connections_max = 16384;
    std::chrono::milliseconds keep_alive_timeout{5000};  // VLLM_HTTP_TIMEOUT_KEEP_ALIVE.
    std::chrono::milliseconds header_timeout{30000};     // First byte to complete header.
    std::chrono::milliseconds body_timeout{60000};       // No byte of the body for that long.
    std::chrono::milliseconds write_timeout{60000};      // No byte written for that long.
    std::string server_header = "weir";
    /// Things an operator should see (a certificate that could not be reloaded); IO thread.
    std::function<void(const std::string& text)> on_warning;
};

struct HttpServerCounters {  // For weir_http_* metrics.
    int64_t connections_open = 0;
    int64_t connections_total = 0;
    int64_t connections_refused_total = 0;
    int64_t bad_requests_total = 0;
    int64_t bytes_sent_total = 0;
};

/// HTTP/1.1 over TCP, TLS or a Unix socket; one IO thread runs everything. Knows no model and no
/// schema.
class HttpServer {
 public:
    using Handler = std::function<void(HttpRequest&&, std::shared_ptr<HttpResponder>)>;
    static Result<std::unique_ptr<HttpServer>> create(HttpServerOptions options);
    virtual ~HttpServer() = default;

    /// Looks at a request without its body; an answer refuses it.
    using HeaderCheck = std::function<std::optional<HttpResponse>(const HttpRequest& head)>;
    /// Shapes an answer that the server gives by itself (400, 408, 413, 431, 503 ...).
    using ErrorAnswer = std::function<HttpResponse(int status, std::string_view text)>;

    /// Before listen(). Asked where it saves reading a body: when the client waits for "100
    /// Continue", and before bodies that are chunked or longer than 64 KiB. After a refusal the
    /// connection closes. Requests with small bodies go to the handler alone, so it must check
    /// again.
    virtual void set_header_check(HeaderCheck check) = 0;
    /// Before listen(). Default: the text as text/plain.
    virtual void set_error_answer(ErrorAnswer answer) = 0;

    /// Reserves the address before the model is loaded (a port in use fails at once); connecting is
    /// refused until listen(). Fails with kIo and what to do.
    virtual Result<void> bind() = 0;
    virtual Result<void> listen(Handler handler) = 0;
    virtual int port() const = 0;  // The real one after bind().

    /// Runs the IO loop in the calling thread until stop().
    virtual void run() = 0;
    /// Any thread: stops accepting and closes idle connections; requests in flight go on.
    virtual void stop_accepting() = 0;
    /// Any thread: ends run(); open connections are closed.
    virtual void stop() = 0;
    /// Any thread: runs `work` on the IO thread.
    virtual void post(std::function<void()> work) = 0;
    /// IO thread: runs `work` after a delay; the handle cancels it when destroyed (on the IO thread
    /// or after run(), and before the server).
    virtual std::shared_ptr<void> after(std::chrono::milliseconds delay,
                                        std::function<void()> work) = 0;
    /// Any thread.
    virtual HttpServerCounters counters() const = 0;
    /// Any thread: requests given to the handler whose answer is not yet handed to the kernel.
    virtual int64_t requests_in_flight() const = 0;
};

}  // namespace weir
