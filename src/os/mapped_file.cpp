#include "os/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "os/file.h"

namespace weir {

Result<MappedFile> MappedFile::open(const std::string& path) {
    TRY(const OpenedFile opened, open_regular_file(path));
    MappedFile file;
    file.path_ = path;
    file.size_ = static_cast<size_t>(opened.size);
    if (file.size_ > 0) {  // mmap refuses a length of 0; an empty file is an empty span.
        void* data = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, opened.fd, 0);
        if (data == MAP_FAILED) {
            const int code = errno;
            ::close(opened.fd);
            file.size_ = 0;
            return fail(ErrorCode::kIo, system_error_text("cannot map", path, code));
        }
        file.data_ = static_cast<const std::byte*>(data);
    }
    ::close(opened.fd);
    return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    if (this != &other) {
        unmap();
        path_ = std::move(other.path_);
        data_ = std::exchange(other.data_, nullptr);
        size_ = std::exchange(other.size_, 0);
    }
    return *this;
}

MappedFile::~MappedFile() { unmap(); }

void MappedFile::unmap() {
    if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
    data_ = nullptr;
    size_ = 0;
}

void MappedFile::prefetch() const {
    if (data_) ::madvise(const_cast<std::byte*>(data_), size_, MADV_WILLNEED);
}

void MappedFile::drop_pages() const {
    if (data_) ::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
}

}  // namespace weir
