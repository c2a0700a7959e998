#pragma once

// Internal to net: includes Asio. Only connection.cpp and http_server.cpp may include it.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/asio.h"
#include "net/request_parser.h"
#include "net/response_format.h"
#include "net/server_core.h"
#include "net/stream_socket.h"

namespace weir {

/// One client: a state machine over a non-blocking socket. A read is always outstanding, so a
/// hang-up shows at once, except while a client has sent kPipelinedBytesMax ahead or does not
/// fetch its answers; then writing finds it. An idle one holds about 1 KiB. IO thread only.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
    Connection(ServerCore& core, int fd, std::string remote);
    ~Connection();

    void start();
    /// Instead of start(): answers 503 and closes.
    void start_refused();
    void flush();
    /// Closes if no request has begun and nothing waits to be sent.
    void close_if_idle();
    /// Drops what is unsent; on_close follows if an answer is open.
    void close();

    // The answer of the request in progress; `serial` tells it from later ones.
    bool open(int64_t serial) const { return open_serial_ == serial; }  // Any thread.
    /// Any thread: the answer will not come.
    void abandon_later(std::shared_ptr<Connection> self, int64_t serial);
    void send(HttpResponse response);
    void begin_stream(int status, const HttpHeaders& headers);
    void write_stream(std::string_view chunk);
    void end_stream();
    void set_on_close(std::function<void()> callback) { on_close_ = std::move(callback); }

    bool flush_queued = false;  // ServerCore's.

 private:
    enum class Phase {
        kHandshake,
        kReading,     // Of a request, or of nothing yet.
        kResponding,  // The handler has a request.
        kClosing,     // Only what is queued is still sent.
        kLingering,   // Our half is shut; what comes is thrown away until theirs is.
        kClosed,
    };

    void arm_read();
    void arm_write();
    void on_readable();
    void on_input(std::string_view bytes);
    void on_input_end();
    void on_output_drained();
    void continue_handshake();
    void consume(std::string_view bytes);
    bool step_parser();
    void on_header();
    void dispatch();
    void resume();
    void refuse(int status, std::string_view text);
    void queue_answer(const HttpResponse& response, bool close_after);
    void end_answer();
    void finish_closing();
    bool output_full() const;
    size_t unsent_bytes() const { return out_.size() - out_sent_; }
    void trim_buffers();

    void set_read_deadline();
    void arm_timer();
    void on_timer();

    ServerCore& core_;
    StreamSocket socket_;
    std::optional<boost::asio::posix::stream_descriptor> stream_;
    std::optional<boost::asio::steady_timer> timer_;
    std::string remote_;
    RequestParser parser_;
    Phase phase_ = Phase::kHandshake;
    std::string ahead_;  // Input that arrived while a request is being answered.
    std::string out_;
    size_t out_sent_ = 0;
    std::function<void()> on_close_;
    int64_t serial_ = 0;                   // Of the current or latest request.
    std::atomic<int64_t> open_serial_{0};  // Of the request that waits for its answer, or 0.
    int64_t num_unsent_answers_ = 0;
    int64_t read_deadline_us_ = 0;  // 0: none.
    int64_t write_deadline_us_ = 0;
    int64_t timer_us_ = 0;  // When timer_ fires; it may be early, then it is armed anew.
    int64_t body_bytes_seen_ = 0;
    RequestParser::State deadline_state_ = RequestParser::State::kStart;
    bool refused_ = false;
    bool read_armed_ = false;
    bool write_armed_ = false;
    bool consuming_ = false;
    bool input_ended_ = false;
    bool head_only_ = false;  // The current request is HEAD.
    bool streaming_ = false;
    bool chunked_ = false;      // The current stream.
    bool close_after_ = false;  // The current answer is the last one.
    bool linger_ = false;       // Input may be left that a plain close would turn into a reset.
};

/// What the handler gets; the connection may be gone before it. The last reference may go on any
/// thread.
class ConnectionResponder : public HttpResponder {
 public:
    ConnectionResponder(std::shared_ptr<Connection> connection, int64_t serial);
    /// A handler that forgot its request would leave the client waiting: it gets a 500.
    ~ConnectionResponder() override;
    void send(HttpResponse response) override;
    void begin_stream(int status, HttpHeaders headers) override;
    void write(std::string_view chunk) override;
    void end_stream() override;
    void on_close(std::function<void()> callback) override;
    bool closed() const override;

 private:
    std::shared_ptr<Connection> connection_;
    int64_t serial_;
};

}  // namespace weir
