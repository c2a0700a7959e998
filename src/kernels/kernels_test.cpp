#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/testing.h"
#include "base/text.h"
#include "kernels/kernel_table.h"

namespace weir {

/// Random rows of a quantised format: any bytes are a legal block, but scales must be numbers.
std::vector<std::byte> random_rows(Random& random, BlockFormat format, int32_t rows, int32_t cols) {
    const BlockTraits traits = block_traits(format);
    std::vector<std::byte> bytes(static_cast<size_t>(rows) * cols / traits.block_size *
                                 traits.block_bytes);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.next());
    if (format == BlockFormat::kF32) {
        for (size_t i = 0; i < bytes.size(); i += 4) {
            const auto value = static_cast<float>(random.uniform() - 0.5);
            std::memcpy(&bytes[i], &value, 4);
        }
        return bytes;
    }
    if (traits.sub_block == 0) {
        for (size_t i = 1; i < bytes.size(); i += 2) bytes[i] &= std::byte{0x3B};
        return bytes;
    }
    // Scales are binary16 somewhere in the block: keep every exponent below that of infinity.
    std::vector<float> row(static_cast<size_t>(cols));
    for (std::byte& b : bytes) b &= std::byte{0xBB};
    return bytes;
}

struct Shape {
    int32_t rows, cols, tokens;
};

void compare_matmul(const KernelTable& table, BlockFormat format, const Shape& shape,
                    Random random) {
    const KernelTable& reference = kernels::reference_table();
    const std::vector<std::byte> rows = random_rows(random, format, shape.rows, shape.cols);
    PanelMatrix w = panel_layout(format, shape.rows, shape.cols, table.panel_width);
    std::vector<std::byte> packed(static_cast<size_t>(w.bytes()));
    pack_panels(w, format, rows, 0, w.num_panels(), packed.data());
    w.data = packed.data();

    std::vector<float> x(static_cast<size_t>(shape.tokens) * shape.cols);
    for (float& value : x) value = static_cast<float>(random.uniform() * 4 - 2);
    if (random.chance(0.3)) std::fill(x.begin(), x.begin() + 32, 2.0F);
    std::vector<int8_t> q(x.size());
    std::vector<float> scales(x.size() / 8);
    const QuantizedRows quantized{shape.tokens, shape.cols, q.data(), scales.data()};
    reference.quantize_rows(x.data(), shape.cols, 0, shape.tokens, quantized);
    const FloatRows floats{x.data(), shape.cols, shape.tokens};

    constexpr float kGuard = 12345.0F;
    std::vector<float> want(static_cast<size_t>(shape.tokens) * shape.rows + 8, kGuard);
    std::vector<float> got = want;
    for (const auto& [which, y] : {std::pair{&reference, &want}, std::pair{&table, &got}}) {
        if (w.quantized()) {
            which->matmul(w, 0, w.num_panels(), quantized, y->data(), shape.rows);
        } else {
            which->matmul_float(w, 0, w.num_panels(), floats, y->data(), shape.rows);
        }
    }
    for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_EQ(0, std::memcmp(&want[i], &got[i], 4))
            << table.isa << " format=" << static_cast<uint32_t>(format) << " rows=" << shape.rows
            << " cols=" << shape.cols << " tokens=" << shape.tokens << ": element " << i
            << ": want " << want[i] << ", got " << got[i] << "; " << random.replay();
    }
}

TEST(Kernels, MatmulOfEveryIsaAndFormatIsBitEqual) {
    constexpr BlockFormat kFormats[] = {
        BlockFormat::kF32,  BlockFormat::kF16,  BlockFormat::kBF16, BlockFormat::kQ4_0,
        BlockFormat::kQ4_1, BlockFormat::kQ5_0, BlockFormat::kQ5_1, BlockFormat::kQ8_0,
        BlockFormat::kQ2_K, BlockFormat::kQ3_K, BlockFormat::kQ4_K, BlockFormat::kQ5_K,
        BlockFormat::kQ6_K};
    for (const KernelTable* table : kernels::available(read_cpu_info())) {
        for (Random random : test_seeds()) {
            for (const BlockFormat format : kFormats) {
                for (const Shape shape : {Shape{1, 256, 1}, Shape{7, 512, 3}, Shape{8, 256, 31},
                                          Shape{9, 256, 33}, Shape{17, 768, 65}}) {
                    compare_matmul(*table, format, shape, random);
                    if (HasFatalFailure()) return;
                }
            }
        }
    }
}

TEST(Kernels, ElementwiseIsBitEqual) {
    const KernelTable& reference = kernels::reference_table();
    for (const KernelTable* table : kernels::available(read_cpu_info())) {
        for (Random random : test_seeds()) {
            for (const int32_t n : {0, 1, 7, 8, 9, 31, 576, 1537}) {
                std::vector<float> a(static_cast<size_t>(n)), b(a.size()), want(a.size()),
                    got(a.size());
                for (float& value : a) value = static_cast<float>(random.uniform() * 200 - 100);
                for (float& value : b) value = static_cast<float>(random.uniform() * 2 - 1);
                reference.silu_mul(a.data(), b.data(), n, want.data());
                table->silu_mul(a.data(), b.data(), n, got.data());
                EXPECT_EQ(want, got) << table->isa << " silu n=" << n << "; " << random.replay();
                reference.gelu_mul(a.data(), b.data(), n, want.data());
                table->gelu_mul(a.data(), b.data(), n, got.data());
                EXPECT_EQ(want, got) << table->isa << " gelu n=" << n << "; " << random.replay();
            }
        }
    }
}

TEST(Kernels, AttentionIsBitEqual) {
    const KernelTable& reference = kernels::reference_table();
    for (const KernelTable* table : kernels::available(read_cpu_info())) {
        for (Random random : test_seeds()) {
            const int32_t head_dim = 64, group = 3, rows = 5;
            const auto block_size = static_cast<int32_t>(random.between(1, 3) * 8);
            const auto first = static_cast<int32_t>(random.below(600));
            const int32_t num_blocks = (first + rows) / block_size + 2;
            const int32_t tiles = (block_size + kKvTile - 1) / kKvTile;
            const int64_t stride = int64_t{tiles} * 2 * kKvTile * head_dim;
            std::vector<uint16_t> kv(static_cast<size_t>(stride * num_blocks));
            for (uint16_t& half : kv) half = static_cast<uint16_t>(random.next() & 0xBBFF);
            std::vector<BlockId> blocks(static_cast<size_t>(num_blocks));
            for (size_t i = 0; i < blocks.size(); ++i) {
                blocks[i] = static_cast<BlockId>(blocks.size() - 1 - i);
            }
            std::vector<float> q(static_cast<size_t>(rows * group * head_dim)), want(q), got(q);
            for (float& value : q) value = static_cast<float>(random.uniform() - 0.5);
            AttentionTask task{.q = q.data(), .q_stride = group * head_dim, .out = want.data(),
                               .out_stride = group * head_dim, .num_rows = rows, .group = group,
                               .head_dim = head_dim, .first_position = first,
                               .window = random.chance(0.5) ? 100 : 0, .kv = kv.data(),
                               .block_stride = stride, .block_size = block_size,
                               .block_ids = blocks.data()};
            reference.attend(task);
            task.out = got.data();
            table->attend(task);
            EXPECT_EQ(want, got) << table->isa << " first=" << first << "; " << random.replay();
        }
    }
}

TEST(Kernels, SelectRefusesWhatIsNotThere) {
    CpuInfo none;
    EXPECT_STREQ(kernels::select(none, "").value()->isa, "reference");
    EXPECT_EQ(kernels::select(none, "avx2").error().text,
              "WEIR_ISA=avx2 needs avx2, fma and f16c, which this CPU lacks; this machine can use "
              "reference (the CPU has none)");
    EXPECT_NE(kernels::select(none, "amx").error().text.find("no kernels in this build"),
              std::string::npos);
    EXPECT_NE(kernels::select(none, "sse").error().text.find("not an instruction set"),
              std::string::npos);
}

}  // namespace weir
