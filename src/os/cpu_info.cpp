#include "os/cpu_info.h"

#include <cpuid.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "os/cgroup.h"
#include "os/file.h"

namespace weir {

namespace {

struct CpuidResult {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

CpuidResult cpuid(unsigned leaf, unsigned subleaf) {
    CpuidResult result;
    __get_cpuid_count(leaf, subleaf, &result.eax, &result.ebx, &result.ecx, &result.edx);
    return result;
}

constexpr bool bit(unsigned value, int index) { return (value >> index & 1U) != 0; }

/// The register sets that the operating system saves (Intel SDM volume 1, 13.3).
uint64_t read_xcr0() {
    unsigned low = 0;
    unsigned high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t{high} << 32 | low;
}

/// Intel SDM volume 2, CPUID.
void add_features(CpuInfo& info) {
    const CpuidResult leaf1 = cpuid(1, 0);
    if (!bit(leaf1.ecx, 27)) return;  // OSXSAVE: without it xgetbv itself faults.
    const uint64_t xcr0 = read_xcr0();
    const bool os_avx = (xcr0 & 0x6) == 0x6;
    const bool os_avx512 = (xcr0 & 0xe6) == 0xe6;
    const bool os_amx = (xcr0 & 0x60000) == 0x60000;
    const CpuidResult leaf7 = cpuid(7, 0);
    const CpuidResult leaf7_1 = leaf7.eax >= 1 ? cpuid(7, 1) : CpuidResult{};
    info.fma = os_avx && bit(leaf1.ecx, 12);
    info.f16c = os_avx && bit(leaf1.ecx, 29);
    info.avx2 = os_avx && bit(leaf7.ebx, 5);
    info.avx_vnni = os_avx && bit(leaf7_1.eax, 4);
    info.avx512f = os_avx512 && bit(leaf7.ebx, 16);
    info.avx512dq = os_avx512 && bit(leaf7.ebx, 17);
    info.avx512bw = os_avx512 && bit(leaf7.ebx, 30);
    info.avx512vl = os_avx512 && bit(leaf7.ebx, 31);
    info.avx512vnni = os_avx512 && bit(leaf7.ecx, 11);
    info.avx512bf16 = os_avx512 && bit(leaf7_1.eax, 5);
    info.amx_bf16 = os_amx && bit(leaf7.edx, 22);
    info.amx_tile = os_amx && bit(leaf7.edx, 24);
    info.amx_int8 = os_amx && bit(leaf7.edx, 25);
}

std::string read_vendor() {
    const CpuidResult leaf = cpuid(0, 0);
    std::array<char, 12> text;
    std::memcpy(text.data(), &leaf.ebx, 4);
    std::memcpy(text.data() + 4, &leaf.edx, 4);
    std::memcpy(text.data() + 8, &leaf.ecx, 4);
    return std::string(trim(std::string_view(text.data(), text.size())));
}

std::string read_model_name() {
    if (cpuid(0x80000000U, 0).eax < 0x80000004U) return "";
    std::array<char, 48> text{};
    for (unsigned i = 0; i < 3; ++i) {
        const CpuidResult leaf = cpuid(0x80000002U + i, 0);
        std::memcpy(text.data() + size_t{16} * i, &leaf, 16);
    }
    const std::string_view padded(text.data(), text.size());
    return std::string(trim(padded.substr(0, padded.find('\0'))));
}

/// The affinity mask, also on machines with more than the 1,024 CPUs of a cpu_set_t.
std::vector<int> allowed_cpus() {
    for (size_t num_cpus = 1024; num_cpus <= 65536; num_cpus *= 2) {
        cpu_set_t* mask = CPU_ALLOC(num_cpus);
        if (!mask) break;
        const size_t bytes = CPU_ALLOC_SIZE(num_cpus);
        CPU_ZERO_S(bytes, mask);
        std::vector<int> cpus;
        const bool known = ::sched_getaffinity(0, bytes, mask) == 0;
        for (size_t cpu = 0; known && cpu < num_cpus; ++cpu) {
            if (CPU_ISSET_S(cpu, bytes, mask)) cpus.push_back(static_cast<int>(cpu));
        }
        CPU_FREE(mask);
        if (known) return cpus;
    }
    return {0};
}

/// Hyperthreads of one core have the same thread_siblings_list.
int32_t count_cores(const std::string& root, const std::vector<int>& cpus) {
    std::set<std::string> cores;
    for (const int cpu : cpus) {
        const std::string path =
            concat(root, "/sys/devices/system/cpu/cpu", cpu, "/topology/thread_siblings_list");
        const Result<std::string> siblings = read_file(path);
        cores.insert(siblings ? *siblings : concat("cpu", cpu));
    }
    return static_cast<int32_t>(std::max<size_t>(cores.size(), 1));
}

int32_t count_numa_nodes(const std::string& root) {
    const auto names = list_directory(root + "/sys/devices/system/node");
    if (!names) return 1;
    const auto is_node = [](const std::string& name) {
        return name.size() > 4 && name.starts_with("node") && name[4] >= '0' && name[4] <= '9';
    };
    const auto count = std::count_if(names->begin(), names->end(), is_node);
    return static_cast<int32_t>(std::max<int64_t>(count, 1));
}

}  // namespace

CpuInfo read_cpu_info(const std::string& root) {
    CpuInfo info;
    info.vendor = read_vendor();
    info.model_name = read_model_name();
    add_features(info);
    const std::vector<int> cpus = allowed_cpus();
    info.num_cpus = static_cast<int32_t>(std::max<size_t>(cpus.size(), 1));
    info.num_cores = count_cores(root, cpus);
    info.num_numa_nodes = count_numa_nodes(root);
    info.cpu_quota = cgroup_cpu_quota(root);
    return info;
}

std::string isa_list(const CpuInfo& info) {
    const std::array<std::pair<bool, const char*>, 13> rows{{{info.avx2, "avx2"},
                                                              {info.fma, "fma"},
                                                              {info.f16c, "f16c"},
                                                              {info.avx_vnni, "avx_vnni"},
                                                              {info.avx512f, "avx512f"},
                                                              {info.avx512bw, "avx512bw"},
                                                              {info.avx512vl, "avx512vl"},
                                                              {info.avx512dq, "avx512dq"},
                                                              {info.avx512vnni, "avx512vnni"},
                                                              {info.avx512bf16, "avx512bf16"},
                                                              {info.amx_tile, "amx_tile"},
                                                              {info.amx_int8, "amx_int8"},
                                                              {info.amx_bf16, "amx_bf16"}}};
    std::string text;
    for (const auto& [present, name] : rows) {
        if (!present) continue;
        if (!text.empty()) text += ' ';
        text += name;
    }
    return text.empty() ? "none" : text;
}

bool request_amx_permission() {
    constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM, Linux 5.16.
    constexpr long kTileData = 18;               // XFEATURE_XTILEDATA.
    return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace weir
