#include "model/gguf.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "model/gguf_split.h"
#include "os/file.h"
#include "os/mapped_file.h"

namespace weir {

struct GgufFile::State {
    std::string path;             // As given.
    std::vector<MappedFile> files;
    std::vector<std::byte> content;  // Of from_bytes; else empty.
    std::vector<GgufPart> parts;     // In order; [0] has the keys.
    std::vector<GgufTensor> tensors;
};

namespace {

template <typename T>
T load(const std::byte* data) {
    T value;
    std::memcpy(&value, data, sizeof(T));
    return value;
}

template <typename... Pieces>
tl::unexpected<Error> bad(const Pieces&... pieces) {
    return fail(ErrorCode::kBadModelFile, concat(pieces...));
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::optional<int64_t> as_int(const GgufEntry& entry) {
    const std::byte* data = entry.data.data();
    switch (entry.type) {
        case GgufType::kU8: return load<uint8_t>(data);
        case GgufType::kI8: return load<int8_t>(data);
        case GgufType::kU16: return load<uint16_t>(data);
        case GgufType::kI16: return load<int16_t>(data);
        case GgufType::kU32: return load<uint32_t>(data);
        case GgufType::kI32: return load<int32_t>(data);
        case GgufType::kI64: return load<int64_t>(data);
        case GgufType::kU64: {
            const auto value = load<uint64_t>(data);
            if (value > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
            return static_cast<int64_t>(value);
        }
        default: return std::nullopt;
    }
}

/// split.no, split.count or split.tensors.count; nothing if the key is absent.
Result<std::optional<int64_t>> split_key(const GgufPart& part, std::string_view path,
                                         std::string_view key) {
    const GgufEntry* entry = part.find(key);
    if (!entry) return std::optional<int64_t>();
    const std::optional<int64_t> value = as_int(*entry);
    if (!value) return bad(path, ": key ", key, " is ", gguf_type_text(*entry), ", must be a number");
    return value;
}

/// Checks that `part`, read from `path`, is part `number` of `count`.
Result<void> check_part(const GgufPart& part, std::string_view path, int64_t number,
                        int64_t count) {
    TRY(const auto own_count, split_key(part, path, "split.count"));
    if (own_count.value_or(1) != count) {
        return bad(path, ": split.count is ", own_count.value_or(1), ", but ", count,
                   " in the part that was named: these parts do not belong together");
    }
    TRY(const auto own_number, split_key(part, path, "split.no"));
    if (own_number.value_or(-1) != number - 1) {
        return bad(path, ": split.no is ", own_number.value_or(-1), ", must be ", number - 1,
                   " (from 0) in part ", number, " of ", count);
    }
    return {};
}

/// The name of a file with the header of part split.no of split.count.
Result<SplitName> check_split_name(const GgufPart& part, const std::string& path, int64_t count) {
    const auto name = parse_split_name(path);
    if (!name) {
        TRY(const auto number, split_key(part, path, "split.no"));
        return bad(path, ": this is part ", number.value_or(0) + 1, " of ", count,
                   " of a split model; parts must be named NAME-00001-of-",
                   split_path({.stem = "", .number = 1, .count = static_cast<int32_t>(count)},
                              static_cast<int32_t>(count))
                       .substr(1, 5),
                   ".gguf and so on");
    }
    if (name->count != count) {
        return bad(path, ": the file name says ", name->count, " parts, the header ", count);
    }
    return *name;
}

/// Sorts all tensors by name and checks them against split.tensors.count.
Result<std::vector<GgufTensor>> join_tensors(const std::vector<GgufPart>& parts,
                                             std::string_view path) {
    struct Owned {
        GgufTensor tensor;
        size_t part;
    };
    std::vector<Owned> all;
    for (size_t i = 0; i < parts.size(); ++i) {
        for (const GgufTensor& tensor : parts[i].tensors) all.push_back({tensor, i + 1});
    }
    std::stable_sort(all.begin(), all.end(), [](const Owned& a, const Owned& b) {
        return a.tensor.name < b.tensor.name;
    });
    for (size_t i = 1; i < all.size(); ++i) {
        if (all[i - 1].tensor.name == all[i].tensor.name) {
            return bad(path, ": tensor ", printable(all[i].tensor.name), " occurs in parts ",
                       all[i - 1].part, " and ", all[i].part);
        }
    }
    TRY(const auto announced, split_key(parts[0], path, "split.tensors.count"));
    if (announced && *announced != static_cast<int64_t>(all.size())) {
        return bad(path, ": split.tensors.count announces ", *announced, " tensors, found ",
                   all.size());
    }
    std::vector<GgufTensor> tensors;
    tensors.reserve(all.size());
    for (const Owned& owned : all) tensors.push_back(owned.tensor);
    return tensors;
}

struct MappedPart {
    MappedFile file;
    GgufPart part;
};

Result<MappedPart> map_part(const std::string& path) {
    TRY(MappedFile file, MappedFile::open(path));
    TRY(GgufPart part, parse_gguf_part(file.bytes(), path));
    return MappedPart{std::move(file), std::move(part)};
}

}  // namespace

Result<GgufFile> GgufFile::open(const std::string& path) {
    auto state = std::make_unique<State>();
    state->path = path;
    TRY(MappedPart named, map_part(path));
    TRY(const auto count_key, split_key(named.part, path, "split.count"));
    const int64_t count = count_key.value_or(1);
    if (count < 0 || count > 99'999) return bad(path, ": split.count is ", count);
    if (count > 1) {
        TRY(const SplitName name, check_split_name(named.part, path, count));
        TRY_VOID(check_part(named.part, path, name.number, count));
        // Which parts are there is cheap to see and the most frequent fault: before all reading.
        for (int32_t number = 1; number <= name.count; ++number) {
            const std::string part_path = split_path(name, number);
            if (!path_exists(part_path)) {
                return bad(path, ": part ", number, " of ", count, " is missing: ",
                           base_name(part_path), " must lie in the same folder");
            }
        }
        for (int32_t number = 1; number <= name.count; ++number) {
            if (number == name.number) {
                state->files.push_back(std::move(named.file));
                state->parts.push_back(std::move(named.part));
                continue;
            }
            const std::string part_path = split_path(name, number);
            TRY(MappedPart next, map_part(part_path));
            TRY_VOID(check_part(next.part, part_path, number, count));
            state->files.push_back(std::move(next.file));
            state->parts.push_back(std::move(next.part));
        }
    } else {
        state->files.push_back(std::move(named.file));
        state->parts.push_back(std::move(named.part));
    }
    TRY(state->tensors, join_tensors(state->parts, path));
    return GgufFile(std::move(state));
}

Result<GgufFile> GgufFile::from_bytes(std::string_view content, std::string name) {
    auto state = std::make_unique<State>();
    state->path = std::move(name);
    const auto* data = reinterpret_cast<const std::byte*>(content.data());
    state->content.assign(data, data + content.size());
    TRY(GgufPart part, parse_gguf_part(state->content, state->path));
    state->parts.push_back(std::move(part));
    TRY(const auto count, split_key(state->parts[0], state->path, "split.count"));
    if (count.value_or(1) > 1) {
        return bad(state->path, ": one of ", *count, " parts of a split model");
    }
    TRY(state->tensors, join_tensors(state->parts, state->path));
    return GgufFile(std::move(state));
}

GgufFile::GgufFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
GgufFile::GgufFile(GgufFile&&) noexcept = default;
GgufFile& GgufFile::operator=(GgufFile&&) noexcept = default;
GgufFile::~GgufFile() = default;

const std::string& GgufFile::path() const { return state_->path; }
int32_t GgufFile::num_parts() const { return static_cast<int32_t>(state_->parts.size()); }
const GgufEntry* GgufFile::find(std::string_view key) const { return state_->parts[0].find(key); }
const std::vector<GgufTensor>& GgufFile::tensors() const { return state_->tensors; }

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
    const auto& all = state_->tensors;
    const auto found =
        std::lower_bound(all.begin(), all.end(), name,
                         [](const GgufTensor& tensor, std::string_view n) { return tensor.name < n; });
    return found != all.end() && found->name == name ? &*found : nullptr;
}

void GgufFile::drop_pages() const {
    for (const MappedFile& file : state_->files) file.drop_pages();
}

template <typename Fits>
Result<const GgufEntry*> GgufFile::need(std::string_view key, std::string_view wanted,
                                        Fits fits) const {
    const GgufEntry* entry = find(key);
    if (!entry) return bad(path(), ": key ", key, " is missing; needed as ", wanted);
    if (!fits(*entry)) {
        return bad(path(), ": key ", key, " is ", gguf_type_text(*entry), ", must be ", wanted);
    }
    return entry;
}

Result<std::string_view> GgufFile::get_string(std::string_view key) const {
    const auto fits = [](const GgufEntry& entry) { return entry.type == GgufType::kString; };
    TRY(const GgufEntry* entry, need(key, "string", fits));
    return std::string_view(reinterpret_cast<const char*>(entry->data.data()), entry->data.size());
}

Result<bool> GgufFile::get_bool(std::string_view key) const {
    const auto fits = [](const GgufEntry& entry) { return entry.type == GgufType::kBool; };
    TRY(const GgufEntry* entry, need(key, "bool", fits));
    return entry->data[0] != std::byte{0};
}

Result<int64_t> GgufFile::get_int(std::string_view key) const {
    const auto fits = [](const GgufEntry& entry) { return as_int(entry).has_value(); };
    TRY(const GgufEntry* entry, need(key, "an integer below 2^63", fits));
    return *as_int(*entry);
}

Result<double> GgufFile::get_float(std::string_view key) const {
    const auto fits = [](const GgufEntry& entry) {
        return entry.type == GgufType::kF32 || entry.type == GgufType::kF64;
    };
    TRY(const GgufEntry* entry, need(key, "f32", fits));
    const std::byte* data = entry->data.data();
    return entry->type == GgufType::kF32 ? static_cast<double>(load<float>(data))
                                         : load<double>(data);
}

Result<std::vector<std::string_view>> GgufFile::get_strings(std::string_view key) const {
    const auto fits = [](const GgufEntry& entry) {
        return entry.type == GgufType::kArray && entry.element_type == GgufType::kString;
    };
    TRY(const GgufEntry* entry, need(key, "array of string", fits));
    std::vector<std::string_view> strings;
    strings.reserve(entry->count);
    const std::byte* at = entry->data.data();  // The lengths were checked when it was parsed.
    for (uint64_t i = 0; i < entry->count; ++i) {
        const auto length = load<uint64_t>(at);
        strings.emplace_back(reinterpret_cast<const char*>(at + 8), length);
        at += 8 + length;
    }
    CHECK(at == entry->data.data() + entry->data.size());
    return strings;
}

template <typename T>
Result<std::vector<T>> GgufFile::get_array(std::string_view key, GgufType element,
                                           std::string_view wanted) const {
    const auto fits = [element](const GgufEntry& entry) {
        return entry.type == GgufType::kArray && entry.element_type == element;
    };
    TRY(const GgufEntry* entry, need(key, wanted, fits));
    std::vector<T> values(entry->count);
    // Copied, because the file does not align its arrays.
    if (!values.empty()) std::memcpy(values.data(), entry->data.data(), entry->data.size());
    return values;
}

Result<std::vector<float>> GgufFile::get_f32s(std::string_view key) const {
    return get_array<float>(key, GgufType::kF32, "array of f32");
}

Result<std::vector<int32_t>> GgufFile::get_i32s(std::string_view key) const {
    return get_array<int32_t>(key, GgufType::kI32, "array of i32");
}

Result<std::string_view> GgufFile::get_bytes(std::string_view key) const {
    const auto fits = [](const GgufEntry& entry) {
        return entry.type == GgufType::kArray &&
               (entry.element_type == GgufType::kU8 || entry.element_type == GgufType::kI8);
    };
    TRY(const GgufEntry* entry, need(key, "array of u8", fits));
    return std::string_view(reinterpret_cast<const char*>(entry->data.data()), entry->data.size());
}

}  // namespace weir
