#include "net/blocking_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "os/clock.h"
#include "os/signals.h"

namespace weir {

namespace {

constexpr int kSocketFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
using Status = StreamSocket::Status;

bool load_own_pair(SSL_CTX* context, const HttpClientOptions& options) {
    if (options.certfile.empty()) return true;
    const std::string& key = options.keyfile.empty() ? options.certfile : options.keyfile;
    return SSL_CTX_use_certificate_chain_file(context, options.certfile.c_str()) == 1 &&
           SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) == 1;
}

}  // namespace

std::string BlockingSocket::server_name() const {
    if (!options_.uds.empty()) return options_.uds;
    const bool v6 = options_.host.find(':') != std::string::npos;
    return concat(v6 ? "[" : "", options_.host, v6 ? "]:" : ":", options_.port);
}

tl::unexpected<Error> BlockingSocket::error(std::string_view what) {
    close();
    return fail(ErrorCode::kIo, concat(server_name(), ": ", what));
}

Result<void> BlockingSocket::load_certificates() {
    if (!options_.tls) return {};
    ignore_sigpipe();  // OpenSSL writes without MSG_NOSIGNAL.
    const SslContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    if (!context) return error("OpenSSL cannot make a client context");
    SSL_CTX_set_mode(context.get(),
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(context.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_verify(context.get(), options_.tls_verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                       nullptr);
    if (options_.tls_verify && options_.ca_certs.empty()) {
        SSL_CTX_set_default_verify_paths(context.get());
    }
    const bool trusted = options_.ca_certs.empty() ||
                         SSL_CTX_load_verify_file(context.get(), options_.ca_certs.c_str()) == 1;
    const bool own = load_own_pair(context.get(), options_);
    ERR_clear_error();
    if (!trusted) return error(concat("no certificates in PEM form in ", options_.ca_certs));
    if (!own) return error(concat("no certificate and key in PEM form in ", options_.certfile));
    tls_ = context;
    return {};
}

Result<void> BlockingSocket::wait(int fd, short events) {
    pollfd item{.fd = fd, .events = events, .revents = 0};
    const int64_t end_us = monotonic_us() + options_.timeout.count() * 1000;
    while (true) {
        const int64_t left_ms = std::max<int64_t>((end_us - monotonic_us() + 999) / 1000, 0);
        const int ready = ::poll(&item, 1, static_cast<int>(left_ms));
        if (ready > 0) return {};
        if (ready == 0) {
            return error(concat("no progress within ", options_.timeout.count(), " ms"));
        }
        if (errno != EINTR) return error(std::strerror(errno));
    }
}

Result<void> BlockingSocket::wait(Status status, std::string_view doing) {
    if (status == Status::kWantRead) return wait(socket_->fd(), POLLIN);
    if (status == Status::kWantWrite) return wait(socket_->fd(), POLLOUT);
    const std::string why =
        status == Status::kClosed ? "the server closed the connection" : socket_->failure();
    return error(concat(doing, ": ", why));
}

Result<void> BlockingSocket::connect_fd(int fd, const void* address, unsigned address_size) {
    if (fd < 0) return error(concat("cannot connect: ", std::strerror(errno)));
    socket_ = std::make_unique<StreamSocket>(fd, tls_);
    if (::connect(fd, static_cast<const sockaddr*>(address), address_size) == 0) return {};
    if (errno != EINPROGRESS) return error(concat("cannot connect: ", std::strerror(errno)));
    TRY_VOID(wait(fd, POLLOUT));
    int problem = 0;
    socklen_t problem_size = sizeof(problem);
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &problem_size);
    if (problem) return error(concat("cannot connect: ", std::strerror(problem)));
    return {};
}

Result<void> BlockingSocket::connect_unix() {
    sockaddr_un address{};
    if (options_.uds.size() >= sizeof(address.sun_path)) return error("the path is too long");
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, options_.uds.c_str(), options_.uds.size() + 1);
    return connect_fd(::socket(AF_UNIX, kSocketFlags, 0), &address, sizeof(address));
}

Result<void> BlockingSocket::connect_tcp() {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const std::string port = std::to_string(options_.port);
    const int problem = ::getaddrinfo(options_.host.c_str(), port.c_str(), &hints, &list);
    if (problem) return error(concat("cannot resolve the name: ", gai_strerror(problem)));
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
    Result<void> result;
    for (const addrinfo* item = list; item; item = item->ai_next) {
        const int fd = ::socket(item->ai_family, kSocketFlags, 0);
        result = connect_fd(fd, item->ai_addr, item->ai_addrlen);
        if (!result) continue;
        const int on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        break;
    }
    return result;
}

Result<void> BlockingSocket::connect() {
    close();
    TRY_VOID(options_.uds.empty() ? connect_tcp() : connect_unix());
    if (!tls_) return {};
    socket_->set_server_name(options_.host);
    while (true) {
        const Status status = socket_->handshake();
        if (status == Status::kOk) return {};
        TRY_VOID(wait(status, "TLS handshake"));
    }
}

Result<void> BlockingSocket::send(std::string_view bytes) {
    if (!socket_) return error("not connected");
    while (!bytes.empty()) {
        const auto [status, sent] = socket_->write(bytes);
        if (status == Status::kOk) {
            bytes.remove_prefix(sent);
        } else {
            TRY_VOID(wait(status, "sending"));
        }
    }
    return {};
}

Result<bool> BlockingSocket::receive(std::string& in) {
    if (!socket_) return error("not connected");
    std::array<char, 16384> buffer;
    while (true) {
        const auto [status, bytes] = socket_->read(buffer.data(), buffer.size());
        if (status == Status::kOk) {
            in.append(buffer.data(), bytes);
            return true;
        }
        if (status == Status::kClosed) return false;
        TRY_VOID(wait(status, "receiving"));
    }
}

bool BlockingSocket::readable() const {
    if (!socket_) return false;
    pollfd item{.fd = socket_->fd(), .events = POLLIN, .revents = 0};
    return ::poll(&item, 1, 0) != 0;
}

void BlockingSocket::shutdown_write() {
    if (socket_) socket_->shutdown_write();
}

void BlockingSocket::abort() {
    if (!socket_) return;
    const linger reset{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_->fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close();
}

}  // namespace weir
