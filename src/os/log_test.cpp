#include "os/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <regex>
#include <thread>
#include <vector>

#include "base/text.h"
#include "os/file.h"
#include "os/signals.h"
#include "os/temp_folder.h"

namespace weir {
namespace {

/// A logger into a file, and what it wrote.
class LogFile {
   public:
    explicit LogFile(LogFormat format, LogLevel level = LogLevel::kInfo)
        : fd_(::open(folder_.file("log").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600)),
          logger({.level = level, .format = format, .fd = fd_}) {}
    ~LogFile() { ::close(fd_); }
    std::string text() const { return read_file(folder_.file("log")).value(); }

   private:
    TempFolder folder_;
    int fd_;

   public:
    Logger logger;
};

TEST(Logger, TextHasVllmsForm) {
    LogFile log(LogFormat::kText);
    log.logger.info("Started", {{"model", "a b"}, {"num", 3}, {"name", "x"}, {"ok", true}});
    const std::regex form(
        "INFO \\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d \\[log_test\\.cpp:\\d+\\] "
        "Started model=\"a b\" num=3 name=x ok=true\n");
    EXPECT_TRUE(std::regex_match(log.text(), form)) << log.text();
    EXPECT_EQ(log.logger.lines_written(), 1);
}

TEST(Logger, JsonLinesParse) {
    LogFile log(LogFormat::kJson);
    log.logger.warning("say \"hi\"\n", {{"tokens", 12}, {"text", "\xff\xfe!"}, {"none", nullptr}});
    const auto lines = log.text();
    ASSERT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1);
    const auto line = parse_json(trim(lines));
    ASSERT_TRUE(line.has_value()) << line.error().text << lines;
    EXPECT_EQ((*line)["level"].as_string(), "WARNING");
    EXPECT_EQ((*line)["message"].as_string(), "say \"hi\"\n");
    EXPECT_EQ((*line)["tokens"].as_int(), 12);
    EXPECT_EQ((*line)["text"].as_string(), "?""?!");
    EXPECT_TRUE((*line)["none"].is_null());
    EXPECT_TRUE((*line)["source"].as_string().starts_with("log_test.cpp:"));
    EXPECT_TRUE(std::regex_match((*line)["time"].as_string(),
                                 std::regex("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z")));
}

TEST(Logger, ContentCannotForgeALine) {
    LogFile log(LogFormat::kText);
    log.logger.info("a\nERROR 01-01 00:00:00 forged\r\x1b[31m", {{"id", "x\ny"}});
    const std::string text = log.text();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    EXPECT_NE(text.find("a\\nERROR 01-01 00:00:00 forged\\r\\x1b[31m id=\"x\\ny\""),
              std::string::npos)
        << text;
}

TEST(Logger, LevelsFilter) {
    LogFile log(LogFormat::kText, LogLevel::kWarning);
    log.logger.debug("no");
    log.logger.info("no");
    log.logger.warning("yes");
    log.logger.error("yes");
    EXPECT_EQ(log.logger.lines_written(), 2);
    log.logger.set_level(LogLevel::kDebug);
    log.logger.debug("yes");
    EXPECT_EQ(log.logger.lines_written(), 3);
    log.logger.set_level(LogLevel::kOff);
    log.logger.error("no");
    EXPECT_EQ(log.logger.lines_written(), 3);
    EXPECT_NE(log.text().find("DEBUG "), std::string::npos);
    EXPECT_NE(log.text().find("WARNING "), std::string::npos);
    EXPECT_NE(log.text().find("ERROR "), std::string::npos);
    EXPECT_EQ(log.text().find("no\n"), std::string::npos);
}

TEST(Logger, LevelNames) {
    EXPECT_EQ(parse_log_level("INFO"), LogLevel::kInfo);
    EXPECT_EQ(parse_log_level("warn"), LogLevel::kWarning);
    EXPECT_EQ(parse_log_level("critical"), LogLevel::kError);
    EXPECT_EQ(parse_log_level("loud"), std::nullopt);
}

TEST(Logger, FullDiskIsCounted) {
    const int fd = ::open("/dev/full", O_WRONLY);
    ASSERT_GE(fd, 0);
    Logger logger({.fd = fd});
    for (int i = 0; i < 3; ++i) logger.info("lost");
    EXPECT_EQ(logger.write_errors(), 3);
    EXPECT_EQ(logger.lines_written(), 0);
    ::close(fd);
}

TEST(Logger, ClosedPipeAndClosedDescriptorAreCounted) {
    ignore_sigpipe();
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    ::close(ends[0]);
    Logger to_pipe({.fd = ends[1]});
    to_pipe.info("lost");
    EXPECT_EQ(to_pipe.write_errors(), 1);
    ::close(ends[1]);
    Logger to_nothing({.fd = -1});
    to_nothing.info("lost");
    EXPECT_EQ(to_nothing.write_errors(), 1);
}

TEST(Logger, ReaderThatHasStoppedDoesNotStopTheWriter) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    ASSERT_GT(::fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
    Logger logger({.fd = ends[1]});
    const std::string text(500, 'x');
    for (int i = 0; i < 50; ++i) logger.info(text);  // Ends: that is the assertion.
    EXPECT_GT(logger.lines_written(), 0);
    EXPECT_GT(logger.write_errors(), 0);
    const int64_t before = logger.lines_written();
    std::array<char, 65536> drained;
    ASSERT_GT(::read(ends[0], drained.data(), drained.size()), 0);
    logger.info("the reader is back");
    EXPECT_EQ(logger.lines_written(), before + 1);
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST(Logger, LongTextsAreCut) {
    LogFile log(LogFormat::kText);
    log.logger.info(std::string(200'000, 'x'));
    EXPECT_LE(log.text().size(), 65536U);
    EXPECT_TRUE(log.text().ends_with("...\n"));
    LogFile json(LogFormat::kJson);
    json.logger.info(std::string(200'000, '"'), {{"more", std::string(200'000, 'y')}});
    EXPECT_TRUE(parse_json(trim(json.text())).has_value()) << "a cut line is no JSON";
    EXPECT_LE(json.text().size(), 65536U);
}

TEST(Logger, LinesOfThreadsDoNotMix) {
    LogFile log(LogFormat::kText);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&log, t] {
            for (int i = 0; i < 200; ++i) log.logger.info(std::string(300, 'a' + static_cast<char>(t)));
        });
    }
    for (std::thread& thread : threads) thread.join();
    const std::string text = log.text();
    const auto lines = split(text, '\n');
    ASSERT_EQ(lines.size(), 801U);
    for (size_t i = 0; i < 800; ++i) {
        const std::string_view letters = lines[i].substr(lines[i].find("] ") + 2);
        EXPECT_EQ(letters, std::string(300, letters[0])) << lines[i];
    }
}

}  // namespace
}  // namespace weir
