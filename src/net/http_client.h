#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http_server.h"

namespace weir {

struct HttpClientOptions {
    std::string host = "127.0.0.1";
    int port = 8000;
    std::string uds;  // Unix socket; host and port only name the server then.
    bool tls = false;
    bool tls_verify = true;  // The server's certificate, against ca_certs or the system's.
    std::string ca_certs, certfile, keyfile;
    std::chrono::milliseconds timeout{60000};  // Of each wait: to connect, to send, for bytes.
    int64_t body_bytes_max = int64_t{1} << 30;
};

struct HttpReply {
    int status = 0;
    HttpHeaders headers;
    std::string body;

    /// First header of that name, ASCII case ignored, or null.
    const std::string* header(std::string_view name) const;
};

struct HttpUrl {
    HttpClientOptions options;  // host, port, tls.
    std::string path;           // "/v1/models?x=1"; "/" if none.
};

/// "http://host:port/path", "https://[::1]/". Fails with kBadRequest.
Result<HttpUrl> parse_http_url(std::string_view url);

/// One blocking connection for tools and tests: one request at a time, kept alive between them,
/// opened anew when the server has closed it in the meantime. One thread at a time. Errors are
/// kIo and name the server.
class HttpClient {
 public:
    static Result<HttpClient> connect(const HttpClientOptions& options);
    HttpClient(HttpClient&& other) noexcept;
    HttpClient& operator=(HttpClient&& other) noexcept;
    ~HttpClient();

    Result<HttpReply> get(std::string_view target, const HttpHeaders& headers = {});
    /// Content-Type is application/json unless given.
    Result<HttpReply> post(std::string_view target, std::string_view body,
                           const HttpHeaders& headers = {});
    Result<HttpReply> request(std::string_view method, std::string_view target,
                              const HttpHeaders& headers, std::string_view body);

    /// The same, but returns when the header has arrived, with an empty body; then read_part(),
    /// read_line() or read_event() until they give nothing.
    Result<HttpReply> open(std::string_view method, std::string_view target,
                           const HttpHeaders& headers, std::string_view body);
    /// The next bytes of the body, as they arrive; nothing at its end.
    Result<std::optional<std::string>> read_part();
    /// The next line of the body without its end; nothing at its end.
    Result<std::optional<std::string>> read_line();
    /// The data of the next server-sent event ("data:" lines joined); nothing at the end.
    Result<std::optional<std::string>> read_event();

    // For tests of the framing.
    Result<void> send_raw(std::string_view bytes);
    /// Header of the next answer, interim ones (100) included; read_part() gives the body.
    Result<HttpReply> read_head(bool answers_head_request = false);
    Result<HttpReply> read_reply(bool answers_head_request = false);
    /// Everything until the server closes.
    Result<std::string> read_to_end();
    void shutdown_write();
    /// With a reset instead of an orderly end.
    void abort();
    void close();

 private:
    struct State;
    explicit HttpClient(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace weir
