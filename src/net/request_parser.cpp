#include "net/request_parser.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace weir {

namespace {

constexpr int64_t kSkippedBytesMax = 16;
// A chunk's size and extensions; a longer line is hostile, since nobody uses extensions.
constexpr int64_t kChunkLineBytesMax = 4096;
constexpr size_t kMethodBytesMax = 32;
constexpr size_t kBodyReserveMax = size_t{1} << 20;
constexpr size_t kHeadKeptBytes = 4096;  // Capacity that an idle connection may keep.

}  // namespace

void RequestParser::fail(int status, const char* text) {
    error_ = {status, text};
    state_ = State::kFailed;
}

size_t RequestParser::feed(std::string_view bytes) {
    size_t used = 0;
    while (used < bytes.size()) {
        const std::string_view rest = bytes.substr(used);
        if (state_ == State::kStart || state_ == State::kHeader) {
            used += feed_header(rest);
        } else if (state_ == State::kBody) {
            used += framing_.chunked ? feed_chunked(rest) : feed_length(rest);
        } else {
            break;
        }
    }
    return used;
}

void RequestParser::check_start(char c) {
    // What cannot become a request (a TLS hello, a binary protocol) is refused at its first byte:
    // it may never send a line end.
    if (!in_method_) return;
    if (c == ' ' && !head_.empty()) {
        in_method_ = false;
    } else if (!is_token_char(c) || head_.size() >= kMethodBytesMax) {
        fail(400, "the method is not a token");
    }
}

size_t RequestParser::feed_header(std::string_view bytes) {
    size_t used = 0;
    if (state_ == State::kStart) {
        while (used < bytes.size() && (bytes[used] == '\r' || bytes[used] == '\n')) {
            ++used;
            if (++skipped_bytes_ > kSkippedBytesMax) {
                fail(400, "empty lines instead of a request");
                return used;
            }
        }
        if (used == bytes.size()) return used;
        state_ = State::kHeader;
    }
    while (in_method_ && used < bytes.size()) {
        check_start(bytes[used]);
        if (state_ == State::kFailed) return used;
        head_ += bytes[used++];
    }
    while (used < bytes.size()) {
        const size_t end = bytes.find('\n', used);
        const bool complete = end != std::string_view::npos;
        const size_t take = (complete ? end + 1 : bytes.size()) - used;
        if (static_cast<int64_t>(head_.size() + take) > limits_.header_bytes_max) {
            fail(431, "the header is too large");
            return used;
        }
        head_.append(bytes, used, take);
        used += take;
        if (!complete) return used;
        if (head_.size() < 2 || head_[head_.size() - 2] != '\r') {
            fail(400, "a header line ends in a bare LF");
            return used;
        }
        if (++num_lines_ > 1 && head_.ends_with("\r\n\r\n")) {
            end_header();
            return used;
        }
        if (num_lines_ - 1 > limits_.header_count_max) {
            fail(431, "too many header fields");
            return used;
        }
    }
    return used;
}

void RequestParser::end_header() {
    request_ = HttpRequest();
    framing_ = RequestFraming();
    error_ = parse_request_head(head_, request_, framing_);
    state_ = error_.status ? State::kFailed : State::kHeaderDone;
    if (head_.capacity() > kHeadKeptBytes) {
        head_ = std::string();
    } else {
        head_.clear();
    }
    in_method_ = true;
    num_lines_ = 0;
    skipped_bytes_ = 0;
}

void RequestParser::read_body() {
    CHECK(state_ == State::kHeaderDone);
    trailer_bytes_ = 0;
    trailers_.clear();
    chunk_ = Chunk::kSize;
    left_bytes_ = framing_.content_length;
    if (left_bytes_ > limits_.body_bytes_max) {
        fail(413, "the body is larger than the limit");
    } else if (framing_.chunked) {
        state_ = State::kBody;
    } else if (left_bytes_ == 0) {
        state_ = State::kDone;
    } else {
        request_.body.reserve(std::min(static_cast<size_t>(left_bytes_), kBodyReserveMax));
        state_ = State::kBody;
    }
}

HttpRequest RequestParser::take_request() {
    CHECK(state_ == State::kDone);
    state_ = State::kStart;
    return std::exchange(request_, HttpRequest());
}

void RequestParser::append_body(std::string_view bytes) {
    request_.body += bytes;
    left_bytes_ -= static_cast<int64_t>(bytes.size());
    body_bytes_total_ += static_cast<int64_t>(bytes.size());
}

size_t RequestParser::feed_length(std::string_view bytes) {
    const std::string_view part = bytes.substr(0, static_cast<size_t>(left_bytes_));
    append_body(part);
    if (left_bytes_ == 0) state_ = State::kDone;
    return part.size();
}

bool RequestParser::feed_line(std::string_view bytes, size_t& used, int64_t line_bytes_max) {
    const size_t end = bytes.find('\n', used);
    const bool complete = end != std::string_view::npos;
    const size_t take = (complete ? end + 1 : bytes.size()) - used;
    if (static_cast<int64_t>(line_.size() + take) > line_bytes_max) {
        fail(chunk_ == Chunk::kTrailer ? 431 : 400, "a line within the chunked body is too long");
        return false;
    }
    line_.append(bytes, used, take);
    used += take;
    if (!complete) return false;
    if (line_.size() < 2 || line_[line_.size() - 2] != '\r') {
        fail(400, "a line within the chunked body ends in a bare LF");
        return false;
    }
    line_.resize(line_.size() - 2);
    return true;
}

void RequestParser::end_chunk_line() {
    uint64_t size = 0;
    const char* const begin = line_.data();
    const char* const end = begin + line_.size();
    // from_chars takes no sign and no prefix for unsigned numbers, and reports what overflows.
    const auto [digits_end, error] = std::from_chars(begin, end, size, 16);
    if (error == std::errc::invalid_argument) return fail(400, "a chunk size is not a number");
    const char* rest = digits_end;
    while (rest != end && (*rest == ' ' || *rest == '\t')) ++rest;
    if (rest != end && *rest != ';') return fail(400, "a chunk size is not a number");
    const auto room_bytes = static_cast<uint64_t>(limits_.body_bytes_max) - request_.body.size();
    if (error == std::errc::result_out_of_range || size > room_bytes) {
        return fail(413, "the body is larger than the limit");
    }
    const bool control = std::any_of(rest, end, [](char c) {
        return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f;
    });
    if (control) return fail(400, "a chunk extension has control characters");
    left_bytes_ = static_cast<int64_t>(size);
    chunk_ = size == 0 ? Chunk::kTrailer : Chunk::kData;
    line_.clear();
}

void RequestParser::end_trailer_line() {
    if (line_.empty()) {
        line_ = std::string();
        trailers_ = HttpHeaders();
        state_ = State::kDone;
        return;
    }
    trailer_bytes_ += static_cast<int64_t>(line_.size()) + 2;
    if (static_cast<int>(trailers_.size()) >= limits_.header_count_max) {
        return fail(431, "too many trailer fields");
    }
    if (const BadRequest error = parse_field_line(line_, trailers_); error.status) {
        return fail(error.status, error.text);
    }
    line_.clear();
}

size_t RequestParser::feed_chunked(std::string_view bytes) {
    size_t used = 0;
    while (used < bytes.size() && state_ == State::kBody) {
        switch (chunk_) {
            case Chunk::kSize:
                if (feed_line(bytes, used, kChunkLineBytesMax)) end_chunk_line();
                break;
            case Chunk::kData: {
                const auto part = bytes.substr(used, static_cast<size_t>(left_bytes_));
                append_body(part);
                used += part.size();
                if (left_bytes_ == 0) chunk_ = Chunk::kDataEnd;
                break;
            }
            case Chunk::kDataEnd:
                if (bytes[used] != (line_.empty() ? '\r' : '\n')) {
                    fail(400, "a chunk is longer than its size");
                } else if (bytes[used++] == '\r') {
                    line_ = "\r";
                } else {
                    line_.clear();
                    chunk_ = Chunk::kSize;
                }
                break;
            case Chunk::kTrailer:
                if (feed_line(bytes, used, limits_.header_bytes_max - trailer_bytes_)) {
                    end_trailer_line();
                }
                break;
        }
    }
    return used;
}

}  // namespace weir
