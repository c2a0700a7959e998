#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http_client.h"
#include "net/stream_socket.h"

namespace weir {

/// HttpClient's connection: waits for the socket, at most options.timeout for each piece of
/// progress. Any error closes it, is kIo and begins with the server's name.
class BlockingSocket {
 public:
    explicit BlockingSocket(const HttpClientOptions& options) : options_(options) {}

    /// Once, before connect(): client certificate and trusted ones.
    Result<void> load_certificates();
    /// Closes what was open; tries each address of the host; does the TLS handshake.
    Result<void> connect();
    Result<void> send(std::string_view bytes);
    /// Appends at least one byte to `in`; false at the end of the connection.
    Result<bool> receive(std::string& in);

    bool connected() const { return socket_ != nullptr; }
    /// Something came, or the server has closed: neither is expected between two requests.
    bool readable() const;
    void shutdown_write();
    void abort();  // With a reset.
    void close() { socket_.reset(); }

    tl::unexpected<Error> error(std::string_view what);
    const HttpClientOptions& options() const { return options_; }
    std::string server_name() const;

 private:
    Result<void> connect_tcp();
    Result<void> connect_unix();
    Result<void> connect_fd(int fd, const void* address, unsigned address_size);
    Result<void> wait(int fd, short events);
    Result<void> wait(StreamSocket::Status status, std::string_view doing);

    HttpClientOptions options_;
    SslContext tls_;
    std::unique_ptr<StreamSocket> socket_;
};

}  // namespace weir
