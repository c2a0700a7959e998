#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/gguf_part.h"

namespace weir {

/// A GGUF model: one file, or all parts of a split one. Keys come from the first part, tensors from
/// all. Movable; views and strings stay valid while it lives. Thread-safe for reading.
class GgufFile {
   public:
    /// Maps the file; if it is a part of a split model (any part), all the others beside it too.
    /// Fails with kFileNotFound or kBadModelFile; the text begins with the path.
    static Result<GgufFile> open(const std::string& path);
    /// The same for bytes in memory, without parts beside them; `name` stands for the path.
    static Result<GgufFile> from_bytes(std::string_view content, std::string name);

    GgufFile(GgufFile&&) noexcept;
    GgufFile& operator=(GgufFile&&) noexcept;
    ~GgufFile();

    const std::string& path() const;
    int32_t num_parts() const;

    /// Null if there is no such key.
    const GgufEntry* find(std::string_view key) const;
    bool has(std::string_view key) const { return find(key) != nullptr; }

    // Typed access. Fails with kBadModelFile if the key is missing or has another type; the text
    // names path, key, found and needed type. get_int takes every integer type, get_float f32 and
    // f64; arrays must have exactly the element type in the name.
    Result<std::string_view> get_string(std::string_view key) const;
    Result<bool> get_bool(std::string_view key) const;
    Result<int64_t> get_int(std::string_view key) const;
    Result<double> get_float(std::string_view key) const;
    Result<std::vector<std::string_view>> get_strings(std::string_view key) const;
    Result<std::vector<float>> get_f32s(std::string_view key) const;
    Result<std::vector<int32_t>> get_i32s(std::string_view key) const;
    /// u8 or i8 elements (a precompiled character map).
    Result<std::string_view> get_bytes(std::string_view key) const;

    /// Sorted by name.
    const std::vector<GgufTensor>& tensors() const;
    /// Null if there is no such tensor.
    const GgufTensor* find_tensor(std::string_view name) const;

    void drop_pages() const;

   private:
    struct State;
    explicit GgufFile(std::unique_ptr<State> state);
    template <typename Fits>
    Result<const GgufEntry*> need(std::string_view key, std::string_view wanted, Fits fits) const;
    template <typename T>
    Result<std::vector<T>> get_array(std::string_view key, GgufType element,
                                     std::string_view wanted) const;

    std::unique_ptr<State> state_;
};

}  // namespace weir
