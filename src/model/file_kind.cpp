#include "model/file_kind.h"

#include "base/text.h"

namespace weir {

namespace {

bool is_html(std::string_view start) {
    const std::string lower = to_lower(trim(start.substr(0, 256)));
    return lower.starts_with("<!doctype html") || lower.starts_with("<html");
}

bool is_old_ggml(std::string_view start) {
    // ggml, ggmf, ggjt, ggla as little-endian numbers.
    for (const std::string_view magic : {"lmgg", "fmgg", "tjgg", "algg"}) {
        if (start.starts_with(magic)) return true;
    }
    return false;
}

}  // namespace

std::string describe_file_kind(std::string_view start) {
    using std::string_view_literals::operator""sv;
    if (start.starts_with("version https://git-lfs")) {
        return "; it looks like a Git LFS pointer: the model itself was not downloaded (git lfs pull)";
    }
    if (is_html(start)) {
        return "; it looks like a web page: the download got an error or login page instead";
    }
    if (start.size() > 8 && start[8] == '{' && start.substr(4, 4) == "\0\0\0\0"sv) {
        return "; it looks like a safetensors file: those come later, give a .gguf file";
    }
    if (start.starts_with("PK\x03\x04") || start.starts_with("\x80\x02"sv)) {
        return "; it looks like a PyTorch pickle (.bin, .pt): those are not read, give a .gguf file";
    }
    if (is_old_ggml(start)) {
        return "; it looks like a GGML file from before GGUF: convert it to GGUF";
    }
    if (start.starts_with("\x1f\x8b") || start.starts_with("\x28\xb5\x2f\xfd") ||
        start.starts_with("\xfd"
                          "7zXZ")) {
        return "; it looks like a compressed file: unpack it first";
    }
    if (trim(start).starts_with("{")) return "; it looks like JSON: give the .gguf file beside it";
    return "";
}

}  // namespace weir
