#include "net/listen_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/text.h"

namespace weir {

namespace {

constexpr int kBacklog = 2048;  // vLLM's; the kernel caps it at net.core.somaxconn.

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;
    int family() const { return storage.ss_family; }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

std::string error_text(int error) { return std::strerror(error); }  // NOLINT: glibc's is safe.

void set_flag(int fd, int level, int option, int value) {
    ::setsockopt(fd, level, option, &value, sizeof(value));
}

Result<Address> resolve(const std::string& host, int port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const std::string service = std::to_string(port);
    const int error = ::getaddrinfo(host.c_str(), service.c_str(), &hints, &list);
    if (error != 0) {
        return fail(ErrorCode::kIo,
                    concat("cannot resolve --host \"", host,
                           "\": ", error == EAI_SYSTEM ? error_text(errno) : gai_strerror(error),
                           "; give a name or an address of this machine"));
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
    const addrinfo* best = list;
    for (const addrinfo* item = list; item; item = item->ai_next) {
        if (item->ai_family == AF_INET) {
            best = item;
            break;
        }
    }
    Address address;
    std::memcpy(&address.storage, best->ai_addr, best->ai_addrlen);
    address.size = best->ai_addrlen;
    return address;
}

Address any_address(int family, int port) {
    Address address;
    address.storage.ss_family = static_cast<sa_family_t>(family);
    if (family == AF_INET6) {
        auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
        v6->sin6_port = htons(static_cast<uint16_t>(port));
        v6->sin6_addr = in6addr_any;
        address.size = sizeof(*v6);
    } else {
        auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
        v4->sin_port = htons(static_cast<uint16_t>(port));
        address.size = sizeof(*v4);
    }
    return address;
}

std::string bind_error(const std::string& name, int port, int error) {
    if (error == EADDRINUSE) {
        return concat(name,
                      " is in use by another process: stop that one, or choose another "
                      "port with --port (0: any free one)");
    }
    if (error == EACCES) {
        return concat("no permission to use port ", port,
                      ": ports below 1024 need the capability CAP_NET_BIND_SERVICE; choose a "
                      "higher one with --port");
    }
    if (error == EADDRNOTAVAIL) {
        return concat(name,
                      " is not an address of this machine: give one of its own with --host, "
                      "or 0.0.0.0 for all of them");
    }
    return concat("cannot bind ", name, ": ", error_text(error), "; check --host and --port");
}

/// 0, or errno. Without SO_REUSEADDR first: with it, two servers that are both still loading
/// would share the port, and the second would only fail when it begins to listen. Only what the
/// first try calls occupied is tried with it, because a dead server's connections in TIME_WAIT
/// occupy the port as well.
int try_bind(int fd, const Address& address) {
    if (address.family() == AF_INET6) {
        const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address.storage);
        const bool any = IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
        set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, any ? 0 : 1);
    }
    if (::bind(fd, address.get(), address.size) == 0) return 0;
    if (errno != EADDRINUSE) return errno;
    set_flag(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    return ::bind(fd, address.get(), address.size) == 0 ? 0 : errno;
}

int open_socket(int family) {
    return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

Result<Address> unix_address(const std::string& path) {
    Address address;
    auto* un = reinterpret_cast<sockaddr_un*>(&address.storage);
    if (path.size() >= sizeof(un->sun_path)) {
        return fail(ErrorCode::kIo, concat("the socket path ", path, " has ", path.size(),
                                           " bytes, but at most ", sizeof(un->sun_path) - 1,
                                           " are possible: give a shorter one with "
                                           "--uds"));
    }
    un->sun_family = AF_UNIX;
    std::memcpy(un->sun_path, path.c_str(), path.size() + 1);
    address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
    return address;
}

/// Removes the socket file of a dead server; anything else at that path is an error.
Result<void> clear_path(const std::string& path, const Address& address) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return {};
    if (!S_ISSOCK(info.st_mode)) {
        return fail(ErrorCode::kIo, concat(path,
                                           " exists and is not a socket: remove it, or give "
                                           "another path with --uds"));
    }
    const int fd = open_socket(AF_UNIX);
    const bool live = fd >= 0 && ::connect(fd, address.get(), address.size) == 0;
    const int error = errno;
    if (fd >= 0) ::close(fd);
    // EAGAIN: somebody listens, but the queue of connections is full.
    if (live || error == EAGAIN) {
        return fail(ErrorCode::kIo, concat(path,
                                           " is in use by another process: stop that one, or "
                                           "give another path with --uds"));
    }
    if (::unlink(path.c_str()) != 0) {
        return fail(ErrorCode::kIo,
                    concat("cannot remove the old socket ", path, ": ", error_text(errno)));
    }
    return {};
}

}  // namespace

std::string address_text(const void* address) {
    const auto* any = static_cast<const sockaddr*>(address);
    char text[INET6_ADDRSTRLEN] = "";
    if (any->sa_family == AF_INET) {
        const auto* v4 = static_cast<const sockaddr_in*>(address);
        ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
        return concat(text, ":", ntohs(v4->sin_port));
    }
    if (any->sa_family == AF_INET6) {
        const auto* v6 = static_cast<const sockaddr_in6*>(address);
        if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
            ::inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], text, sizeof(text));
            return concat(text, ":", ntohs(v6->sin6_port));
        }
        ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
        return concat("[", text, "]:", ntohs(v6->sin6_port));
    }
    return "unix:";
}

Result<ListenSocket> ListenSocket::bind_tcp(const std::string& host, int port) {
    if (port < 0 || port > 65535) {
        return fail(ErrorCode::kIo, concat("port ", port,
                                           " does not exist: --port takes 1 to "
                                           "65535, or 0 for any free one"));
    }
    Address address = any_address(AF_INET6, port);
    if (!host.empty()) {
        TRY(address, resolve(host, port));
    }
    ListenSocket socket;
    socket.fd_ = open_socket(address.family());
    int error = socket.fd_ < 0 ? errno : try_bind(socket.fd_, address);
    const bool no_ipv6 = error == EAFNOSUPPORT || error == EADDRNOTAVAIL;
    if (host.empty() && no_ipv6) {
        if (socket.fd_ >= 0) ::close(socket.fd_);
        address = any_address(AF_INET, port);
        socket.fd_ = open_socket(AF_INET);
        error = socket.fd_ < 0 ? errno : try_bind(socket.fd_, address);
    }
    socket.name_ = host.empty() ? concat("port ", port) : address_text(&address.storage);
    if (error != 0) return fail(ErrorCode::kIo, bind_error(socket.name_, port, error));

    Address bound;
    bound.size = sizeof(bound.storage);
    ::getsockname(socket.fd_, reinterpret_cast<sockaddr*>(&bound.storage), &bound.size);
    const bool v6 = bound.family() == AF_INET6;
    socket.port_ = ntohs(v6 ? reinterpret_cast<sockaddr_in6*>(&bound.storage)->sin6_port
                            : reinterpret_cast<sockaddr_in*>(&bound.storage)->sin_port);
    return socket;
}

Result<ListenSocket> ListenSocket::bind_unix(const std::string& path) {
    TRY(const Address address, unix_address(path));
    ListenSocket socket;
    socket.name_ = path;
    const std::string lock_path = path + ".lock";
    socket.lock_fd_ = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (socket.lock_fd_ < 0) {
        return fail(ErrorCode::kIo, concat("cannot create ", lock_path, ": ", error_text(errno),
                                           "; --uds needs a folder that can be written"));
    }
    if (::flock(socket.lock_fd_, LOCK_EX | LOCK_NB) != 0) {
        return fail(ErrorCode::kIo, concat(path,
                                           " is in use by another process: stop that one, or "
                                           "give another path with --uds"));
    }
    socket.lock_path_ = lock_path;
    TRY_VOID(clear_path(path, address));
    socket.fd_ = open_socket(AF_UNIX);
    if (socket.fd_ < 0 || ::bind(socket.fd_, address.get(), address.size) != 0) {
        return fail(ErrorCode::kIo, concat("cannot create the socket ", path, ": ",
                                           error_text(errno), "; check --uds"));
    }
    socket.path_ = path;
    return socket;
}

ListenSocket::ListenSocket(ListenSocket&& other) noexcept { *this = std::move(other); }

ListenSocket& ListenSocket::operator=(ListenSocket&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(lock_fd_, other.lock_fd_);
    std::swap(port_, other.port_);
    std::swap(name_, other.name_);
    std::swap(path_, other.path_);
    std::swap(lock_path_, other.lock_path_);
    return *this;
}

ListenSocket::~ListenSocket() { close(); }

Result<void> ListenSocket::listen() {
    // Accepted sockets inherit it, so that theirs in TIME_WAIT do not keep a successor away.
    if (path_.empty()) set_flag(fd_, SOL_SOCKET, SO_REUSEADDR, 1);
    if (::listen(fd_, kBacklog) != 0) {
        return fail(ErrorCode::kIo, bind_error(name_, port_, errno));
    }
    return {};
}

void ListenSocket::close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    if (!path_.empty()) ::unlink(std::exchange(path_, {}).c_str());
    // The lock's file goes while it is still held: whoever opens it later makes a new one.
    if (!lock_path_.empty()) ::unlink(std::exchange(lock_path_, {}).c_str());
    if (lock_fd_ >= 0) ::close(std::exchange(lock_fd_, -1));
}

}  // namespace weir
