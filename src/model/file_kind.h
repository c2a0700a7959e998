#pragma once

#include <string>
#include <string_view>

namespace weir {

/// What a file that is no GGUF seems to be, by its first bytes (4 KiB suffice), as the end of a
/// sentence: "; it looks like a safetensors file: ...", or "" if nothing is known.
std::string describe_file_kind(std::string_view start);

}  // namespace weir
