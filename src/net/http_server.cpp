#include "net/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "net/connection.h"
#include "net/listen_socket.h"
#include "net/server_core.h"
#include "os/clock.h"
#include "os/signals.h"

namespace weir {

namespace asio = boost::asio;
using Wait = asio::posix::stream_descriptor::wait_type;

namespace {

constexpr int kAcceptsPerTurnMax = 64;
constexpr size_t kReadBufferBytes = size_t{64} << 10;
// How many clients above connections_max get a 503 at once; more are closed without a word.
constexpr int64_t kRefusedMax = 64;
constexpr std::chrono::milliseconds kAcceptPause{100};  // When descriptors have run out.

void set_option(int fd, int level, int option, int value) {
    ::setsockopt(fd, level, option, &value, sizeof(value));
}

void tune_tcp(int fd) {
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);  // Tokens are small and must not wait.
    // A client whose machine died says nothing: asked after a minute, given up after two.
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 60);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 15);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

struct Timer {
    explicit Timer(asio::io_context& io) : timer(io) {}
    asio::steady_timer timer;
};

class AsioHttpServer : public HttpServer {
 public:
    explicit AsioHttpServer(HttpServerOptions options)
        : core_(std::move(options)), work_(core_.io.get_executor()) {}
    ~AsioHttpServer() override;

    Result<void> prepare_tls();
    void set_header_check(HeaderCheck check) override { core_.header_check = std::move(check); }
    void set_error_answer(ErrorAnswer answer) override {
        core_.make_error_answer = std::move(answer);
    }
    Result<void> bind() override;
    Result<void> listen(Handler handler) override;
    int port() const override { return socket_.port(); }
    void run() override;
    void stop_accepting() override;
    void stop() override;
    void post(std::function<void()> work) override { asio::post(core_.io, std::move(work)); }
    std::shared_ptr<void> after(std::chrono::milliseconds delay,
                                std::function<void()> work) override;
    HttpServerCounters counters() const override;
    int64_t requests_in_flight() const override { return core_.requests_in_flight; }

 private:
    void arm_accept();
    void accept_some();
    void pause_accept();
    void add_connection(int fd, const sockaddr_storage& address);
    void close_listener();
    void close_all();

    ServerCore core_;
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    ListenSocket socket_;
    std::optional<asio::posix::stream_descriptor> acceptor_;
    std::optional<asio::steady_timer> accept_timer_;
};

AsioHttpServer::~AsioHttpServer() {
    close_listener();
    close_all();
}

Result<void> AsioHttpServer::prepare_tls() {
    const HttpServerOptions& options = core_.options;
    if (options.ssl_certfile.empty()) {
        if (options.ssl_keyfile.empty() && options.ssl_ca_certs.empty()) return {};
        return fail(ErrorCode::kBadConfig,
                    "--ssl-keyfile and --ssl-ca-certs do nothing without a certificate: give its "
                    "file with --ssl-certfile",
                    "--ssl-certfile");
    }
    const TlsFiles files{.certfile = options.ssl_certfile,
                         .keyfile = options.ssl_keyfile,
                         .ca_certs = options.ssl_ca_certs,
                         .ciphers = options.ssl_ciphers,
                         .cert_reqs = options.ssl_cert_reqs};
    TRY(core_.tls, TlsContext::create(files));
    ignore_sigpipe();  // OpenSSL writes without MSG_NOSIGNAL.
    return {};
}

Result<void> AsioHttpServer::bind() {
    const HttpServerOptions& options = core_.options;
    TRY(socket_, options.uds.empty() ? ListenSocket::bind_tcp(options.host, options.port)
                                     : ListenSocket::bind_unix(options.uds));
    return {};
}

Result<void> AsioHttpServer::listen(Handler handler) {
    CHECK(socket_.fd() >= 0);
    TRY_VOID(socket_.listen());
    core_.handler = std::move(handler);
    acceptor_.emplace(core_.io);
    boost::system::error_code error;
    acceptor_->assign(socket_.fd(), error);
    if (error) {
        acceptor_.reset();
        return fail(ErrorCode::kIo, concat("cannot wait for connections: ", error.message()));
    }
    arm_accept();
    return {};
}

void AsioHttpServer::arm_accept() {
    if (!acceptor_) return;
    acceptor_->async_wait(Wait::wait_read, [this](auto error) {
        if (!error && acceptor_) accept_some();
    });
}

void AsioHttpServer::accept_some() {
    for (int i = 0; i < kAcceptsPerTurnMax; ++i) {
        sockaddr_storage address{};
        socklen_t size = sizeof(address);
        const int fd = ::accept4(socket_.fd(), reinterpret_cast<sockaddr*>(&address), &size,
                                 SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            add_connection(fd, address);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            return pause_accept();
        }
    }
    arm_accept();
}

/// Out of descriptors or memory: the waiting clients stay in the kernel's queue for a moment.
void AsioHttpServer::pause_accept() {
    accept_timer_.emplace(core_.io, kAcceptPause);
    accept_timer_->async_wait([this](auto error) {
        if (!error) arm_accept();
    });
}

void AsioHttpServer::add_connection(int fd, const sockaddr_storage& address) {
    const int64_t num_served = core_.connections_open - core_.num_refused_open;
    const bool refused = num_served >= core_.options.connections_max;
    ++core_.connections_total;
    if (refused) ++core_.connections_refused_total;
    if (refused && core_.num_refused_open >= kRefusedMax) {
        ::close(fd);
        return;
    }
    if (address.ss_family != AF_UNIX) tune_tcp(fd);
    if (core_.tls && core_.options.enable_ssl_refresh) {
        const Result<void> result = core_.tls->refresh();
        if (!result && core_.options.on_warning) {
            core_.options.on_warning(
                concat("the certificate was not reloaded, the old one stays in use: ",
                       result.error().text));
        }
    }
    ++core_.connections_open;
    auto connection = std::make_shared<Connection>(core_, fd, address_text(&address));
    core_.connections.insert(connection);
    if (refused) {
        connection->start_refused();
    } else {
        connection->start();
    }
}

void AsioHttpServer::run() {
    try {
        core_.io.run();
    } catch (const std::exception& error) {
        // weir throws nothing, so this is a library out of memory: no state can be trusted.
        std::fprintf(stderr, "the IO thread failed: %s\n", error.what());
        std::abort();
    }
}

void AsioHttpServer::close_listener() {
    core_.stopping = true;
    accept_timer_.reset();
    if (acceptor_) acceptor_->release();
    acceptor_.reset();
    socket_.close();
}

void AsioHttpServer::stop_accepting() {
    post([this] {
        close_listener();
        const auto connections = core_.connections;  // Closing changes the set.
        for (const auto& connection : connections) connection->close_if_idle();
    });
}

void AsioHttpServer::close_all() {
    const auto connections = core_.connections;
    for (const auto& connection : connections) connection->close();
    core_.dirty.clear();
}

void AsioHttpServer::stop() {
    post([this] {
        close_listener();
        core_.flush_dirty();
        close_all();
        // After the on_close calls, which close_all() has posted.
        post([this] { core_.io.stop(); });
    });
}

std::shared_ptr<void> AsioHttpServer::after(std::chrono::milliseconds delay,
                                            std::function<void()> work) {
    auto handle = std::make_shared<Timer>(core_.io);
    handle->timer.expires_after(delay);
    handle->timer.async_wait(
        [weak = std::weak_ptr<Timer>(handle), task = std::move(work)](auto error) {
            // Expired and destroyed in one turn: cancelling came too late, the handle tells.
            const auto alive = weak.lock();
            if (!error && alive) task();
        });
    return handle;
}

HttpServerCounters AsioHttpServer::counters() const {
    return {.connections_open = core_.connections_open,
            .connections_total = core_.connections_total,
            .connections_refused_total = core_.connections_refused_total,
            .bad_requests_total = core_.bad_requests_total,
            .bytes_sent_total = core_.bytes_sent_total};
}

}  // namespace

ServerCore::ServerCore(HttpServerOptions server_options)
    : options(std::move(server_options)), read_buffer(kReadBufferBytes) {}

void ServerCore::flush_later(const std::shared_ptr<Connection>& connection) {
    if (connection->flush_queued) return;
    connection->flush_queued = true;
    dirty.push_back(connection);
    if (flush_posted) return;
    flush_posted = true;
    asio::post(io, [this] { flush_dirty(); });
}

void ServerCore::flush_dirty() {
    flush_posted = false;
    flushing.swap(dirty);
    for (const auto& connection : flushing) {
        connection->flush_queued = false;
        connection->flush();
    }
    flushing.clear();
}

std::string_view ServerCore::date() {
    const int64_t now = wall_seconds();
    if (now != date_seconds) {
        date_seconds = now;
        date_text = http_date(now);
    }
    return date_text;
}

HttpResponse ServerCore::error_answer(int status, std::string_view text) const {
    if (make_error_answer) return make_error_answer(status, text);
    return {.status = status,
            .headers = {{"content-type", "text/plain; charset=utf-8"}},
            .body = std::string(text)};
}

const std::string* HttpRequest::header(std::string_view name) const {
    for (const auto& [field, value] : headers) {
        if (equals_ignore_case(field, name)) return &value;
    }
    return nullptr;
}

Result<std::unique_ptr<HttpServer>> HttpServer::create(HttpServerOptions options) {
    auto server = std::make_unique<AsioHttpServer>(std::move(options));
    TRY_VOID(server->prepare_tls());
    return server;
}

}  // namespace weir
