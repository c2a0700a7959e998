#include "os/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "os/file.h"

namespace weir {

namespace {

int64_t to_int(std::string_view text) {
    int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// Unix time of the machine's start, from the btime line of /proc/stat.
int64_t boot_time_seconds() {
    const Result<std::string> text = read_file("/proc/stat");
    if (!text) return 0;
    for (const std::string_view line : split(*text, '\n')) {
        if (line.starts_with("btime ")) return to_int(line.substr(6));
    }
    return 0;
}

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

void add_stat(ProcessInfo& info) {
    const Result<std::string> stat = read_file("/proc/self/stat");
    if (!stat) return;
    // The second field is the name in brackets and may hold blanks and brackets: count from the last.
    const size_t name_end = stat->rfind(')');
    if (name_end == std::string::npos || name_end + 2 > stat->size()) return;
    const auto fields = split(std::string_view(*stat).substr(name_end + 2), ' ');
    // proc(5) numbers the fields from 1; fields[0] here is number 3 (state).
    const auto field = [&](size_t number) {
        return number - 3 < fields.size() ? to_int(fields[number - 3]) : 0;
    };
    info.num_threads = field(20);
    info.virtual_bytes = field(23);
    info.resident_bytes = field(24) * ::sysconf(_SC_PAGESIZE);
    const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
    info.start_time_seconds = static_cast<double>(boot_time_seconds()) +
                              static_cast<double>(field(22)) / ticks_per_second;
}

}  // namespace

ProcessInfo read_process_info() {
    ProcessInfo info;
    add_stat(info);
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) == 0) {
        info.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    }
    if (const auto names = list_directory("/proc/self/fd")) {
        info.open_fds = static_cast<int64_t>(names->size()) - 1;  // Without the listing's own.
    }
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        info.max_fds = static_cast<int64_t>(limit.rlim_cur);
    }
    return info;
}

int64_t raise_fd_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
        ::getrlimit(RLIMIT_NOFILE, &limit);
    }
    return static_cast<int64_t>(limit.rlim_cur);
}

}  // namespace weir
