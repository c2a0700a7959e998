#include "model/gguf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/json.h"
#include "base/testing.h"
#include "base/text.h"
#include "model/gguf_testing.h"
#include "os/temp_folder.h"

namespace weir {
namespace {

std::string error_of(const std::string& content) {
    const auto file = GgufFile::from_bytes(content, "x.gguf");
    return file ? "accepted" : file.error().text;
}

Json load_case(const std::string& name) {
    Result<Json> json = read_json_file(test_file("cases/" + name));
    CHECK(json.has_value());
    return std::move(*json);
}

/// Every variant that is refused must be refused with one line that starts with the file and says
/// what this table names for it.
struct Refusal {
    const char* id;
    const char* text;
};

constexpr Refusal kRefusals[] = {
    {"magic-lowercase", "not a GGUF file: it starts with \"gguf\""},
    {"version-0", "GGUF version 0 is not known"},
    {"version-1", "version 1 is too old"},
    {"version-99", "version 99 is not known"},
    {"n-kv-2^63", "announces 9223372036854775808 keys, but only"},
    {"n-kv-2^64-1", "announces 18446744073709551615 keys, but only"},
    {"n-kv-one-too-many", "a tensor with an empty name at byte 86"},
    {"n-tensors-2^62", "announces 4611686018427387904 tensors, but only"},
    {"key-length-2^64-1", "the header announces 1 keys, but only 10 bytes are left"},
    {"key-length-1TiB", "the header announces 1 keys, but only 10 bytes are left"},
    {"key-empty", "an empty key at byte 24"},
    {"key-twice", "key a.b occurs twice"},
    {"value-type-13", "key k has the value type 13"},
    {"value-type-2^32-1", "key k has the value type 4294967295"},
    {"array-of-strings-2^64-1", "array of key k announces 18446744073709551615 elements"},
    {"array-of-f32-2^62", "array of key k announces 4611686018427387904 elements"},
    {"array-of-array", "array of key k holds arrays"},
    {"bool-2", "key k is a bool of value 2"},
    {"alignment-0", "general.alignment is 0, must be a power of two"},
    {"alignment-3", "general.alignment is 3, must be a power of two"},
    {"alignment-2GiB", "tensor w needs 16 bytes at offset 0 of the data, which has 0"},
    {"alignment-as-u64", "general.alignment is u64, must be u32"},
    {"alignment-as-string", "general.alignment is string, must be u32"},
    {"architecture-as-u32", "general.architecture is u32, must be string"},
    {"empty-file", "the file is empty"},
    {"three-bytes", "not a GGUF file"},
    {"be-v3", "big-endian"},
    {"be-v2", "big-endian"},
    {"only-version-swapped", "big-endian"},
    {"magic-swapped", "big-endian"},
    {"n-dims-0", "tensor w has 0 dimensions"},
    {"n-dims-5", "tensor w has 5 dimensions"},
    {"n-dims-2^32-1", "announces 1 tensors, but only"},
    {"dim-0", "tensor w has a dimension of 0"},
    {"dim-negative", "tensor w has a dimension of 18446744073709551615"},
    {"dims-wrap-to-0", "tensor w is larger than any file"},
    {"dims-wrap-to-4", "tensor w is larger than any file"},
    {"bytes-wrap", "tensor w is larger than any file"},
    {"sum-wraps", "tensor a needs 4611686018427387904 bytes"},
    {"type-1000", "tensor w has the type 1000 (unknown)"},
    {"type-2^32-1", "tensor w has the type 4294967295 (unknown)"},
    {"type-removed-4", "tensor w has the type 4 (unknown)"},
    {"q4_0-33-columns", "tensor w has rows of 33 values; Q4_0 needs a multiple of 32"},
    {"q4_K-32-columns", "tensor w has rows of 32 values; Q4_K needs a multiple of 256"},
    {"offset-unaligned", "tensor w starts at offset 8, which is no multiple of the alignment 32"},
    {"offset-past-end", "tensor w needs 16 bytes at offset 1048576 of the data, which has 16"},
    {"offset-2^64-32", "tensor w needs 16 bytes at offset 18446744073709551584"},
    {"data-short-by-one", "tensor w needs 16 bytes at offset 0 of the data, which has 15"},
    {"data-absent", "tensor w needs 16 bytes at offset 0 of the data, which has 0"},
    {"overlap", "tensors a and b overlap"},
    {"same-offset-twice", "tensors a and b overlap"},
    {"name-twice", "tensor a occurs twice"},
    {"name-empty", "a tensor with an empty name"},
    {"name-not-utf8", "tensor \\xff\\xfe has a name that is not UTF-8"},
};

void run_case(const std::string& name, int num_variants) {
    const Json json = load_case(name);
    const auto& variants = json["input"]["variants"].items();
    ASSERT_EQ(static_cast<int>(variants.size()), num_variants);
    for (const Json& variant : variants) {
        const std::string& id = variant["id"].as_string();
        SCOPED_TRACE(name + " " + id);
        const std::string content = decode_base64(variant["file_b64"].as_string());
        ASSERT_EQ(static_cast<int64_t>(content.size()), variant["size"].as_int());
        const std::string& expected = variant["expect"].as_string();
        const std::string error = error_of(content);
        if (expected == "container-ok") {
            EXPECT_EQ(error, "accepted");
            continue;
        }
        if (error == "accepted") {
            EXPECT_TRUE(expected.starts_with("refuse-or-")) << "accepted, but must be refused";
            continue;
        }
        EXPECT_TRUE(error.starts_with("x.gguf: ")) << error;
        EXPECT_EQ(error.find('\n'), std::string::npos);
        const auto* row = std::find_if(std::begin(kRefusals), std::end(kRefusals),
                                       [&](const Refusal& refusal) { return refusal.id == id; });
        ASSERT_NE(row, std::end(kRefusals)) << "no text for this refusal: " << error;
        EXPECT_NE(error.find(row->text), std::string::npos) << error << "\nwant: " << row->text;
        // The case file of big-endian files: never reported as a bad magic or a huge version.
        if (std::string_view(row->text) == "big-endian") {
            EXPECT_NE(error.find("convert it"), std::string::npos) << error;
            EXPECT_EQ(error.find("50331648"), std::string::npos) << error;
        }
    }
}

TEST(GgufCases, HeaderLimits) { run_case("gguf-header-limits.json", 31); }
TEST(GgufCases, TensorTable) { run_case("gguf-tensor-table.json", 26); }
TEST(GgufCases, BigEndian) { run_case("gguf-big-endian.json", 4); }

TEST(GgufCases, EveryPrefixIsRefused) {
    const Json json = load_case("gguf-header-limits.json");
    const std::string whole = decode_base64(json["input"]["variants"][0]["file_b64"].as_string());
    EXPECT_EQ(error_of(whole), "accepted");
    for (size_t length = 0; length < whole.size(); ++length) {
        EXPECT_NE(error_of(whole.substr(0, length)), "accepted") << length;
    }
}

struct SplitExpectation {
    const char* id;
    const char* refusal;  // Null: accepted.
    std::vector<std::string_view> names;
};

TEST(GgufCases, SplitFiles) {
    const std::vector<SplitExpectation> expectations{
        {"all-there", nullptr, {"a", "b", "c", "d"}},
        {"second-named", nullptr, {"a", "b", "c", "d"}},
        {"middle-missing", "part 2 of 3 is missing: m-00002-of-00003.gguf", {}},
        {"counts-disagree", "m-00002-of-00003.gguf: split.count is 2, but 3", {}},
        {"name-and-key-disagree", "the file name says 2 parts, the header 3", {}},
        {"wrong-number", "m-00002-of-00003.gguf: split.no is 2, must be 1", {}},
        {"tensor-in-two-parts", "tensor a occurs in parts 1 and 2", {}},
        {"total-wrong", "split.tensors.count announces 9 tensors, found 4", {}},
        {"renamed-part", "this is part 1 of 3 of a split model; parts must be named "
                         "NAME-00001-of-00003.gguf", {}},
        {"one-of-one", nullptr, {"a", "b"}},
        {"not-a-split-name", nullptr, {"a", "b"}},
        {"count-65535", "part 2 of 65535 is missing: m-00002-of-65535.gguf", {}},
    };
    const Json json = load_case("gguf-split-files.json");
    size_t num_run = 0;
    for (const Json& variant : json["input"]["variants"].items()) {
        const std::string& id = variant["id"].as_string();
        if (id == "directory-named") continue;  // model_path_test.cpp opens the folder.
        SCOPED_TRACE(id);
        const TempFolder folder;
        for (const JsonMember& file : variant["files"].members()) {
            folder.write(file.name, decode_base64(file.value.as_string()));
        }
        const auto row = std::find_if(expectations.begin(), expectations.end(),
                                      [&](const auto& expected) { return expected.id == id; });
        ASSERT_NE(row, expectations.end());
        ++num_run;
        const auto file = GgufFile::open(folder.file(variant["open"].as_string()));
        if (row->refusal) {
            ASSERT_FALSE(file.has_value());
            EXPECT_NE(file.error().text.find(row->refusal), std::string::npos) << file.error().text;
            EXPECT_LT(file.error().text.size(), 400U);
            continue;
        }
        ASSERT_TRUE(file.has_value()) << file.error().text;
        EXPECT_EQ(*file->get_string("general.architecture"), "weirtest");
        std::vector<std::string_view> names;
        for (const GgufTensor& tensor : file->tensors()) names.push_back(tensor.name);
        EXPECT_EQ(names, row->names);
    }
    EXPECT_EQ(num_run, expectations.size());
}

TEST(Gguf, TypedAccessNamesFoundAndNeeded) {
    const std::string content = GgufBuilder()
                                    .string("s", "text")
                                    .u32("n", 7)
                                    .f32("f", 1.5F)
                                    .boolean("b", true)
                                    .scalar("big", GgufType::kU64, UINT64_MAX)
                                    .scalar("i8", GgufType::kI8, int8_t{-3})
                                    .strings("ss", {"a", "", "ccc"})
                                    .array("fs", GgufType::kF32, std::vector<float>{1, 2})
                                    .array("is", GgufType::kI32, std::vector<int32_t>{-1, 3})
                                    .array("us", GgufType::kU8, std::vector<uint8_t>{65, 66})
                                    .build();
    const auto file = GgufFile::from_bytes(content, "x.gguf");
    ASSERT_TRUE(file.has_value()) << file.error().text;
    EXPECT_EQ(*file->get_string("s"), "text");
    EXPECT_EQ(*file->get_int("n"), 7);
    EXPECT_EQ(*file->get_int("i8"), -3);
    EXPECT_EQ(*file->get_float("f"), 1.5);
    EXPECT_EQ(*file->get_bool("b"), true);
    EXPECT_EQ(*file->get_strings("ss"), (std::vector<std::string_view>{"a", "", "ccc"}));
    EXPECT_EQ(*file->get_f32s("fs"), (std::vector<float>{1, 2}));
    EXPECT_EQ(*file->get_i32s("is"), (std::vector<int32_t>{-1, 3}));
    EXPECT_EQ(*file->get_bytes("us"), "AB");
    EXPECT_EQ(file->get_int("s").error().text,
              "x.gguf: key s is string, must be an integer below 2^63");
    EXPECT_EQ(file->get_int("big").error().text,
              "x.gguf: key big is u64, must be an integer below 2^63");
    EXPECT_EQ(file->get_string("none").error().text,
              "x.gguf: key none is missing; needed as string");
    EXPECT_EQ(file->get_f32s("us").error().text,
              "x.gguf: key us is array of u8, must be array of f32");
    EXPECT_EQ(file->get_i32s("ss").error().text,
              "x.gguf: key ss is array of string, must be array of i32");
}

TEST(Gguf, KeyWithNulIsOnlyBytes) {
    const std::string key("k\0x", 3);
    const auto file = GgufFile::from_bytes(GgufBuilder().u32(key, 1).build(), "x.gguf");
    ASSERT_TRUE(file.has_value());
    EXPECT_FALSE(file->has("k"));
    EXPECT_TRUE(file->has(key));
}

TEST(Gguf, MovedFileKeepsItsViews) {
    const std::string content =
        GgufBuilder().string("s", "text").tensor("w", TensorType::kF32, {4}).build();
    auto file = GgufFile::from_bytes(content, "x.gguf");
    ASSERT_TRUE(file.has_value());
    const std::string_view before = *file->get_string("s");
    const GgufFile moved = std::move(*file);
    EXPECT_EQ(before.data(), moved.get_string("s")->data());
    EXPECT_EQ(moved.find_tensor("w")->view.data.size(), 16U);
    EXPECT_EQ(moved.find_tensor("v"), nullptr);
}

TEST(Gguf, LengthsBeyondTheFileAreRefused) {
    std::string content = GgufBuilder().string("key", "value").build();
    for (const auto& [length, text] : {std::pair<uint64_t, const char*>{UINT64_MAX, "1844674407"},
                                       {uint64_t{1} << 40, "1099511627776 bytes, but 32 are left"},
                                       {33, "33 bytes, but 32 are left"}}) {
        std::memcpy(content.data() + 24, &length, sizeof(length));
        const std::string error = error_of(content);
        EXPECT_TRUE(error.starts_with("x.gguf: a key at byte 32 needs ")) << error;
        EXPECT_NE(error.find(text), std::string::npos) << error;
    }
}

TEST(Gguf, UnsupportedTypeIsNamed) {
    std::string content = GgufBuilder().tensor("w", TensorType::kQ8_0, {32}).build();
    content[24 + 8 + 1 + 4 + 8] = 20;  // The type in the tensor's record.
    EXPECT_EQ(error_of(content),
              "x.gguf: tensor w has the type 20 (IQ4_NL); weir reads F32, F16, BF16, Q4_0, Q4_1, "
              "Q5_0, Q5_1, Q8_0, Q2_K to Q6_K");
}

TEST(Gguf, TruncatedFilesOfManyKindsAreRefused) {
    const std::string content = GgufBuilder()
                                    .strings("ss", {"a", "bb", "ccc"})
                                    .array("fs", GgufType::kF32, std::vector<float>{1, 2})
                                    .u32("n", 7)
                                    .tensor("v", TensorType::kQ4_K, {256, 3})
                                    .tensor("w", TensorType::kF16, {64, 2, 2})
                                    .build();
    ASSERT_EQ(error_of(content), "accepted");
    for (size_t length = 0; length < content.size(); ++length) {
        EXPECT_NE(error_of(content.substr(0, length)), "accepted") << length;
    }
}

// Any byte changed to any of a few values: accepted or refused, and what is accepted is inside.
TEST(Gguf, DamagedBytesNeverLeaveTheFile) {
    const std::string content = GgufBuilder()
                                    .strings("ss", {"a", "bb"})
                                    .u32("general.alignment", 32)
                                    .tensor("v", TensorType::kQ4_0, {64, 3})
                                    .tensor("w", TensorType::kF32, {8})
                                    .build();
    for (size_t at = 0; at < content.size(); ++at) {
        for (const int value : {0, 1, 0x7f, 0x80, 0xff}) {
            std::string damaged = content;
            damaged[at] = static_cast<char>(value);
            const auto file = GgufFile::from_bytes(damaged, "x.gguf");
            if (!file) continue;
            for (const GgufTensor& tensor : file->tensors()) {
                const TensorTypeInfo& info = tensor_type_info(tensor.view.type);
                EXPECT_EQ(static_cast<int64_t>(tensor.view.data.size()),
                          tensor.view.rows * (tensor.view.cols / info.block_size) *
                              info.block_bytes);
            }
        }
    }
}

TEST(Gguf, LongArraysAndManyKeysAreRead) {
    GgufBuilder builder;
    std::vector<std::string> tokens;
    for (int i = 0; i < 150'000; ++i) tokens.push_back(concat("token-", i));
    builder.strings("tokenizer.ggml.tokens", tokens);
    for (int i = 0; i < 20'000; ++i) builder.u32(concat("key.", i * 7919 % 20'000), 1);
    const auto file = GgufFile::from_bytes(builder.build(), "x.gguf");
    ASSERT_TRUE(file.has_value()) << file.error().text;
    const auto strings = file->get_strings("tokenizer.ggml.tokens");
    ASSERT_TRUE(strings.has_value());
    EXPECT_EQ(strings->size(), 150'000U);
    EXPECT_EQ(strings->back(), "token-149999");
}

TEST(Gguf, TooManyKeysAreRefused) {
    GgufBuilder builder;
    for (uint64_t i = 0; i <= kGgufKeysMax; ++i) builder.u32(concat("key.", i), 1);
    EXPECT_EQ(error_of(builder.build()),
              "x.gguf: the header announces 65537 keys; at most 65536 are read");
}

// Counts and sizes that PyPI gguf 0.19.0 reports for the two real files.
TEST(Gguf, RealFiles) {
    const auto smollm = GgufFile::open(test_model("smollm2"));
    ASSERT_TRUE(smollm.has_value()) << smollm.error().text;
    EXPECT_EQ(smollm->tensors().size(), 272U);
    EXPECT_EQ(smollm->get_strings("tokenizer.ggml.tokens")->size(), 49152U);
    EXPECT_EQ(smollm->get_strings("tokenizer.ggml.merges")->size(), 48900U);
    EXPECT_EQ(*smollm->get_int("llama.block_count"), 30);
    const GgufTensor* embedding = smollm->find_tensor("token_embd.weight");
    ASSERT_NE(embedding, nullptr);
    EXPECT_EQ(embedding->view.type, TensorType::kQ8_0);
    EXPECT_EQ(embedding->view.rows, 49152);
    EXPECT_EQ(embedding->view.cols, 576);

    const auto gemma = GgufFile::open(test_model("gemma3"));
    ASSERT_TRUE(gemma.has_value()) << gemma.error().text;
    EXPECT_EQ(gemma->tensors().size(), 236U);
    EXPECT_EQ(gemma->get_f32s("tokenizer.ggml.scores")->size(), 262'144U);
    EXPECT_EQ(gemma->get_i32s("tokenizer.ggml.token_type")->size(), 262'144U);
}

/// Of all tensors: the sum of byte * (1 + its index in the tensor % 251), as numpy computes it from
/// PyPI gguf's views; a wrong offset, size or order inside a tensor changes it.
int64_t checksum(const GgufFile& file) {
    int64_t sum = 0;
    for (const GgufTensor& tensor : file.tensors()) {
        int64_t weight = 1;
        for (const std::byte byte : tensor.view.data) {
            sum += std::to_integer<int64_t>(byte) * weight;
            weight = weight == 251 ? 1 : weight + 1;
        }
    }
    return sum;
}

TEST(Gguf, BytesOfRealTensorsAgreeWithPyPiGguf) {
    EXPECT_EQ(checksum(*GgufFile::open(test_model("smollm2"))), 1'511'152'156'443);
    EXPECT_EQ(checksum(*GgufFile::open(test_model("gemma3"))), 3'847'835'895'115);
}

// GGML_QUANT_SIZES of PyPI gguf 0.19.0.
TEST(TensorType, SizesOfBlocks) {
    struct Row {
        uint32_t id;
        const char* name;
        int32_t block_size;
        int32_t block_bytes;
    };
    const Row rows[] = {{0, "F32", 1, 4},       {1, "F16", 1, 2},      {2, "Q4_0", 32, 18},
                        {3, "Q4_1", 32, 20},    {6, "Q5_0", 32, 22},   {7, "Q5_1", 32, 24},
                        {8, "Q8_0", 32, 34},    {10, "Q2_K", 256, 84}, {11, "Q3_K", 256, 110},
                        {12, "Q4_K", 256, 144}, {13, "Q5_K", 256, 176}, {14, "Q6_K", 256, 210},
                        {30, "BF16", 1, 2}};
    for (const Row& row : rows) {
        const TensorTypeInfo* info = tensor_type_info(row.id);
        ASSERT_NE(info, nullptr) << row.name;
        EXPECT_STREQ(info->name, row.name);
        EXPECT_EQ(info->block_size, row.block_size) << row.name;
        EXPECT_EQ(info->block_bytes, row.block_bytes) << row.name;
    }
    for (const uint32_t id : {4U, 5U, 9U, 15U, 16U, 29U, 31U, 1000U, UINT32_MAX}) {
        EXPECT_EQ(tensor_type_info(id), nullptr) << id;
    }
}

TEST(Gguf, MissingFile) {
    const auto file = GgufFile::open("/nowhere/x.gguf");
    ASSERT_FALSE(file.has_value());
    EXPECT_EQ(file.error().code, ErrorCode::kFileNotFound);
    EXPECT_EQ(file.error().text, "cannot open /nowhere/x.gguf: No such file or directory");
}

}  // namespace
}  // namespace weir
