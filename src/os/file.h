#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace weir {

/// "cannot open /x/y: No such file or directory".
std::string system_error_text(std::string_view what, std::string_view path, int error_number);

/// An open descriptor; the caller closes it.
struct OpenedFile {
    int fd;
    int64_t size;  // Bytes at the time of opening; 0 for files of /proc.
};

/// Opens for reading, with O_CLOEXEC; never blocks on a pipe. Fails with kFileNotFound if there is
/// no such file, if it may not be read, or if it is a directory, pipe, socket or device.
Result<OpenedFile> open_regular_file(const std::string& path);

constexpr int64_t kReadFileBytesMax = 256 * kMiB;

/// The whole file, also one without a size (/proc). Fails if it holds more than `bytes_max`.
Result<std::string> read_file(const std::string& path, int64_t bytes_max = kReadFileBytesMax);

/// At most the first `bytes_max` bytes.
Result<std::string> read_file_start(const std::string& path, int64_t bytes_max);

/// Anything of that name: file, directory, socket. A dangling link does not exist.
bool path_exists(const std::string& path);
bool is_directory(const std::string& path);
bool is_regular_file(const std::string& path);

/// Names (no paths) in the directory, without "." and "..", sorted by bytes. Fails above 100,000.
Result<std::vector<std::string>> list_directory(const std::string& path);

/// Readers see the old or the new content, never a part: writes NAME.tmp.PID beside it, syncs and
/// renames. On failure (full disk) the old file stays and the temporary one is removed.
Result<void> write_file_atomic(const std::string& path, std::string_view content);

/// Creates the directory and the missing ones above it.
Result<void> make_directories(const std::string& path);

}  // namespace weir
