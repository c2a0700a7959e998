#pragma once

#include <cstdint>
#include <string>

namespace weir {

/// Memory that this process can count on. A value that cannot be read is 0.
struct MemoryInfo {
    int64_t machine_bytes = 0;    // MemTotal.
    int64_t limit_bytes = 0;      // The lowest cgroup limit (v1 or v2) above us; 0: none.
    int64_t total_bytes = 0;      // The smaller one of the two: what "the whole device" means.
    int64_t available_bytes = 0;  // Free or droppable now, within machine and cgroup limit.
};

/// `root` as in read_cpu_info.
MemoryInfo read_memory_info(const std::string& root = "");

/// CPUs' worth of time that the cgroups allow (cpu.max or cfs_quota); 0: no limit.
double cgroup_cpu_quota(const std::string& root);

}  // namespace weir
