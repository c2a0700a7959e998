#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "base/check.h"

namespace weir {

/// A new empty folder that is removed with all its content. For tests.
class TempFolder {
   public:
    TempFolder() {
        const char* root = std::getenv("TMPDIR");
        path_ = std::string(root && *root ? root : "/tmp") + "/weir-test-XXXXXX";
        CHECK(::mkdtemp(path_.data()) != nullptr);
    }
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;

    const std::string& path() const { return path_; }
    std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

    /// Writes a file, with the folders above it; returns its path.
    std::string write(std::string_view name, std::string_view content) const {
        const std::string path = file(name);
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        std::ofstream out(path, std::ios::binary);
        out.write(content.data(), static_cast<std::streamsize>(content.size()));
        CHECK(out.good());
        return path;
    }

   private:
    std::string path_;
};

}  // namespace weir
