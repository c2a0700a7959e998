#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"

namespace weir {

/// Text out of a model file, short and without control characters, for a message.
inline std::string quoted(std::string_view text) {
    std::string out;
    append_json_string(out, shorten(text, 60));
    return out;
}

}  // namespace weir
