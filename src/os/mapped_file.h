#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace weir {

/// A regular file, mapped read-only as a whole. Move-only; bytes() stays at its address when the
/// object moves. A file that another process shortens while it is mapped makes later reads fault
/// (SIGBUS), as with every mmap; replace model files by rename.
class MappedFile {
   public:
    /// Fails with kFileNotFound (missing, no permission, not a regular file) or kIo.
    static Result<MappedFile> open(const std::string& path);

    MappedFile() = default;
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    std::span<const std::byte> bytes() const { return {data_, size_}; }
    size_t size() const { return size_; }
    const std::string& path() const { return path_; }

    /// Starts to read the file into the page cache; returns at once.
    void prefetch() const;
    /// Takes the pages out of this process's resident memory; a later read faults them in again.
    void drop_pages() const;

   private:
    void unmap();

    std::string path_;
    const std::byte* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace weir
