// Longer than 400 lines: one state machine, whose transitions should be read in one place; and each
// further file that includes Asio costs its compile time again.
#include "net/connection.h"

#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "os/clock.h"

namespace weir {

namespace asio = boost::asio;
using Wait = asio::posix::stream_descriptor::wait_type;
using Status = StreamSocket::Status;

namespace {

// Input kept while an answer is in progress: enough for a burst of pipelined requests.
constexpr size_t kPipelinedBytesMax = size_t{64} << 10;
// With that much unsent no further pipelined request is begun.
constexpr size_t kUnsentBytesMax = size_t{256} << 10;
constexpr int64_t kCheckedBodyBytesMin = int64_t{64} << 10;
// How long a refused client may go on sending before it gets a reset.
constexpr int64_t kLingerUs = 5'000'000;
constexpr size_t kKeptBytes = 4096;  // Capacity that an idle connection may keep.
constexpr int kReadsPerTurnMax = 8;  // A fast uploader must not starve the others.

int64_t to_us(std::chrono::milliseconds duration) { return duration.count() * 1000; }

bool wants_close(const HttpHeaders& headers) {
    for (const auto& [name, value] : headers) {
        if (equals_ignore_case(name, "connection") && equals_ignore_case(value, "close")) {
            return true;
        }
    }
    return false;
}

RequestLimits limits_of(const HttpServerOptions& options) {
    return {.header_bytes_max = options.header_bytes_max,
            .header_count_max = options.header_count_max,
            .body_bytes_max = options.body_bytes_max};
}

}  // namespace

Connection::Connection(ServerCore& core, int fd, std::string remote)
    : core_(core),
      socket_(fd, core.tls ? core.tls->current() : SslContext()),
      stream_(std::in_place, core.io),
      timer_(std::in_place, core.io),
      remote_(std::move(remote)),
      parser_(limits_of(core.options)) {
    boost::system::error_code error;
    stream_->assign(fd, error);
    if (error) stream_.reset();
}

Connection::~Connection() {
    // Without a descriptor in the loop; only reached when close() was never called.
    if (stream_) stream_->release();
}

void Connection::start() {
    if (!stream_) return close();
    if (!socket_.tls()) phase_ = Phase::kReading;
    set_read_deadline();
    arm_read();
}

void Connection::start_refused() {
    // A handshake for a refusal would cost more than a request.
    if (!stream_ || socket_.tls()) return close();
    refused_ = true;
    ++core_.num_refused_open;
    phase_ = Phase::kReading;
    refuse(503, "too many connections: try again later");
    arm_read();
}

// Input

void Connection::arm_read() {
    if (read_armed_ || input_ended_ || phase_ == Phase::kClosed) return;
    if (phase_ == Phase::kClosing) return;
    if (phase_ == Phase::kResponding && ahead_.size() >= kPipelinedBytesMax) return;
    if (phase_ == Phase::kReading && output_full()) return;
    read_armed_ = true;
    if (socket_.has_buffered_input()) {
        asio::post(core_.io, [self = shared_from_this()] {
            self->read_armed_ = false;
            if (self->phase_ != Phase::kClosed) self->on_readable();
        });
        return;
    }
    stream_->async_wait(Wait::wait_read, [self = shared_from_this()](auto error) {
        self->read_armed_ = false;
        if (!error && self->phase_ != Phase::kClosed) self->on_readable();
    });
}

bool Connection::output_full() const { return unsent_bytes() > kUnsentBytesMax; }

void Connection::on_readable() {
    if (phase_ == Phase::kHandshake) {
        continue_handshake();
        if (phase_ != Phase::kReading) return;
    }
    std::vector<char>& buffer = core_.read_buffer;
    for (int i = 0; i < kReadsPerTurnMax || socket_.has_buffered_input(); ++i) {
        const auto [status, bytes] = socket_.read(buffer.data(), buffer.size());
        if (status == Status::kWantWrite) arm_write();
        if (status == Status::kClosed) on_input_end();
        if (status == Status::kFailed) close();
        if (status != Status::kOk || phase_ == Phase::kClosed) break;
        on_input(std::string_view(buffer.data(), bytes));
        if (phase_ == Phase::kClosed) return;
        if (ahead_.size() >= kPipelinedBytesMax) break;
        if (bytes < buffer.size() && !socket_.has_buffered_input()) break;
    }
    if (phase_ == Phase::kClosed) return;
    arm_read();
    if (unsent_bytes() > 0 && !write_armed_) core_.flush_later(shared_from_this());
}

void Connection::continue_handshake() {
    const Status status = socket_.handshake();
    if (status == Status::kOk) {
        phase_ = Phase::kReading;
        set_read_deadline();
    } else if (status == Status::kWantRead) {
        arm_read();
    } else if (status == Status::kWantWrite) {
        arm_write();
    } else {
        if (status == Status::kPlainHttp) {
            ++core_.bad_requests_total;
            socket_.write_plain(
                "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n"
                "content-length: 47\r\nconnection: close\r\n\r\n"
                "this port speaks HTTPS: use https:// in the URL");
        }
        close();
    }
}

void Connection::on_input(std::string_view bytes) {
    if (phase_ == Phase::kLingering || phase_ == Phase::kClosing) return;
    if (phase_ == Phase::kResponding || !ahead_.empty()) {
        ahead_ += bytes;
        return;
    }
    consume(bytes);
}

void Connection::on_input_end() {
    input_ended_ = true;
    // A client that half-closes while it waits for an answer cannot be told from one that has
    // gone: most that do it have gone, and a generation is too dear for nobody.
    const bool answered = phase_ == Phase::kReading || phase_ == Phase::kClosing;
    if (!answered || unsent_bytes() == 0) return close();
    phase_ = Phase::kClosing;
    set_read_deadline();
}

void Connection::consume(std::string_view bytes) {
    consuming_ = true;
    while (phase_ == Phase::kReading && !output_full()) {
        bytes.remove_prefix(parser_.feed(bytes));
        if (!step_parser()) break;
    }
    consuming_ = false;
    const bool keep = phase_ == Phase::kResponding || phase_ == Phase::kReading;
    if (keep && !bytes.empty()) ahead_ = bytes;
    if (phase_ != Phase::kClosed) set_read_deadline();
}

/// Handles what the parser paused for; false if it waits for input.
bool Connection::step_parser() {
    switch (parser_.state()) {
        case RequestParser::State::kHeaderDone: on_header(); return true;
        case RequestParser::State::kDone: dispatch(); return true;
        case RequestParser::State::kFailed:
            ++core_.bad_requests_total;
            refuse(parser_.error().status, parser_.error().text);
            return false;
        default: return false;
    }
}

void Connection::on_header() {
    const RequestFraming framing = parser_.framing();
    const bool has_body = framing.chunked || framing.content_length > 0;
    const bool waits = framing.expect_continue && has_body;
    const bool large = framing.chunked || framing.content_length > kCheckedBodyBytesMin;
    if (core_.header_check && (waits || large)) {
        if (auto answer = core_.header_check(parser_.request())) {
            linger_ = true;
            head_only_ = false;
            queue_answer(*answer, true);
            phase_ = Phase::kClosing;
            return;
        }
    }
    parser_.read_body();
    if (waits && parser_.state() == RequestParser::State::kBody) {
        out_ += "HTTP/1.1 100 Continue\r\n\r\n";
        core_.flush_later(shared_from_this());
    }
}

void Connection::dispatch() {
    HttpRequest request = parser_.take_request();
    request.remote = remote_;
    request.received_us = monotonic_us();
    phase_ = Phase::kResponding;
    open_serial_ = ++serial_;
    deadline_state_ = RequestParser::State::kStart;
    ++core_.requests_in_flight;
    head_only_ = request.method == "HEAD";
    close_after_ = !parser_.framing().keep_alive;
    streaming_ = false;
    core_.handler(std::move(request),
                  std::make_shared<ConnectionResponder>(shared_from_this(), serial_));
}

/// After an answer, or when a full output has drained: the requests that came in the meantime.
void Connection::resume() {
    if (consuming_ || phase_ != Phase::kReading || output_full()) return;
    const std::string bytes = std::exchange(ahead_, std::string());
    consume(bytes);
    if (phase_ != Phase::kClosed) arm_read();
}

// Output

void Connection::queue_answer(const HttpResponse& response, bool close_after) {
    close_after_ = close_after || core_.stopping || wants_close(response.headers);
    const bool has_body = status_has_body(response.status);
    const ResponseHead head{.status = response.status,
                            .framing = has_body ? BodyFraming::kLength : BodyFraming::kNone,
                            .content_length = static_cast<int64_t>(response.body.size()),
                            .close = close_after_,
                            .http10_keep_alive = parser_.framing().http10,
                            .server = core_.options.server_header,
                            .date = core_.date()};
    append_response_head(out_, head, response.headers);
    if (has_body && !head_only_) out_ += response.body;
    core_.flush_later(shared_from_this());
}

void Connection::refuse(int status, std::string_view text) {
    linger_ = true;
    head_only_ = false;
    queue_answer(core_.error_answer(status, text), true);
    phase_ = Phase::kClosing;
    set_read_deadline();
}

void Connection::send(HttpResponse response) {
    CHECK(!streaming_);
    queue_answer(response, close_after_);
    end_answer();
}

void Connection::begin_stream(int status, const HttpHeaders& headers) {
    CHECK(!streaming_);
    streaming_ = true;
    chunked_ = !parser_.framing().http10 && status_has_body(status);
    const bool until_close = parser_.framing().http10;
    close_after_ = close_after_ || until_close || core_.stopping || wants_close(headers);
    BodyFraming framing = chunked_ ? BodyFraming::kChunked : BodyFraming::kNone;
    if (until_close) framing = BodyFraming::kUntilClose;
    if (!status_has_body(status)) head_only_ = true;
    const ResponseHead head{.status = status,
                            .framing = framing,
                            .content_length = 0,
                            .close = close_after_,
                            .http10_keep_alive = false,
                            .server = core_.options.server_header,
                            .date = core_.date()};
    append_response_head(out_, head, headers);
    core_.flush_later(shared_from_this());
}

void Connection::write_stream(std::string_view chunk) {
    CHECK(streaming_);
    if (head_only_) return;
    if (chunked_) {
        append_chunk(out_, chunk);
    } else {
        out_ += chunk;
    }
    const auto unsent_max = static_cast<size_t>(core_.options.stream_buffer_bytes_max);
    if (unsent_bytes() > unsent_max && !write_armed_) flush();
    if (phase_ != Phase::kClosed && unsent_bytes() > unsent_max) return close();
    if (phase_ != Phase::kClosed) core_.flush_later(shared_from_this());
}

void Connection::end_stream() {
    CHECK(streaming_);
    if (chunked_ && !head_only_) out_ += "0\r\n\r\n";
    core_.flush_later(shared_from_this());
    end_answer();
}

void Connection::end_answer() {
    open_serial_ = 0;
    on_close_ = nullptr;
    streaming_ = false;
    ++num_unsent_answers_;
    if (close_after_) {
        linger_ = linger_ || !ahead_.empty();
        phase_ = Phase::kClosing;
        return;
    }
    phase_ = Phase::kReading;
    if (consuming_) return;
    set_read_deadline();
    if (ahead_.empty()) return;
    // Not from here: the caller is inside its own answer and would be entered again.
    asio::post(core_.io, [self = shared_from_this()] {
        if (self->phase_ != Phase::kClosed) self->resume();
    });
}

void Connection::arm_write() {
    if (write_armed_ || phase_ == Phase::kClosed) return;
    write_armed_ = true;
    stream_->async_wait(Wait::wait_write, [self = shared_from_this()](auto error) {
        self->write_armed_ = false;
        if (error || self->phase_ == Phase::kClosed) return;
        if (self->phase_ == Phase::kHandshake) {
            self->continue_handshake();
            if (self->phase_ == Phase::kReading) self->arm_read();
        } else {
            self->flush();
        }
    });
}

void Connection::flush() {
    if (phase_ == Phase::kClosed || write_armed_) return;
    while (unsent_bytes() > 0) {
        const auto [status, bytes] = socket_.write(std::string_view(out_).substr(out_sent_));
        if (status == Status::kOk) {
            out_sent_ += bytes;
            core_.bytes_sent_total += static_cast<int64_t>(bytes);
            write_deadline_us_ = 0;
        } else if (status == Status::kWantWrite || status == Status::kWantRead) {
            if (write_deadline_us_ == 0) {
                write_deadline_us_ = monotonic_us() + to_us(core_.options.write_timeout);
            }
            arm_timer();
            // TLS that wants to read goes on in on_readable().
            if (status == Status::kWantWrite) arm_write();
            return;
        } else {
            return close();
        }
    }
    on_output_drained();
}

void Connection::on_output_drained() {
    out_.clear();
    out_sent_ = 0;
    write_deadline_us_ = 0;
    core_.requests_in_flight -= std::exchange(num_unsent_answers_, 0);
    if (phase_ == Phase::kClosing) return finish_closing();
    if (phase_ != Phase::kReading) return;
    trim_buffers();
    if (input_ended_) return close();
    if (!ahead_.empty() && !consuming_) return resume();
    set_read_deadline();
    arm_read();
}

void Connection::trim_buffers() {
    if (out_.capacity() > kKeptBytes) out_ = std::string();
    if (ahead_.empty()) ahead_ = std::string();
}

// End

void Connection::finish_closing() {
    if (!linger_ || input_ended_) return close();
    socket_.shutdown_write();
    phase_ = Phase::kLingering;
    set_read_deadline();
    arm_read();
}

void Connection::close_if_idle() {
    const bool idle = phase_ == Phase::kReading &&
                      parser_.state() == RequestParser::State::kStart && ahead_.empty();
    if (idle && unsent_bytes() == 0) close();
}

void Connection::close() {
    if (phase_ == Phase::kClosed) return;
    const auto self = shared_from_this();  // The registry below may hold the last reference.
    const int64_t num_open = num_unsent_answers_ + (phase_ == Phase::kResponding ? 1 : 0);
    phase_ = Phase::kClosed;
    open_serial_ = 0;
    core_.requests_in_flight -= num_open;
    --core_.connections_open;
    if (refused_) --core_.num_refused_open;
    // Posted: the owner may be inside write() and is not entered again.
    if (on_close_) asio::post(core_.io, std::exchange(on_close_, nullptr));
    timer_.reset();
    if (stream_) stream_->release();
    stream_.reset();
    socket_.close();
    out_ = std::string();
    out_sent_ = 0;
    ahead_ = std::string();
    core_.connections.erase(self);
}

// Time

void Connection::set_read_deadline() {
    const int64_t now = monotonic_us();
    const HttpServerOptions& options = core_.options;
    const RequestParser::State state = parser_.state();
    switch (phase_) {
        case Phase::kHandshake: read_deadline_us_ = now + to_us(options.header_timeout); break;
        case Phase::kReading:
            if (state == RequestParser::State::kStart) {
                const auto timeout =
                    serial_ == 0 ? options.header_timeout : options.keep_alive_timeout;
                read_deadline_us_ = unsent_bytes() > 0 ? 0 : now + to_us(timeout);
            } else if (state == RequestParser::State::kHeader) {
                // Counted from the first byte, so that a drop each second does not last for ever.
                if (deadline_state_ != state)
                    read_deadline_us_ = now + to_us(options.header_timeout);
            } else if (deadline_state_ != state || body_bytes_seen_ != parser_.body_bytes_total()) {
                read_deadline_us_ = now + to_us(options.body_timeout);
            }
            break;
        case Phase::kLingering: read_deadline_us_ = now + kLingerUs; break;
        default: read_deadline_us_ = 0;
    }
    deadline_state_ = phase_ == Phase::kReading ? state : RequestParser::State::kStart;
    body_bytes_seen_ = parser_.body_bytes_total();
    arm_timer();
}

void Connection::arm_timer() {
    int64_t next_us = read_deadline_us_;
    if (write_deadline_us_ && (!next_us || write_deadline_us_ < next_us)) {
        next_us = write_deadline_us_;
    }
    // A timer that fires early costs less than moving it with each request.
    if (!next_us || !timer_ || (timer_us_ && timer_us_ <= next_us)) return;
    timer_us_ = next_us;
    timer_->expires_at(std::chrono::steady_clock::now() +
                       std::chrono::microseconds(next_us - monotonic_us()));
    timer_->async_wait([self = shared_from_this()](auto error) {
        if (!error && self->phase_ != Phase::kClosed) self->on_timer();
    });
}

void Connection::on_timer() {
    timer_us_ = 0;
    const int64_t now = monotonic_us();
    if (write_deadline_us_ && now >= write_deadline_us_) return close();
    if (read_deadline_us_ && now >= read_deadline_us_) {
        const bool begun =
            phase_ == Phase::kReading && parser_.state() != RequestParser::State::kStart;
        if (!begun) return close();
        ++core_.bad_requests_total;
        refuse(408, "the request did not arrive in time");
    }
    arm_timer();
}

void Connection::abandon_later(std::shared_ptr<Connection> self, int64_t serial) {
    asio::post(core_.io, [connection = std::move(self), serial] {
        if (!connection->open(serial)) return;
        if (connection->streaming_) return connection->close();
        connection->send(connection->core_.error_answer(500, "the request got no answer"));
    });
}

// The handler's view

ConnectionResponder::ConnectionResponder(std::shared_ptr<Connection> connection, int64_t serial)
    : connection_(std::move(connection)), serial_(serial) {}

ConnectionResponder::~ConnectionResponder() {
    if (connection_->open(serial_)) connection_->abandon_later(std::move(connection_), serial_);
}

void ConnectionResponder::send(HttpResponse response) {
    if (connection_->open(serial_)) connection_->send(std::move(response));
}

void ConnectionResponder::begin_stream(int status, HttpHeaders headers) {
    if (connection_->open(serial_)) connection_->begin_stream(status, headers);
}

void ConnectionResponder::write(std::string_view chunk) {
    if (connection_->open(serial_)) connection_->write_stream(chunk);
}

void ConnectionResponder::end_stream() {
    if (connection_->open(serial_)) connection_->end_stream();
}

void ConnectionResponder::on_close(std::function<void()> callback) {
    if (connection_->open(serial_)) connection_->set_on_close(std::move(callback));
}

bool ConnectionResponder::closed() const { return !connection_->open(serial_); }

}  // namespace weir
