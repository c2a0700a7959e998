#pragma once

#include <string_view>

namespace weir {

/// The page at "/": chat, facts and live numbers, without outside files. From index.html.
std::string_view page_html();

}  // namespace weir
