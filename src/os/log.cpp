#include "os/log.h"

#include <poll.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <mutex>
#include <utility>

#include "base/text.h"

namespace weir {

namespace {

constexpr size_t kLineBytesMax = 65536;
constexpr int kStalledWaitMs = 1000;

spdlog::level::level_enum spdlog_level(LogLevel level) {
    switch (level) {
        case LogLevel::kDebug: return spdlog::level::debug;
        case LogLevel::kInfo: return spdlog::level::info;
        case LogLevel::kWarning: return spdlog::level::warn;
        case LogLevel::kError: return spdlog::level::err;
        case LogLevel::kOff: break;
    }
    return spdlog::level::off;
}

const char* level_name(spdlog::level::level_enum level) {
    switch (level) {
        case spdlog::level::debug: return "DEBUG";
        case spdlog::level::warn: return "WARNING";
        case spdlog::level::err: return "ERROR";
        default: return "INFO";
    }
}

std::string_view file_name(const char* path) {
    const std::string_view whole = path ? path : "";
    return whole.substr(whole.rfind('/') + 1);  // npos + 1 is 0.
}

void append_escaped(std::string& out, std::string_view text) {
    constexpr char kHex[] = "0123456789abcdef";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\n') {
            out += "\\n";
        } else if (c == '\r') {
            out += "\\r";
        } else if (byte < 0x20 && c != '\t') {
            out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
        } else if (byte == 0x7f) {
            out += "\\x7f";
        } else {
            out += c;
        }
    }
}

void append_text_value(std::string& out, const Json& value) {
    const bool bare = value.is_string() && !value.as_string().empty() &&
                      value.as_string().find_first_of(" \t\r\n\"=") == std::string::npos;
    if (bare) {
        append_escaped(out, value.as_string());
    } else {
        value.dump_to(out);
    }
}

/// Appends a JSON string; a text that is no UTF-8 would make the whole line invalid.
void append_json_text(std::string& out, std::string_view text) {
    if (is_utf8(text)) return append_json_string(out, text);
    std::string ascii;
    for (const char c : text) ascii += static_cast<unsigned char>(c) < 0x80 ? c : '?';
    append_json_string(out, ascii);
}

/// A JSON line cannot be cut at its end: a text that does not fit what is left of the line is cut
/// itself. An escaped byte takes at most six.
constexpr size_t kJsonBytesMax = kLineBytesMax - 2048;
void append_fitting_json_text(std::string& out, std::string_view text) {
    const size_t begin = out.size();
    append_json_text(out, text);
    if (out.size() <= kJsonBytesMax) return;
    out.resize(begin);
    append_json_text(out, shorten(text, begin < kJsonBytesMax ? (kJsonBytesMax - begin) / 6 : 0));
}

/// The part of the line that does not depend on the time.
std::string make_payload(LogFormat format, std::string_view text,
                         std::span<const LogField> fields) {
    std::string out;
    if (format == LogFormat::kText) {
        append_escaped(out, text);
        for (const LogField& field : fields) {
            out += ' ';
            append_escaped(out, field.key);
            out += '=';
            append_text_value(out, field.value);
        }
        return out;
    }
    out += "\"message\":";
    append_fitting_json_text(out, text);
    for (const LogField& field : fields) {
        out += ',';
        append_json_text(out, field.key);
        out += ':';
        if (field.value.is_string()) {
            append_fitting_json_text(out, field.value.as_string());
        } else {
            field.value.dump_to(out);
        }
    }
    return out;
}

/// A sink that notices failed writes; spdlog's own stdout sinks ignore them.
class FdSink final : public spdlog::sinks::base_sink<std::mutex> {
   public:
    FdSink(int fd, LogFormat format) : fd_(fd), format_(format) {}

    int64_t lines_written() const { return lines_written_.load(std::memory_order_relaxed); }
    int64_t write_errors() const { return write_errors_.load(std::memory_order_relaxed); }
    void count_error() { write_errors_.fetch_add(1, std::memory_order_relaxed); }

   protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        const std::string line = make_line(message);
        if (write_line(line)) {
            lines_written_.fetch_add(1, std::memory_order_relaxed);
        } else {
            count_error();
        }
    }
    void flush_() override {}

   private:
    std::string make_line(const spdlog::details::log_msg& message) const {
        const auto since = message.time.time_since_epoch();
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
        const std::time_t seconds = ms / 1000;
        const std::string_view payload(message.payload.data(), message.payload.size());
        std::tm parts{};
        std::array<char, 64> time{};
        std::string line;
        if (format_ == LogFormat::kText) {
            ::localtime_r(&seconds, &parts);
            std::strftime(time.data(), time.size(), "%m-%d %H:%M:%S", &parts);
            line = concat(level_name(message.level), " ", time.data(), " [",
                          file_name(message.source.filename), ":", message.source.line, "] ",
                          payload);
            if (line.size() >= kLineBytesMax) line = shorten(line, kLineBytesMax - 4);
        } else {
            ::gmtime_r(&seconds, &parts);
            std::strftime(time.data(), time.size(), "%Y-%m-%dT%H:%M:%S", &parts);
            const std::string fraction = std::to_string(1000 + ms % 1000).substr(1);
            line = concat("{\"time\":\"", time.data(), ".", fraction, "Z\",\"level\":\"",
                          level_name(message.level), "\",\"source\":\"",
                          file_name(message.source.filename), ":", message.source.line, "\",",
                          payload, "}");
        }
        line += '\n';
        return line;
    }

    /// A pipe whose reader has stopped must not stop the server: wait once, then not at all until a
    /// write succeeds again.
    bool writable() {
        pollfd waited{fd_, POLLOUT, 0};
        const int ready = ::poll(&waited, 1, stalled_ ? 0 : kStalledWaitMs);
        stalled_ = ready == 0;
        return ready != 0;  // An error of poll shows in the write.
    }

    bool write_line(std::string_view rest) {
        while (!rest.empty()) {
            if (!writable()) return false;
            const ssize_t count = ::write(fd_, rest.data(), rest.size());
            if (count < 0) {
                if (errno == EINTR || errno == EAGAIN) continue;
                return false;
            }
            rest.remove_prefix(static_cast<size_t>(count));
        }
        return true;
    }

    const int fd_;
    const LogFormat format_;
    bool stalled_ = false;
    std::atomic<int64_t> lines_written_{0};
    std::atomic<int64_t> write_errors_{0};
};

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view name) {
    const std::string lower = to_lower(name);
    if (lower == "debug" || lower == "trace") return LogLevel::kDebug;
    if (lower == "info") return LogLevel::kInfo;
    if (lower == "warning" || lower == "warn") return LogLevel::kWarning;
    if (lower == "error" || lower == "critical") return LogLevel::kError;
    if (lower == "off") return LogLevel::kOff;
    return std::nullopt;
}

struct Logger::State {
    explicit State(const LogOptions& options)
        : format(options.format),
          sink(std::make_shared<FdSink>(options.fd, options.format)),
          logger("weir", sink) {
        logger.set_level(spdlog_level(options.level));
        // spdlog would print its own line to stderr.
        logger.set_error_handler([this](const std::string&) { sink->count_error(); });
    }

    LogFormat format;
    std::shared_ptr<FdSink> sink;
    spdlog::logger logger;
};

Logger::Logger(const LogOptions& options) : state_(std::make_unique<State>(options)) {}
Logger::~Logger() = default;

void Logger::log(LogLevel level, std::string_view text, std::span<const LogField> fields,
                 Where where) {
    if (!enabled(level)) return;
    // spdlog reports failed allocations as exceptions; a log line is never worth one.
    try {
        const std::string payload = make_payload(state_->format, text, fields);
        const spdlog::source_loc source(where.file_name(), static_cast<int>(where.line()), "");
        state_->logger.log(source, spdlog_level(level), payload);
    } catch (...) {
        state_->sink->count_error();
    }
}

void Logger::debug(std::string_view text, Fields fields, Where where) {
    log(LogLevel::kDebug, text, {fields.begin(), fields.size()}, where);
}
void Logger::info(std::string_view text, Fields fields, Where where) {
    log(LogLevel::kInfo, text, {fields.begin(), fields.size()}, where);
}
void Logger::warning(std::string_view text, Fields fields, Where where) {
    log(LogLevel::kWarning, text, {fields.begin(), fields.size()}, where);
}
void Logger::error(std::string_view text, Fields fields, Where where) {
    log(LogLevel::kError, text, {fields.begin(), fields.size()}, where);
}

bool Logger::enabled(LogLevel level) const {
    return level != LogLevel::kOff && state_->logger.should_log(spdlog_level(level));
}
void Logger::set_level(LogLevel level) { state_->logger.set_level(spdlog_level(level)); }
int64_t Logger::lines_written() const { return state_->sink->lines_written(); }
int64_t Logger::write_errors() const { return state_->sink->write_errors(); }

}  // namespace weir
