#pragma once

#include <string>

#include "base/result.h"
#include "tokenizer/jinja_interp.h"
#include "tokenizer/jinja_value.h"

namespace weir::jinja {

/// repr(1.5), repr(1e21), repr(float("nan")) as Python writes them.
std::string float_text(double value);
/// Python's repr of a text, quotes and escapes included.
std::string text_repr(std::string_view text, bool ascii_only = false);
/// str() or repr(); stops early when the text overflows or the meter is exhausted.
void append_str(Text& out, const Value& value, Meter& meter);
void append_repr(Text& out, const Value& value, Meter& meter);

struct JsonStyle {
    bool ensure_ascii = false;
    bool sort_keys = false;
    bool has_indent = false;
    std::string indent;  // One level.
    std::string item_separator = ", ";
    std::string key_separator = ": ";
};
/// json.dumps of Python. Fails for what JSON lacks, with Python's text.
Result<Text> to_json(const Value& value, const JsonStyle& style, Meter& meter);

/// "format" % args.
Result<Text> percent_format(Interp& interp, const Text& format, const Value& args);
/// "format".format(...).
Result<Text> brace_format(Interp& interp, const Text& format, const Args& args);

constexpr int64_t kWidthMax = 1'000'000;  // Of a padded field.
constexpr int64_t kPrecisionMax = 300;

/// How one value is to be written: the common part of % and {}.
struct NumberStyle {
    char type = '\0';   // d, x, f, g, s ...; 0: by the value.
    char sign = '-';    // '+', ' ' or '-'.
    char align = '\0';  // '<', '>', '^', '=', 'c' (str.center); 0: by the type.
    char grouping = '\0';
    bool alternate = false;
    std::string fill = " ";
    int64_t width = 0;
    int64_t precision = -1;
};
/// Fails when value and type do not go together; `value` is a number.
Result<std::string> number_text(const Value& value, const NumberStyle& style);
/// "0x" for x and so on.
std::string radix_prefix(char type);
/// Fills up to style.width characters.
Text padded(const Text& text, const NumberStyle& style, char default_align);

}  // namespace weir::jinja
