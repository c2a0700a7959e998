#include "kernels/kernel_table.h"

#include <algorithm>

#include "base/text.h"

namespace weir {

int32_t attention_rows(int32_t group, int32_t head_dim) {
    // The sums of a task (rows * group * head_dim floats, twice) should stay in the L1 cache.
    const int32_t rows = 2048 / head_dim / group;
    return std::max(rows, 1);
}

namespace kernels {

std::vector<const KernelTable*> available(const CpuInfo& cpu) {
    std::vector<const KernelTable*> tables{&reference_table()};
    if (cpu.avx2 && cpu.fma && cpu.f16c) tables.push_back(&avx2_table());
    return tables;
}

Result<const KernelTable*> select(const CpuInfo& cpu, std::string_view isa) {
    const std::vector<const KernelTable*> tables = available(cpu);
    if (isa.empty()) return tables.back();
    std::vector<std::string> names;
    for (const KernelTable* table : tables) {
        if (isa == table->isa) return table;
        names.emplace_back(table->isa);
    }
    const char* const why = isa == "avx2" ? "needs avx2, fma and f16c, which this CPU lacks"
                            : isa == "avx512vnni" || isa == "amx"
                                ? "has no kernels in this build yet"
                                : "is not an instruction set that weir knows (reference, avx2, "
                                  "avx512vnni, amx)";
    return fail(ErrorCode::kBadConfig, concat("WEIR_ISA=", isa, " ", why, "; this machine can use ",
                                              join(names, ", "), " (the CPU has ", isa_list(cpu), ")"));
}

}  // namespace kernels

}  // namespace weir
