#pragma once

#include <cstdint>
#include <string>

namespace weir {

/// What this process may use of the CPUs. An instruction set is true only if the CPU has it and
/// the operating system saves its registers.
struct CpuInfo {
    std::string vendor;      // "GenuineIntel", "AuthenticAMD".
    std::string model_name;  // "AMD EPYC 7B13"; may be empty.
    bool avx2 = false;
    bool fma = false;
    bool f16c = false;
    bool avx512f = false;
    bool avx512bw = false;
    bool avx512vl = false;
    bool avx512dq = false;
    bool avx512vnni = false;
    bool avx512bf16 = false;
    bool avx_vnni = false;
    bool amx_tile = false;  // Needs request_amx_permission() before the first use.
    bool amx_int8 = false;
    bool amx_bf16 = false;

    int32_t num_cpus = 1;       // Logical CPUs in the affinity mask.
    int32_t num_cores = 1;      // Physical cores among them.
    int32_t num_numa_nodes = 1;
    double cpu_quota = 0;       // CPUs that the cgroup allows (2.5); 0: no limit.
};

/// `root` is put before /proc and /sys paths ("" in production, a made-up tree in tests).
CpuInfo read_cpu_info(const std::string& root = "");

/// "avx2 fma f16c", for logs and refusals; "none" if there is nothing.
std::string isa_list(const CpuInfo& info);

/// Asks Linux for the AMX tile registers, once for the process and its later threads. False: not
/// available.
bool request_amx_permission();

}  // namespace weir
