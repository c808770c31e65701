// One clock for everything: CLOCK_MONOTONIC in nanoseconds; the time of day where files tell it to others.
#pragma once

#include <cstdint>

namespace isochron {

// Now, on CLOCK_MONOTONIC.
int64_t monotonic_ns();

// Since 1970, by the clock on the wall: it may jump.
int64_t unix_ns();

// When this process was started (by exec), on the same clock; 10 ms resolution of the kernel at worst.
int64_t process_start_ns();

inline double seconds_between(int64_t from_ns, int64_t to_ns) { return static_cast<double>(to_ns - from_ns) * 1e-9; }

}  // namespace isochron
