#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "os/cgroup.h"
#include "os/clock.h"
#include "os/cpu_info.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/process.h"
#include "os/signals.h"
#include "os/temp_folder.h"

namespace weir {
namespace {

TEST(Clock, RunsForwardAndAgrees) {
    const int64_t first = monotonic_us();
    EXPECT_LE(first, monotonic_us());
    EXPECT_GT(wall_us(), int64_t{1'600'000'000} * 1'000'000);
    const int64_t before = wall_us() / 1'000'000;
    const int64_t seconds = wall_seconds();
    EXPECT_LE(before, seconds);
}

// /proc/cpuinfo lists what the kernel lets programs use: an independent reading of CPUID.
TEST(CpuInfo, FlagsAgreeWithTheKernel) {
    const std::string text = read_file("/proc/cpuinfo").value();
    std::set<std::string> flags;
    for (const std::string_view line : split(text, '\n')) {
        if (!line.starts_with("flags")) continue;
        for (const auto word : split(line, ' ')) flags.emplace(word);
        break;
    }
    const CpuInfo info = read_cpu_info();
    EXPECT_EQ(info.avx2, flags.count("avx2") == 1);
    EXPECT_EQ(info.fma, flags.count("fma") == 1);
    EXPECT_EQ(info.f16c, flags.count("f16c") == 1);
    EXPECT_EQ(info.avx512f, flags.count("avx512f") == 1);
    EXPECT_EQ(info.avx512bw, flags.count("avx512bw") == 1);
    EXPECT_EQ(info.avx512vl, flags.count("avx512vl") == 1);
    EXPECT_EQ(info.avx512dq, flags.count("avx512dq") == 1);
    EXPECT_EQ(info.avx512vnni, flags.count("avx512_vnni") == 1);
    EXPECT_EQ(info.avx512bf16, flags.count("avx512_bf16") == 1);
    EXPECT_EQ(info.avx_vnni, flags.count("avx_vnni") == 1);
    EXPECT_EQ(info.amx_tile, flags.count("amx_tile") == 1);
    EXPECT_EQ(info.amx_int8, flags.count("amx_int8") == 1);
    EXPECT_EQ(info.amx_bf16, flags.count("amx_bf16") == 1);
    EXPECT_EQ(request_amx_permission(), info.amx_tile);
    EXPECT_NE(text.find(info.vendor), std::string::npos) << info.vendor;
    EXPECT_NE(text.find(info.model_name), std::string::npos) << info.model_name;
    EXPECT_GE(info.num_cpus, info.num_cores);
    EXPECT_GE(info.num_cores, 1);
    EXPECT_GE(info.num_numa_nodes, 1);
}

TEST(CpuInfo, IsaList) {
    EXPECT_EQ(isa_list(CpuInfo{}), "none");
    CpuInfo info;
    info.avx2 = info.fma = info.amx_int8 = true;
    EXPECT_EQ(isa_list(info), "avx2 fma amx_int8");
}

constexpr const char* kMeminfo =
    "MemTotal:       8388608 kB\nMemFree: 100 kB\nMemAvailable:   4194304 kB\nMemTotalX: 1 kB\n";

TEST(MemoryInfo, WithoutCgroups) {
    const TempFolder root;
    root.write("proc/meminfo", kMeminfo);
    const MemoryInfo info = read_memory_info(root.path());
    EXPECT_EQ(info.machine_bytes, 8 * kGiB);
    EXPECT_EQ(info.total_bytes, 8 * kGiB);
    EXPECT_EQ(info.available_bytes, 4 * kGiB);
    EXPECT_EQ(info.limit_bytes, 0);
}

TEST(MemoryInfo, CgroupV2TakesTheLowestLimitAbove) {
    const TempFolder root;
    root.write("proc/meminfo", kMeminfo);
    root.write("proc/self/cgroup", "0::/pod/box\n");
    root.write("sys/fs/cgroup/pod/box/memory.max", "max\n");
    root.write("sys/fs/cgroup/pod/memory.max", concat(2 * kGiB, "\n"));
    root.write("sys/fs/cgroup/pod/memory.current", concat(kGiB, "\n"));
    root.write("sys/fs/cgroup/pod/memory.stat",
               concat("anon 1\ninactive_file ", 256 * kMiB, "\ninactive_file_x 1\n"));
    root.write("sys/fs/cgroup/memory.max", concat(3 * kGiB, "\n"));
    const MemoryInfo info = read_memory_info(root.path());
    EXPECT_EQ(info.limit_bytes, 2 * kGiB);
    EXPECT_EQ(info.total_bytes, 2 * kGiB);
    EXPECT_EQ(info.available_bytes, kGiB + 256 * kMiB);
}

TEST(MemoryInfo, CgroupV1InsideAContainer) {
    const TempFolder root;
    root.write("proc/meminfo", kMeminfo);
    // The path is the host's; only the mount itself exists here.
    root.write("proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n");
    root.write("sys/fs/cgroup/unified/cgroup.procs", "");
    root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", concat(kGiB, "\n"));
    root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", concat(2 * kGiB, "\n"));
    EXPECT_EQ(read_memory_info(root.path()).total_bytes, kGiB);
    EXPECT_EQ(read_memory_info(root.path()).available_bytes, 0);
    root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    EXPECT_EQ(read_memory_info(root.path()).limit_bytes, 0);
    EXPECT_EQ(read_memory_info(root.path()).available_bytes, 4 * kGiB);
    root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(cgroup_cpu_quota(root.path()), 0);
    root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");
    EXPECT_EQ(cgroup_cpu_quota(root.path()), 2.5);
}

TEST(MemoryInfo, CpuQuotaV2) {
    const TempFolder root;
    EXPECT_EQ(cgroup_cpu_quota(root.path()), 0);
    root.write("proc/self/cgroup", "0::/a\n");
    root.write("sys/fs/cgroup/a/cpu.max", "max 100000\n");
    EXPECT_EQ(cgroup_cpu_quota(root.path()), 0);
    root.write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    EXPECT_EQ(cgroup_cpu_quota(root.path()), 1.5);
    root.write("sys/fs/cgroup/a/cpu.max", "damaged");
    EXPECT_EQ(cgroup_cpu_quota(root.path()), 0);
}

TEST(MemoryInfo, ThisMachine) {
    const MemoryInfo info = read_memory_info();
    EXPECT_GT(info.machine_bytes, 100 * kMiB);
    EXPECT_LE(info.total_bytes, info.machine_bytes);
    EXPECT_LE(info.available_bytes, info.total_bytes);
    EXPECT_GT(info.available_bytes, 0);
}

TEST(Process, Facts) {
    const ProcessInfo info = read_process_info();
    EXPECT_GT(info.resident_bytes, kMiB);
    EXPECT_GE(info.virtual_bytes, info.resident_bytes);
    EXPECT_GE(info.open_fds, 3);
    EXPECT_GE(info.max_fds, info.open_fds);
    EXPECT_GE(info.num_threads, 1);
    EXPECT_GE(info.cpu_seconds, 0);
    // Started in the past, and after the machine's clock was set: not seconds since the boot.
    EXPECT_LE(info.start_time_seconds, static_cast<double>(wall_seconds()) + 2);
    EXPECT_GT(info.start_time_seconds, 1.6e9);
    EXPECT_GE(raise_fd_limit(), info.max_fds);
}

TEST(Process, OpenDescriptorsAreCounted) {
    const int64_t before = read_process_info().open_fds;
    const int fd = ::dup(0);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(read_process_info().open_fds, before + 1);
    ::close(fd);
    EXPECT_EQ(read_process_info().open_fds, before);
}

TEST(Environment, Values) {
    ::setenv("WEIR_TEST_VALUE", "a=b", 1);
    ::setenv("WEIR_TEST_EMPTY", "", 1);
    EXPECT_EQ(environment_variable("WEIR_TEST_VALUE"), "a=b");
    EXPECT_EQ(environment_variable("WEIR_TEST_EMPTY"), "");
    EXPECT_EQ(environment_variable("WEIR_TEST_ABSENT"), std::nullopt);
    const auto all = environment_variables();
    const std::pair<std::string, std::string> wanted("WEIR_TEST_VALUE", "a=b");
    EXPECT_NE(std::find(all.begin(), all.end(), wanted), all.end());
    ::unsetenv("WEIR_TEST_VALUE");
    ::unsetenv("WEIR_TEST_EMPTY");
}

/// Signals that arrived, and a way to wait for their number.
struct Arrivals {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<int> numbers;

    void add(int number) {
        const std::lock_guard lock(mutex);
        numbers.push_back(number);
        changed.notify_all();
    }
    void wait_for(size_t count) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return numbers.size() >= count; });
    }
};

TEST(SignalWatcher, DeliversEachSignal) {
    Arrivals arrivals;
    {
        auto watcher = SignalWatcher::start([&](int number) { arrivals.add(number); });
        ASSERT_TRUE(watcher.has_value());
        ::kill(::getpid(), SIGTERM);
        arrivals.wait_for(1);
        ::kill(::getpid(), SIGINT);
        arrivals.wait_for(2);
        // From a thread that inherits the mask, and to the whole process.
        std::thread([] { ::kill(::getpid(), SIGTERM); }).join();
        arrivals.wait_for(3);
    }
    EXPECT_EQ(arrivals.numbers, (std::vector<int>{SIGTERM, SIGINT, SIGTERM}));
    sigset_t mask;
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &mask), 0);
    EXPECT_EQ(::sigismember(&mask, SIGTERM), 0) << "the mask must be as before";
}

TEST(SignalWatcher, StopsWithoutASignal) {
    const auto watcher = SignalWatcher::start([](int) { FAIL(); });
    EXPECT_TRUE(watcher.has_value());
}

}  // namespace
}  // namespace weir
