#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace weir {

void check_failed(const char* file, int line, const char* condition) {
    std::fprintf(stderr, "%s:%d: CHECK(%s) failed: this is a bug in weir\n", file, line, condition);
    std::fflush(stderr);
    std::abort();
}

}  // namespace weir
