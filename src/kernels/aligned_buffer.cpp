#include "kernels/aligned_buffer.h"

#include <sys/mman.h>

#include <algorithm>

namespace weir {

AlignedBuffer::~AlignedBuffer() {
    if (data_) munmap(data_, static_cast<size_t>(bytes_));
}

std::optional<AlignedBuffer> AlignedBuffer::reserve(int64_t bytes, bool huge_pages) {
    AlignedBuffer buffer;
    buffer.bytes_ = std::max<int64_t>(bytes, 1);
    void* address = mmap(nullptr, static_cast<size_t>(buffer.bytes_), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) return std::nullopt;
    buffer.data_ = static_cast<std::byte*>(address);
    if (huge_pages) madvise(address, static_cast<size_t>(buffer.bytes_), MADV_HUGEPAGE);
    return buffer;
}

}  // namespace weir
