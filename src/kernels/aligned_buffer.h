#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace weir {

/// Zeroed pages straight from the kernel: they cost memory only once touched, and start at a page
/// border. Moves, does not copy.
class AlignedBuffer {
   public:
    AlignedBuffer() = default;
    AlignedBuffer(AlignedBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~AlignedBuffer();

    /// Null if the kernel refuses the address space. `huge_pages` asks for them where allowed.
    static std::optional<AlignedBuffer> reserve(int64_t bytes, bool huge_pages);

    std::byte* data() const { return data_; }
    int64_t bytes() const { return bytes_; }
    template <typename T>
    T* as() const {
        return reinterpret_cast<T*>(data_);
    }

   private:
    std::byte* data_ = nullptr;
    int64_t bytes_ = 0;
};

}  // namespace weir
