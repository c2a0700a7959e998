#include "model/family.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace weir {

namespace {

#define WEIR_FAMILY(...) Family{__VA_ARGS__},
constexpr Family kFamilies[] = {
#include "model/families.def"
};
#undef WEIR_FAMILY

}  // namespace

std::span<const Family> families() { return kFamilies; }

const Family* find_family(std::string_view name) {
    for (const Family& family : kFamilies) {
        if (family.name == name) return &family;
    }
    return nullptr;
}

std::string family_names() {
    std::vector<std::string> names;
    for (const Family& family : kFamilies) names.emplace_back(family.name);
    std::sort(names.begin(), names.end());
    return join(names, ", ");
}

}  // namespace weir
