#pragma once

#include <span>
#include <string_view>

#include "tokenizer/jinja_interp.h"

namespace weir::jinja {

struct Filter {
    std::string_view name;
    Builtin function;
};

// Each file of filters has its table; find_filter() looks through all.
std::span<const Filter> text_filters();
std::span<const Filter> number_filters();
std::span<const Filter> list_filters();
std::span<const Filter> picking_filters();

}  // namespace weir::jinja
