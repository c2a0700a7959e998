#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// The name of a part of a split model: "m-00002-of-00003.gguf".
struct SplitName {
    std::string stem;    // "m", with the folder if there was one.
    int32_t number = 0;  // From 1.
    int32_t count = 0;
};

/// Nothing if the name has not this form; "best-of-breed.gguf" has not.
std::optional<SplitName> parse_split_name(std::string_view path);

/// The path of part `number` (from 1) of the same model.
std::string split_path(const SplitName& name, int32_t number);

}  // namespace weir
