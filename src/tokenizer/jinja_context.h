#pragma once

#include <span>
#include <string_view>

#include "base/json.h"
#include "tokenizer/jinja_interp.h"

namespace weir::jinja {

/// A global name of a rendering. Later ones of the same name win.
struct ContextEntry {
    std::string_view name;
    const Json* value;
    bool trusted;
};

/// Renders a parsed template. Names, values and the template must outlive the call, nothing else
/// does. Fails with kBadTemplate: "line N: what", or the words that the template raised.
Result<Text> render(const Template& source, const Limits& limits, Now now,
                    std::span<const ContextEntry> context);

}  // namespace weir::jinja
