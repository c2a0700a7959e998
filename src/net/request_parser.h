#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/http_server.h"
#include "net/request_head.h"

namespace weir {

struct RequestLimits {
    int64_t header_bytes_max;  // Of the whole header, and again of all trailers.
    int header_count_max;
    int64_t body_bytes_max;
};

/// Turns bytes into requests, without a socket. Feed it what arrives; it stops after each header
/// (so that the caller may refuse the body or answer "100 Continue") and after each request.
/// Memory: at most header_bytes_max + body_bytes_max, grown as bytes arrive, never by what a
/// length field promises. Time is linear in the bytes.
class RequestParser {
 public:
    enum class State {
        kStart,       // No byte of a request yet (empty lines before one are skipped).
        kHeader,      // Within the header.
        kHeaderDone,  // Paused: the header can be read; read_body() goes on.
        kBody,
        kDone,    // Paused: take_request(), then the next one begins.
        kFailed,  // error() says why; the connection cannot be used further.
    };

    explicit RequestParser(const RequestLimits& limits) : limits_(limits) {}

    /// Consumes bytes until a pause; returns how many.
    size_t feed(std::string_view bytes);
    /// Leaves kHeaderDone. Fails if the announced length is above the limit.
    void read_body();
    /// Leaves kDone and gives the request away.
    HttpRequest take_request();

    State state() const { return state_; }
    const BadRequest& error() const { return error_; }
    /// Valid from kHeaderDone until take_request(); the body from kDone on.
    const HttpRequest& request() const { return request_; }
    /// Of the latest header; valid until the next header is complete.
    const RequestFraming& framing() const { return framing_; }
    /// Of all requests so far: when it moves, the body moves.
    int64_t body_bytes_total() const { return body_bytes_total_; }

 private:
    enum class Chunk { kSize, kData, kDataEnd, kTrailer };

    size_t feed_header(std::string_view bytes);
    size_t feed_length(std::string_view bytes);
    size_t feed_chunked(std::string_view bytes);
    /// Appends to line_ until LF; true when the line is complete (line_ without CRLF).
    bool feed_line(std::string_view bytes, size_t& used, int64_t line_bytes_max);
    void end_chunk_line();
    void end_trailer_line();
    void append_body(std::string_view bytes);
    void check_start(char c);
    void end_header();
    void fail(int status, const char* text);

    RequestLimits limits_;
    State state_ = State::kStart;
    Chunk chunk_ = Chunk::kSize;
    bool in_method_ = true;  // Every byte so far belongs to the method.
    int num_lines_ = 0;
    int64_t skipped_bytes_ = 0;  // Empty lines before the request line.
    int64_t left_bytes_ = 0;     // Of the body or the current chunk.
    int64_t trailer_bytes_ = 0;
    int64_t body_bytes_total_ = 0;
    BadRequest error_ = kNoBadRequest;
    RequestFraming framing_;
    HttpRequest request_;
    std::string head_;
    std::string line_;
    HttpHeaders trailers_;  // Checked, counted and dropped.
};

}  // namespace weir
