#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace weir {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };
enum class LogFormat {
    kText,  // INFO 12-02 10:32:33 [engine_thread.cpp:45] text key=value
    kJson,  // {"time":"2026-12-02T10:32:33.123Z","level":"INFO","source":"...","message":"...",...}
};

/// "debug", "INFO", "warn", "warning", "error", "critical"; nothing for any other word.
std::optional<LogLevel> parse_log_level(std::string_view name);

struct LogField {
    std::string_view key;
    Json value;
};

struct LogOptions {
    LogLevel level = LogLevel::kInfo;
    LogFormat format = LogFormat::kText;
    int fd = 1;  // Not closed by the logger. 1 is stdout, 2 stderr.
};

/// Writes whole lines, each with one write call. Thread-safe; handed in, never global. Never fails
/// and never throws: a line that cannot be written (full disk, closed pipe, a reader that has
/// stopped reading) is counted in write_errors() and dropped. A stopped reader of a pipe costs one
/// wait of a second, then nothing until it reads again. Control characters are escaped, so content
/// from outside cannot forge a line; lines are cut at 64 KiB.
class Logger {
   public:
    explicit Logger(const LogOptions& options);
    ~Logger();
    Logger(const Logger&) = delete;
    Logger& operator=(const Logger&) = delete;

    using Fields = std::initializer_list<LogField>;
    using Where = std::source_location;
    void debug(std::string_view text, Fields fields = {}, Where where = Where::current());
    void info(std::string_view text, Fields fields = {}, Where where = Where::current());
    void warning(std::string_view text, Fields fields = {}, Where where = Where::current());
    void error(std::string_view text, Fields fields = {}, Where where = Where::current());
    void log(LogLevel level, std::string_view text, std::span<const LogField> fields,
             Where where = Where::current());

    bool enabled(LogLevel level) const;
    void set_level(LogLevel level);
    int64_t lines_written() const;
    int64_t write_errors() const;

   private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace weir
