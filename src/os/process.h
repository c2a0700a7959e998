#pragma once

#include <cstdint>

namespace weir {

/// What the process_* metrics show; a value that cannot be read is 0.
struct ProcessInfo {
    int64_t resident_bytes = 0;
    int64_t virtual_bytes = 0;
    int64_t open_fds = 0;
    int64_t max_fds = 0;               // Soft limit; 0 if unlimited.
    double cpu_seconds = 0;            // User and system.
    double start_time_seconds = 0;     // Unix time.
    int64_t num_threads = 0;
};

ProcessInfo read_process_info();

/// Raises the soft limit of open files to the hard one; returns the new soft limit. Thousands of
/// idle connections need more than the usual 1,024.
int64_t raise_fd_limit();

}  // namespace weir
