#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/text.h"

namespace weir {

namespace {

constexpr size_t kDirectoryEntriesMax = 100'000;

ErrorCode code_of(int error_number) {
    switch (error_number) {
        case ENOENT:
        case ENOTDIR:
        case EACCES:
        case EPERM:
        case ELOOP:
        case ENAMETOOLONG: return ErrorCode::kFileNotFound;
        default: return ErrorCode::kIo;
    }
}

tl::unexpected<Error> system_failure(std::string_view what, std::string_view path, int number) {
    return fail(code_of(number), system_error_text(what, path, number));
}

/// Reads until `bytes_max` bytes or the end; short reads and EINTR are ordinary.
Result<std::string> read_up_to(int fd, const std::string& path, int64_t size, int64_t bytes_max) {
    std::string text;
    text.reserve(static_cast<size_t>(std::min(size, bytes_max)));
    std::array<char, 65536> buffer;
    while (static_cast<int64_t>(text.size()) < bytes_max) {
        const int64_t room = bytes_max - static_cast<int64_t>(text.size());
        const ssize_t count =
            ::read(fd, buffer.data(), std::min(buffer.size(), static_cast<size_t>(room)));
        if (count < 0) {
            if (errno == EINTR) continue;
            return system_failure("cannot read", path, errno);
        }
        if (count == 0) break;
        text.append(buffer.data(), static_cast<size_t>(count));
    }
    return text;
}

/// 0, or the error number.
int write_all(int fd, std::string_view content) {
    while (!content.empty()) {
        const ssize_t count = ::write(fd, content.data(), content.size());
        if (count < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        content.remove_prefix(static_cast<size_t>(count));
    }
    return 0;
}

}  // namespace

std::string system_error_text(std::string_view what, std::string_view path, int error_number) {
    std::array<char, 256> buffer{};
    // The GNU form returns the text; the buffer is only used for unknown numbers.
    const char* reason = ::strerror_r(error_number, buffer.data(), buffer.size());
    return concat(what, " ", path, ": ", reason);
}

Result<OpenedFile> open_regular_file(const std::string& path) {
    // A NUL would cut the name silently and open another file.
    if (path.empty() || path.find('\0') != std::string::npos) {
        return fail(ErrorCode::kFileNotFound,
                    path.empty() ? "an empty file name" : "a file name with a NUL byte");
    }
    int fd = -1;
    do {
        fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) return system_failure("cannot open", path, errno);
    struct stat status {};
    if (::fstat(fd, &status) != 0) {
        const int number = errno;
        ::close(fd);
        return system_failure("cannot stat", path, number);
    }
    if (!S_ISREG(status.st_mode)) {
        ::close(fd);
        return fail(ErrorCode::kFileNotFound,
                    concat("cannot open ", path, ": it is ",
                           S_ISDIR(status.st_mode) ? "a directory" : "not a regular file"));
    }
    return OpenedFile{.fd = fd, .size = status.st_size};
}

Result<std::string> read_file(const std::string& path, int64_t bytes_max) {
    TRY(const OpenedFile opened, open_regular_file(path));
    // One byte more than allowed tells a file that fits exactly from one that is too large.
    Result<std::string> text = read_up_to(opened.fd, path, opened.size, bytes_max + 1);
    ::close(opened.fd);
    if (text && static_cast<int64_t>(text->size()) > bytes_max) {
        return fail(ErrorCode::kIo, concat("cannot read ", path, ": it has more than ", bytes_max,
                                           " bytes, the most that is read here"));
    }
    return text;
}

Result<std::string> read_file_start(const std::string& path, int64_t bytes_max) {
    TRY(const OpenedFile opened, open_regular_file(path));
    Result<std::string> text = read_up_to(opened.fd, path, opened.size, bytes_max);
    ::close(opened.fd);
    return text;
}

bool path_exists(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0;
}

bool is_directory(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_regular_file(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
    DIR* directory = ::opendir(path.c_str());
    if (!directory) return system_failure("cannot list", path, errno);
    std::vector<std::string> names;
    for (;;) {
        errno = 0;  // readdir tells its end and its errors apart only by this.
        const dirent* entry = ::readdir(directory);
        if (!entry) break;
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        if (names.size() == kDirectoryEntriesMax) {
            ::closedir(directory);
            return fail(ErrorCode::kIo, concat("cannot list ", path, ": more than ",
                                               kDirectoryEntriesMax, " entries"));
        }
        names.emplace_back(name);
    }
    const int number = errno;
    ::closedir(directory);
    if (number != 0) return system_failure("cannot list", path, number);
    std::sort(names.begin(), names.end());
    return names;
}

Result<void> write_file_atomic(const std::string& path, std::string_view content) {
    const std::string temporary = concat(path, ".tmp.", static_cast<int64_t>(::getpid()));
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return system_failure("cannot write", temporary, errno);
    int number = write_all(fd, content);
    if (number == 0 && ::fsync(fd) != 0) number = errno;
    // close() can report a late write error (NFS, quota).
    if (::close(fd) != 0 && number == 0) number = errno;
    if (number == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) number = errno;
    if (number != 0) {
        ::unlink(temporary.c_str());
        return system_failure("cannot write", path, number);
    }
    return {};
}

Result<void> make_directories(const std::string& path) {
    for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const std::string part = path.substr(0, end);
        if (::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
            return system_failure("cannot create", part, errno);
        }
        if (end == std::string::npos) break;
    }
    if (!is_directory(path)) return system_failure("cannot create", path, ENOTDIR);
    return {};
}

}  // namespace weir
