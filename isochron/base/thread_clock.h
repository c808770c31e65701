// CPU time of the calling thread in nanoseconds: unlike the wall clock it does not count neighbours that take the core.
#pragma once

#include <time.h>

#include <cstdint>

namespace isochron {

inline int64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace isochron
