#pragma once

#include <cstdint>

namespace weir {

/// Microseconds since an arbitrary start, never going back: for durations and deadlines.
int64_t monotonic_us();

/// Microseconds since 1970 (UTC): for time stamps. May jump when the machine's clock is set.
int64_t wall_us();

/// Whole seconds since 1970 (UTC): `created` in answers.
int64_t wall_seconds();

}  // namespace weir
