#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tensor_view.h"

namespace weir {

/// Types of metadata values; ids of the GGUF specification.
enum class GgufType : uint32_t {
    kU8 = 0,
    kI8 = 1,
    kU16 = 2,
    kI16 = 3,
    kU32 = 4,
    kI32 = 5,
    kF32 = 6,
    kBool = 7,
    kString = 8,
    kArray = 9,
    kU64 = 10,
    kI64 = 11,
    kF64 = 12,
};

/// A key with its value, still in the file's bytes (which need not be aligned).
struct GgufEntry {
    std::string_view key;
    GgufType type;
    GgufType element_type;  // Of an array; else equal to type.
    uint64_t count;         // Elements of an array; else 1.
    std::span<const std::byte> data;  // A string's bytes without its length; an array's elements.
};

struct GgufTensor {
    std::string_view name;
    int32_t num_dims;
    std::array<int64_t, 4> dims;  // GGUF's order: dims[0] is the row length; unused ones are 1.
    TensorView view;
};

/// One parsed file. Everything points into the bytes that were parsed.
struct GgufPart {
    uint32_t version = 0;
    std::vector<GgufEntry> entries;   // Sorted by key, no key twice.
    std::vector<GgufTensor> tensors;  // In the order of the file; no name twice, no overlap.

    const GgufEntry* find(std::string_view key) const;
};

/// Parses one GGUF file (version 2 or 3, little-endian) from untrusted bytes. Fails with
/// kBadModelFile and one line "NAME: what, where". Checks every count against the bytes left before
/// it allocates; O(n log n) in keys and tensors, linear in array elements; no recursion. All tensors
/// lie wholly inside `bytes`.
Result<GgufPart> parse_gguf_part(std::span<const std::byte> bytes, std::string_view name);

/// "array of u8", "string".
std::string gguf_type_text(const GgufEntry& entry);

/// For messages: at most 80 bytes, control characters and bad UTF-8 escaped as \xNN.
std::string printable(std::string_view text);

constexpr uint64_t kGgufKeysMax = 65'536;
constexpr uint64_t kGgufTensorsMax = 262'144;
constexpr uint64_t kGgufTensorNameBytesMax = 1024;

}  // namespace weir
