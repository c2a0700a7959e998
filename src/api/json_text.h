#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <span>
#include <string>

#include "base/types.h"

namespace weir {

// Direct appends for what is written per token: no Json value, no allocation but the buffer's.

template <std::integral T>
void append_number(std::string& out, T value) {
    std::array<char, 24> digits;
    out.append(digits.data(),
               std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

/// A log-probability; -inf is written -9999.0 as vLLM does, since JSON has no infinity.
inline void append_logprob(std::string& out, float value) {
    if (!std::isfinite(value)) {
        out += "-9999.0";
        return;
    }
    std::array<char, 32> digits;
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    const std::string_view text(digits.data(), static_cast<size_t>(end - digits.data()));
    out += text;
    if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

inline void append_comma(std::string& list) {
    if (!list.empty()) list += ',';
}

/// [1,2,3]
inline void append_ids(std::string& out, std::span<const TokenId> ids) {
    out += '[';
    for (size_t i = 0; i < ids.size(); ++i) {
        if (i > 0) out += ',';
        append_number(out, ids[i]);
    }
    out += ']';
}

/// The ids if they were asked for, else null.
inline void append_ids_or_null(std::string& out, std::span<const TokenId> ids, bool wanted) {
    if (wanted) {
        append_ids(out, ids);
    } else {
        out += "null";
    }
}

}  // namespace weir
