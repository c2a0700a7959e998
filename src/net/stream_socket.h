#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "net/tls_context.h"

struct ssl_st;

namespace weir {

/// A connected, non-blocking socket, plain or under TLS, that says what it waits for. Knows no
/// event loop. Owns the descriptor.
class StreamSocket {
 public:
    enum class Status {
        kOk,
        kWantRead,   // Try again when readable (TLS may want this while writing).
        kWantWrite,  // Try again when writable.
        kClosed,     // The other side has ended its half in an orderly way.
        kFailed,     // Reset, or a TLS error.
        kPlainHttp,  // A client spoke HTTP to the TLS port (handshake() only).
    };
    struct Progress {
        Status status;
        size_t bytes;  // For kOk, at least one.
    };

    /// Plain without a context; the context says which side of TLS this is.
    StreamSocket(int fd, const SslContext& context);
    ~StreamSocket();
    StreamSocket(const StreamSocket&) = delete;
    StreamSocket& operator=(const StreamSocket&) = delete;

    bool tls() const { return ssl_ != nullptr; }
    /// Clients, before the handshake: the name that the certificate must have, if it is checked.
    void set_server_name(const std::string& name);
    /// What the latest kFailed was about, in words.
    const std::string& failure() const { return failure_; }
    /// kOk at once without TLS.
    Status handshake();
    Progress read(char* buffer, size_t size);
    Progress write(std::string_view bytes);
    /// Bytes were decrypted that no readiness of the descriptor will announce.
    bool has_buffered_input() const;
    /// Ends the sending half (close_notify and FIN); reading goes on.
    void shutdown_write();
    /// Writes without TLS, once, best effort: the answer to kPlainHttp.
    void write_plain(std::string_view bytes);
    int fd() const { return fd_; }
    void close();

 private:
    Progress progress_of(int result);

    int fd_;
    ssl_st* ssl_ = nullptr;
    bool handshaken_ = false;
    std::string failure_;
};

}  // namespace weir
