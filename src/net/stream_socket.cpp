#include "net/stream_socket.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace weir {

StreamSocket::StreamSocket(int fd, const SslContext& context) : fd_(fd) {
    if (!context) return;
    ssl_ = SSL_new(context.get());  // Keeps the context alive by itself.
    CHECK(ssl_ != nullptr);
    SSL_set_fd(ssl_, fd_);
    SSL_is_server(ssl_) ? SSL_set_accept_state(ssl_) : SSL_set_connect_state(ssl_);
}

void StreamSocket::set_server_name(const std::string& name) {
    CHECK(ssl_ != nullptr);
    SSL_set_tlsext_host_name(ssl_, name.c_str());
    // An address in the certificate is another field than a name.
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), name.c_str()) != 1) {
        SSL_set1_host(ssl_, name.c_str());
    }
    ERR_clear_error();
}

StreamSocket::~StreamSocket() { close(); }

void StreamSocket::close() {
    if (ssl_) SSL_free(std::exchange(ssl_, nullptr));
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

StreamSocket::Progress StreamSocket::progress_of(int result) {
    const int error = SSL_get_error(ssl_, result);
    const unsigned long code = ERR_peek_error();
    const bool plain = ERR_GET_REASON(code) == SSL_R_HTTP_REQUEST;
    ERR_clear_error();
    if (error == SSL_ERROR_SSL || error == SSL_ERROR_SYSCALL) {
        const char* reason = code ? ERR_reason_error_string(code) : nullptr;
        failure_ = reason ? reason : std::strerror(errno);
    }
    switch (error) {
        case SSL_ERROR_WANT_READ: return {Status::kWantRead, 0};
        case SSL_ERROR_WANT_WRITE: return {Status::kWantWrite, 0};
        case SSL_ERROR_ZERO_RETURN: return {Status::kClosed, 0};
        default: return {plain ? Status::kPlainHttp : Status::kFailed, 0};
    }
}

StreamSocket::Status StreamSocket::handshake() {
    if (!ssl_ || handshaken_) return Status::kOk;
    const int result = SSL_do_handshake(ssl_);
    if (result != 1) return progress_of(result).status;
    handshaken_ = true;
    return Status::kOk;
}

StreamSocket::Progress StreamSocket::read(char* buffer, size_t size) {
    if (ssl_) {
        const int result =
            SSL_read(ssl_, buffer, static_cast<int>(std::min<size_t>(size, INT_MAX)));
        if (result > 0) return {Status::kOk, static_cast<size_t>(result)};
        return progress_of(result);
    }
    const ssize_t result = ::recv(fd_, buffer, size, 0);
    if (result > 0) return {Status::kOk, static_cast<size_t>(result)};
    if (result == 0) return {Status::kClosed, 0};
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {Status::kWantRead, 0};
    failure_ = std::strerror(errno);
    return {Status::kFailed, 0};
}

StreamSocket::Progress StreamSocket::write(std::string_view bytes) {
    if (ssl_) {
        const int size = static_cast<int>(std::min<size_t>(bytes.size(), INT_MAX));
        const int result = SSL_write(ssl_, bytes.data(), size);
        if (result > 0) return {Status::kOk, static_cast<size_t>(result)};
        return progress_of(result);
    }
    const ssize_t result = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (result > 0) return {Status::kOk, static_cast<size_t>(result)};
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {Status::kWantWrite, 0};
    failure_ = std::strerror(errno);
    return {Status::kFailed, 0};
}

bool StreamSocket::has_buffered_input() const { return ssl_ && SSL_pending(ssl_) > 0; }

void StreamSocket::shutdown_write() {
    if (ssl_ && handshaken_) {
        SSL_shutdown(ssl_);
        ERR_clear_error();
    }
    ::shutdown(fd_, SHUT_WR);
}

void StreamSocket::write_plain(std::string_view bytes) {
    // What the kernel does not take at once is lost; a new connection has room for a short answer.
    [[maybe_unused]] const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

}  // namespace weir
