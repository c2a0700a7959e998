#pragma once

namespace weir {

/// Prints `file:line: CHECK(condition) failed` to stderr and aborts. Never returns.
[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace weir

/// weir called itself wrongly: always on, also in release builds.
#define CHECK(condition)                                          \
    do {                                                          \
        if (!(condition)) [[unlikely]] {                          \
            ::weir::check_failed(__FILE__, __LINE__, #condition); \
        }                                                         \
    } while (false)

/// For kernels only: checked in debug and sanitizer builds.
#ifdef WEIR_DCHECK
#define DCHECK(condition) CHECK(condition)
#else
#define DCHECK(condition) \
    do {                  \
    } while (false)
#endif
