#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

/// Python's datetime.strftime in English and UTC; unknown directives stay as they are. Pure: no
/// time zone of the machine, no locale.
std::string strftime_utc(std::string_view format, int64_t unix_s);

}  // namespace weir
