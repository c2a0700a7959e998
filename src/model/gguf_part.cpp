#include "model/gguf_part.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "base/text.h"
#include "model/file_kind.h"

namespace weir {

// The format is little-endian and values are copied out of the file as they are.
static_assert(std::endian::native == std::endian::little);

namespace {

constexpr uint64_t kAlignmentDefault = 32;
constexpr uint32_t kDimsMax = 4;
// Smallest records: a key of one byte with a value of one byte; a tensor with one dimension.
constexpr uint64_t kEntryBytesMin = 8 + 1 + 4 + 1;
constexpr uint64_t kTensorBytesMin = 8 + 1 + 4 + 8 + 4 + 8;

struct TypeRow {
    const char* name;
    uint64_t bytes;  // 0: not fixed.
};
constexpr std::array<TypeRow, 13> kTypeRows{{{"u8", 1},
                                             {"i8", 1},
                                             {"u16", 2},
                                             {"i16", 2},
                                             {"u32", 4},
                                             {"i32", 4},
                                             {"f32", 4},
                                             {"bool", 1},
                                             {"string", 0},
                                             {"array", 0},
                                             {"u64", 8},
                                             {"i64", 8},
                                             {"f64", 8}}};

const TypeRow& row(GgufType type) { return kTypeRows[static_cast<size_t>(type)]; }

/// Types of ggml that exist, but that weir does not read: for the message only.
const char* foreign_type_name(uint32_t id) {
    switch (id) {
        case 9: return "Q8_1";
        case 15: return "Q8_K";
        case 16: return "IQ2_XXS";
        case 17: return "IQ2_XS";
        case 18: return "IQ3_XXS";
        case 19: return "IQ1_S";
        case 20: return "IQ4_NL";
        case 21: return "IQ3_S";
        case 22: return "IQ2_S";
        case 23: return "IQ4_XS";
        case 24: return "I8";
        case 25: return "I16";
        case 26: return "I32";
        case 27: return "I64";
        case 28: return "F64";
        case 29: return "IQ1_M";
        case 34: return "TQ1_0";
        case 35: return "TQ2_0";
        case 39: return "MXFP4";
        default: return "unknown";
    }
}

std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Reads forward through one file.
class PartParser {
   public:
    PartParser(std::span<const std::byte> bytes, std::string_view name)
        : bytes_(bytes), name_(name) {}

    Result<GgufPart> parse();

   private:
    template <typename... Pieces>
    tl::unexpected<Error> bad(const Pieces&... pieces) const {
        return fail(ErrorCode::kBadModelFile, concat(name_, ": ", pieces...));
    }

    uint64_t left() const { return bytes_.size() - offset_; }

    template <typename T>
    Result<T> number(std::string_view what) {
        if (left() < sizeof(T)) {
            return bad("the file ends at byte ", bytes_.size(), " inside ", what, " at byte ",
                       offset_, ": truncated or damaged");
        }
        T value;
        std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
        offset_ += sizeof(T);
        return value;
    }

    Result<std::span<const std::byte>> take(uint64_t count, std::string_view what) {
        if (count > left()) {
            return bad(what, " at byte ", offset_, " needs ", count, " bytes, but ", left(),
                       " are left: truncated or damaged");
        }
        const auto taken = bytes_.subspan(offset_, count);
        offset_ += count;
        return taken;
    }

    Result<std::span<const std::byte>> text(std::string_view what) {
        TRY(const uint64_t length, number<uint64_t>(what));
        return take(length, what);
    }

    Result<void> parse_header(GgufPart& part, uint64_t& num_tensors, uint64_t& num_keys);
    Result<GgufEntry> parse_entry();
    Result<void> parse_array(GgufEntry& entry);
    Result<void> sort_entries(GgufPart& part) const;
    Result<uint64_t> find_alignment(const GgufPart& part) const;
    struct Placed {
        uint64_t offset;  // From the start of the data.
        uint64_t bytes;
    };
    Result<GgufTensor> parse_tensor(std::vector<Placed>& placed, uint64_t alignment);
    Result<void> parse_dims(GgufTensor& tensor);
    Result<uint64_t> size_tensor(GgufTensor& tensor, uint32_t type_id) const;
    Result<void> place_tensors(GgufPart& part, const std::vector<Placed>& placed,
                               uint64_t alignment) const;
    Result<void> check_names(const GgufPart& part) const;

    std::span<const std::byte> bytes_;
    std::string_view name_;
    uint64_t offset_ = 0;
};

Result<GgufPart> PartParser::parse() {
    GgufPart part;
    uint64_t num_tensors = 0;
    uint64_t num_keys = 0;
    TRY_VOID(parse_header(part, num_tensors, num_keys));
    part.entries.reserve(num_keys);
    for (uint64_t i = 0; i < num_keys; ++i) {
        TRY(GgufEntry entry, parse_entry());
        part.entries.push_back(entry);
    }
    TRY_VOID(sort_entries(part));
    TRY(const uint64_t alignment, find_alignment(part));
    if (num_tensors > left() / kTensorBytesMin) {
        return bad("the header announces ", num_tensors, " tensors, but only ", left(),
                   " bytes are left: damaged");
    }
    part.tensors.reserve(num_tensors);
    std::vector<Placed> placed;
    placed.reserve(num_tensors);
    for (uint64_t i = 0; i < num_tensors; ++i) {
        TRY(GgufTensor tensor, parse_tensor(placed, alignment));
        part.tensors.push_back(tensor);
    }
    TRY_VOID(check_names(part));
    TRY_VOID(place_tensors(part, placed, alignment));
    return part;
}

Result<void> PartParser::parse_header(GgufPart& part, uint64_t& num_tensors, uint64_t& num_keys) {
    if (bytes_.empty()) return bad("the file is empty");
    const std::string_view start = as_text(bytes_.first(std::min<size_t>(bytes_.size(), 4096)));
    if (start.starts_with("FUGG")) {
        return bad("the magic is FUGG: a GGUF written in the other byte order (big-endian); convert ",
                   "it to little-endian");
    }
    if (!start.starts_with("GGUF")) {
        return bad("not a GGUF file: it starts with \"", printable(start.substr(0, 4)), "\", not ",
                   "\"GGUF\"", describe_file_kind(start));
    }
    offset_ = 4;
    TRY(part.version, number<uint32_t>("the version"));
    if (part.version != 0 && (part.version & 0xffffU) == 0) {
        return bad("a big-endian GGUF file (for s390x or AIX); weir reads little-endian ones: ",
                   "convert it, for example with gguf-convert-endian of PyPI gguf");
    }
    if (part.version == 1) return bad("GGUF version 1 is too old; versions 2 and 3 are read");
    if (part.version != 2 && part.version != 3) {
        return bad("GGUF version ", part.version, " is not known; versions 2 and 3 are read");
    }
    TRY(num_tensors, number<uint64_t>("the number of tensors"));
    TRY(num_keys, number<uint64_t>("the number of keys"));
    if (num_keys > left() / kEntryBytesMin) {
        return bad("the header announces ", num_keys, " keys, but only ", left(),
                   " bytes are left: damaged");
    }
    if (num_keys > kGgufKeysMax) {
        return bad("the header announces ", num_keys, " keys; at most ", kGgufKeysMax, " are read");
    }
    if (num_tensors > left() / kTensorBytesMin) {
        return bad("the header announces ", num_tensors, " tensors, but only ", left(),
                   " bytes are left: damaged");
    }
    if (num_tensors > kGgufTensorsMax) {
        return bad("the header announces ", num_tensors, " tensors; at most ", kGgufTensorsMax,
                   " are read");
    }
    return {};
}

Result<GgufEntry> PartParser::parse_entry() {
    const uint64_t start = offset_;
    TRY(const auto key, text("a key"));
    if (key.empty()) return bad("an empty key at byte ", start);
    GgufEntry entry{};
    entry.key = as_text(key);
    TRY(const uint32_t type_id, number<uint32_t>("a value's type"));
    if (type_id >= kTypeRows.size()) {
        return bad("key ", printable(entry.key), " has the value type ", type_id,
                   "; 0 to 12 are known");
    }
    entry.type = static_cast<GgufType>(type_id);
    entry.element_type = entry.type;
    entry.count = 1;
    const std::string what = concat("the value of key ", printable(entry.key));
    if (entry.type == GgufType::kArray) {
        TRY_VOID(parse_array(entry));
    } else if (entry.type == GgufType::kString) {
        TRY(entry.data, text(what));
    } else {
        TRY(entry.data, take(row(entry.type).bytes, what));
        if (entry.type == GgufType::kBool && std::to_integer<int>(entry.data[0]) > 1) {
            return bad("key ", printable(entry.key), " is a bool of value ",
                       std::to_integer<int>(entry.data[0]), "; 0 and 1 are legal");
        }
    }
    return entry;
}

Result<void> PartParser::parse_array(GgufEntry& entry) {
    const std::string what = concat("the array of key ", printable(entry.key));
    TRY(const uint32_t type_id, number<uint32_t>(what));
    TRY(entry.count, number<uint64_t>(what));
    if (type_id >= kTypeRows.size()) {
        return bad(what, " has the element type ", type_id, "; 0 to 12 are known");
    }
    entry.element_type = static_cast<GgufType>(type_id);
    if (entry.element_type == GgufType::kArray) return bad(what, " holds arrays; GGUF has none");
    const uint64_t start = offset_;
    const bool strings = entry.element_type == GgufType::kString;
    const uint64_t bytes_each = strings ? 8 : row(entry.element_type).bytes;
    if (entry.count > left() / bytes_each) {
        return bad(what, " announces ", entry.count, " elements, but only ", left(),
                   " bytes are left: truncated or damaged");
    }
    if (!strings) {
        TRY(entry.data, take(entry.count * bytes_each, what));
        return {};
    }
    for (uint64_t i = 0; i < entry.count; ++i) {
        TRY_VOID(text(what));
    }
    entry.data = bytes_.subspan(start, offset_ - start);
    return {};
}

/// Sorted, not hashed: keys chosen by an attacker cannot make it quadratic.
Result<void> PartParser::sort_entries(GgufPart& part) const {
    const auto by_key = [](const GgufEntry& a, const GgufEntry& b) { return a.key < b.key; };
    std::sort(part.entries.begin(), part.entries.end(), by_key);
    const auto same = [](const GgufEntry& a, const GgufEntry& b) { return a.key == b.key; };
    const auto twice = std::adjacent_find(part.entries.begin(), part.entries.end(), same);
    if (twice != part.entries.end()) {
        return bad("key ", printable(twice->key), " occurs twice");
    }
    const GgufEntry* architecture = part.find("general.architecture");
    if (architecture && architecture->type != GgufType::kString) {
        return bad("key general.architecture is ", gguf_type_text(*architecture),
                   ", must be string");
    }
    return {};
}

Result<uint64_t> PartParser::find_alignment(const GgufPart& part) const {
    const GgufEntry* entry = part.find("general.alignment");
    if (!entry) return kAlignmentDefault;
    if (entry->type != GgufType::kU32) {
        return bad("key general.alignment is ", gguf_type_text(*entry), ", must be u32");
    }
    uint32_t alignment = 0;
    std::memcpy(&alignment, entry->data.data(), sizeof(alignment));
    if (!std::has_single_bit(alignment)) {
        return bad("general.alignment is ", alignment, ", must be a power of two");
    }
    return alignment;
}

Result<GgufTensor> PartParser::parse_tensor(std::vector<Placed>& placed, uint64_t alignment) {
    const uint64_t start = offset_;
    TRY(const auto name, text("a tensor's name"));
    GgufTensor tensor{};
    tensor.name = as_text(name);
    if (name.empty()) return bad("a tensor with an empty name at byte ", start);
    if (name.size() > kGgufTensorNameBytesMax) {
        return bad("tensor ", printable(tensor.name), " has a name of ", name.size(),
                   " bytes; at most ", kGgufTensorNameBytesMax, " are read");
    }
    if (!is_utf8(tensor.name)) {
        return bad("tensor ", printable(tensor.name), " has a name that is not UTF-8");
    }
    TRY_VOID(parse_dims(tensor));
    const std::string what = concat("the record of tensor ", printable(tensor.name));
    TRY(const uint32_t type_id, number<uint32_t>(what));
    TRY(const uint64_t offset, number<uint64_t>(what));
    TRY(const uint64_t bytes, size_tensor(tensor, type_id));
    if (offset % alignment != 0) {
        return bad("tensor ", printable(tensor.name), " starts at offset ", offset,
                   ", which is no multiple of the alignment ", alignment);
    }
    placed.push_back({.offset = offset, .bytes = bytes});
    return tensor;
}

Result<void> PartParser::parse_dims(GgufTensor& tensor) {
    const std::string what = concat("the record of tensor ", printable(tensor.name));
    TRY(const uint32_t num_dims, number<uint32_t>(what));
    if (num_dims < 1 || num_dims > kDimsMax) {
        return bad("tensor ", printable(tensor.name), " has ", num_dims,
                   " dimensions; 1 to 4 are legal");
    }
    tensor.num_dims = static_cast<int32_t>(num_dims);
    tensor.dims.fill(1);
    for (uint32_t i = 0; i < num_dims; ++i) {
        TRY(const uint64_t dim, number<uint64_t>(what));
        if (dim == 0 || dim > static_cast<uint64_t>(INT64_MAX)) {
            return bad("tensor ", printable(tensor.name), " has a dimension of ", dim);
        }
        tensor.dims[i] = static_cast<int64_t>(dim);
    }
    return {};
}

/// Sets type, rows and cols; gives the size in bytes, which may still exceed the file.
Result<uint64_t> PartParser::size_tensor(GgufTensor& tensor, uint32_t type_id) const {
    const std::string name = printable(tensor.name);
    const TensorTypeInfo* info = tensor_type_info(type_id);
    if (!info) {
        return bad("tensor ", name, " has the type ", type_id, " (", foreign_type_name(type_id),
                   "); weir reads F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K");
    }
    tensor.view.type = info->type;
    tensor.view.cols = tensor.dims[0];
    if (tensor.view.cols % info->block_size != 0) {
        return bad("tensor ", name, " has rows of ", tensor.view.cols, " values; ", info->name,
                   " needs a multiple of ", info->block_size);
    }
    int64_t rows = 1;
    int64_t bytes = tensor.view.cols / info->block_size;
    bool wraps = __builtin_mul_overflow(bytes, int64_t{info->block_bytes}, &bytes);
    for (size_t i = 1; i < tensor.dims.size(); ++i) {
        wraps = __builtin_mul_overflow(rows, tensor.dims[i], &rows) || wraps;
    }
    wraps = __builtin_mul_overflow(bytes, rows, &bytes) || wraps;
    if (wraps) return bad("tensor ", name, " is larger than any file: its size does not fit 63 bits");
    tensor.view.rows = rows;
    return static_cast<uint64_t>(bytes);
}

Result<void> PartParser::place_tensors(GgufPart& part, const std::vector<Placed>& placed,
                                       uint64_t alignment) const {
    // offset_ is at most the file's size and the alignment at most 2^31: the sum cannot wrap.
    const uint64_t data_start = (offset_ + alignment - 1) / alignment * alignment;
    const uint64_t room = data_start <= bytes_.size() ? bytes_.size() - data_start : 0;
    for (size_t i = 0; i < placed.size(); ++i) {
        const auto [offset, bytes] = placed[i];
        if (offset > room || bytes > room - offset) {
            return bad("tensor ", printable(part.tensors[i].name), " needs ", bytes,
                       " bytes at offset ", offset, " of the data, which has ", room,
                       ": truncated or damaged");
        }
        part.tensors[i].view.data = bytes_.subspan(data_start + offset, bytes);
    }
    std::vector<size_t> order(placed.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return placed[a].offset < placed[b].offset; });
    for (size_t i = 1; i < order.size(); ++i) {
        const Placed& before = placed[order[i - 1]];
        if (placed[order[i]].offset < before.offset + before.bytes) {
            return bad("tensors ", printable(part.tensors[order[i - 1]].name), " and ",
                       printable(part.tensors[order[i]].name), " overlap");
        }
    }
    return {};
}

Result<void> PartParser::check_names(const GgufPart& part) const {
    std::vector<std::string_view> names;
    names.reserve(part.tensors.size());
    for (const GgufTensor& tensor : part.tensors) names.push_back(tensor.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) return bad("tensor ", printable(*twice), " occurs twice");
    return {};
}

}  // namespace

const GgufEntry* GgufPart::find(std::string_view key) const {
    const auto found =
        std::lower_bound(entries.begin(), entries.end(), key,
                         [](const GgufEntry& entry, std::string_view k) { return entry.key < k; });
    return found != entries.end() && found->key == key ? &*found : nullptr;
}

Result<GgufPart> parse_gguf_part(std::span<const std::byte> bytes, std::string_view name) {
    return PartParser(bytes, name).parse();
}

std::string gguf_type_text(const GgufEntry& entry) {
    if (entry.type != GgufType::kArray) return row(entry.type).name;
    return concat("array of ", row(entry.element_type).name);
}

std::string printable(std::string_view text) {
    constexpr size_t kBytesMax = 80;
    constexpr char kHex[] = "0123456789abcdef";
    const std::string shortened = shorten(text, kBytesMax);
    const bool utf8 = is_utf8(shortened);
    std::string out;
    for (const char c : shortened) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !utf8)) {
            out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
        } else {
            out += c;
        }
    }
    return out;
}

}  // namespace weir
