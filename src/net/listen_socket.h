#pragma once

#include <string>

#include "base/result.h"

namespace weir {

/// A bound address, TCP or Unix, that does not listen yet: others cannot take it, clients are
/// refused. Owns the descriptor, and the socket file of a Unix socket with its lock.
class ListenSocket {
 public:
    /// Empty host: all interfaces, IPv6 and IPv4 in one socket (IPv4 alone where the machine has
    /// no IPv6). A name uses its first address, IPv4 before IPv6. Fails with kIo.
    static Result<ListenSocket> bind_tcp(const std::string& host, int port);
    /// Replaces the socket file of a dead server; refuses a live one's and other files. A file
    /// PATH.lock tells a server that is still starting from a dead one. Fails with kIo.
    static Result<ListenSocket> bind_unix(const std::string& path);

    ListenSocket() = default;
    ListenSocket(ListenSocket&& other) noexcept;
    ListenSocket& operator=(ListenSocket&& other) noexcept;
    ~ListenSocket();

    Result<void> listen();
    /// Removes the socket file and gives the descriptor up; nothing if done before.
    void close();

    int fd() const { return fd_; }
    int port() const { return port_; }  // 0 for Unix sockets.

 private:
    int fd_ = -1;
    int lock_fd_ = -1;
    int port_ = 0;
    std::string name_;       // For messages: "127.0.0.1:8000" or the path.
    std::string path_;       // Of a Unix socket, once its file exists.
    std::string lock_path_;  // Once the lock is held.
};

/// "127.0.0.1:5000", "[::1]:5000" or "unix:". Takes the address of a sockaddr.
std::string address_text(const void* address);

}  // namespace weir
