#pragma once

#include <string>
#include <string_view>

namespace weir::jinja {

// What Python's str knows about characters.

bool is_alnum(char32_t c);
bool is_alpha(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
/// repr() writes it as it is.
bool is_printable(char32_t c);
/// Appends the upper or lower case of c: sometimes several characters.
void append_upper(std::string& out, char32_t c);
void append_lower(std::string& out, char32_t c);
void append_title(std::string& out, char32_t c);

}  // namespace weir::jinja
