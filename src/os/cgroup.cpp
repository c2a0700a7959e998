#include "os/cgroup.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "os/file.h"

namespace weir {

namespace {

std::optional<int64_t> to_int(std::string_view text) {
    text = trim(text);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<int64_t> read_int(const std::string& path) {
    const Result<std::string> text = read_file(path);
    return text ? to_int(*text) : std::nullopt;
}

/// The number behind "name" and blanks or a colon, at the start of a line.
std::optional<int64_t> line_value(std::string_view text, std::string_view name) {
    for (const std::string_view line : split(text, '\n')) {
        if (!line.starts_with(name) || line.size() <= name.size()) continue;
        const char next = line[name.size()];
        if (next != ' ' && next != ':') continue;
        const std::string_view rest = trim(line.substr(name.size() + 1));
        return to_int(rest.substr(0, rest.find(' ')));
    }
    return std::nullopt;
}

/// A controller's folder for this process and all folders above it: a limit anywhere counts. Inside
/// a container the path of /proc/self/cgroup may name a folder that is not mounted here; the mount
/// itself, the last one, then holds our limits.
struct CgroupFolders {
    bool v2 = false;
    std::vector<std::string> paths;
};

void add_with_parents(std::vector<std::string>& paths, const std::string& mount,
                      std::string_view below) {
    while (below.size() > 1) {
        paths.push_back(mount + std::string(below));
        below = below.substr(0, below.rfind('/'));
    }
    paths.push_back(mount);
}

std::vector<CgroupFolders> cgroup_folders(const std::string& root, std::string_view controller) {
    std::vector<CgroupFolders> all;
    const Result<std::string> text = read_file(root + "/proc/self/cgroup");
    if (!text) return all;
    for (const std::string_view line : split(*text, '\n')) {
        const size_t first = line.find(':');
        const size_t second = first == line.npos ? first : line.find(':', first + 1);
        if (second == line.npos) continue;
        const std::string_view controllers = line.substr(first + 1, second - first - 1);
        const std::string_view below = line.substr(second + 1);
        CgroupFolders folders;
        if (controllers.empty()) {
            folders.v2 = true;
            const std::string hybrid = root + "/sys/fs/cgroup/unified";
            add_with_parents(folders.paths,
                             is_directory(hybrid) ? hybrid : root + "/sys/fs/cgroup", below);
        } else {
            const auto names = split(controllers, ',');
            if (std::find(names.begin(), names.end(), controller) == names.end()) continue;
            add_with_parents(folders.paths, concat(root, "/sys/fs/cgroup/", controller), below);
        }
        all.push_back(std::move(folders));
    }
    return all;
}

struct CgroupMemory {
    int64_t limit_bytes;
    int64_t used_bytes;  // Without file pages that the kernel can drop.
};

std::optional<CgroupMemory> read_cgroup_memory(const std::string& path, bool v2) {
    const auto limit = read_int(path + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
    if (!limit) return std::nullopt;  // "max", or no such file.
    const auto used = read_int(path + (v2 ? "/memory.current" : "/memory.usage_in_bytes"));
    const Result<std::string> stat = read_file(path + "/memory.stat");
    const auto droppable =
        stat ? line_value(*stat, v2 ? "inactive_file" : "total_inactive_file") : std::nullopt;
    return CgroupMemory{
        .limit_bytes = *limit,
        .used_bytes = std::max<int64_t>(used.value_or(0) - droppable.value_or(0), 0)};
}

/// CPUs of one folder, or nothing if it sets no limit.
std::optional<double> read_cpu_quota(const std::string& path, bool v2) {
    std::optional<int64_t> quota;
    std::optional<int64_t> period;
    if (v2) {
        const Result<std::string> text = read_file(path + "/cpu.max");
        if (!text) return std::nullopt;
        const auto parts = split(trim(*text), ' ');
        if (parts.size() != 2) return std::nullopt;
        quota = to_int(parts[0]);  // "max" is no number: no limit.
        period = to_int(parts[1]);
    } else {
        quota = read_int(path + "/cpu.cfs_quota_us");
        period = read_int(path + "/cpu.cfs_period_us");
    }
    if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
    return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

MemoryInfo read_memory_info(const std::string& root) {
    MemoryInfo info;
    if (const Result<std::string> text = read_file(root + "/proc/meminfo")) {
        info.machine_bytes = line_value(*text, "MemTotal").value_or(0) * 1024;
        info.available_bytes = line_value(*text, "MemAvailable").value_or(0) * 1024;
    }
    info.total_bytes = info.machine_bytes;
    for (const CgroupFolders& folders : cgroup_folders(root, "memory")) {
        for (const std::string& path : folders.paths) {
            const auto memory = read_cgroup_memory(path, folders.v2);
            // "No limit" in v1 is a number beyond any machine.
            if (!memory || memory->limit_bytes >= info.machine_bytes) continue;
            if (info.limit_bytes == 0 || memory->limit_bytes < info.limit_bytes) {
                info.limit_bytes = memory->limit_bytes;
            }
            const int64_t free_bytes =
                std::max<int64_t>(memory->limit_bytes - memory->used_bytes, 0);
            info.available_bytes = std::min(info.available_bytes, free_bytes);
        }
    }
    if (info.limit_bytes > 0) info.total_bytes = info.limit_bytes;
    return info;
}

double cgroup_cpu_quota(const std::string& root) {
    double lowest = 0;
    for (const CgroupFolders& folders : cgroup_folders(root, "cpu")) {
        for (const std::string& path : folders.paths) {
            const auto quota = read_cpu_quota(path, folders.v2);
            if (quota && (lowest == 0 || *quota < lowest)) lowest = *quota;
        }
    }
    return lowest;
}

}  // namespace weir
