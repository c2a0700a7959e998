#pragma once

// Internal to net: includes Asio. Only connection.cpp and http_server.cpp may include it.

#include <atomic>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "net/asio.h"
#include "net/http_server.h"
#include "net/tls_context.h"

namespace weir {

class Connection;

/// What all connections of one server share. IO thread only, except the atomics.
struct ServerCore {
    explicit ServerCore(HttpServerOptions server_options);

    /// Has `connection` flush when the current turn of the loop ends, so that everything written
    /// until then leaves in one system call.
    void flush_later(const std::shared_ptr<Connection>& connection);
    void flush_dirty();
    std::string_view date();
    HttpResponse error_answer(int status, std::string_view text) const;

    HttpServerOptions options;
    HttpServer::Handler handler;
    HttpServer::HeaderCheck header_check;
    HttpServer::ErrorAnswer make_error_answer;
    std::unique_ptr<TlsContext> tls;
    bool stopping = false;  // Answers announce the end of their connection.

    int64_t num_refused_open = 0;  // Of connections_open: those that only get a 503.
    std::atomic<int64_t> connections_open{0};
    std::atomic<int64_t> connections_total{0};
    std::atomic<int64_t> connections_refused_total{0};
    std::atomic<int64_t> bad_requests_total{0};
    std::atomic<int64_t> bytes_sent_total{0};
    std::atomic<int64_t> requests_in_flight{0};

    std::unordered_set<std::shared_ptr<Connection>> connections;
    std::vector<char> read_buffer;  // Shared: each read is consumed before the next begins.

    std::vector<std::shared_ptr<Connection>> dirty;
    std::vector<std::shared_ptr<Connection>> flushing;
    bool flush_posted = false;

    int64_t date_seconds = -1;
    std::string date_text;

    // Last, so that what its handlers still hold goes first.
    boost::asio::io_context io{1};  // 1: one thread runs it; others may post.
};

}  // namespace weir
