#include "os/clock.h"

#include <ctime>

namespace weir {

namespace {

int64_t clock_us(clockid_t id) {
    timespec now{};
    ::clock_gettime(id, &now);
    return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

}  // namespace

int64_t monotonic_us() { return clock_us(CLOCK_MONOTONIC); }

int64_t wall_us() { return clock_us(CLOCK_REALTIME); }

int64_t wall_seconds() { return clock_us(CLOCK_REALTIME) / 1'000'000; }

}  // namespace weir
