// What threads had of the cores, in nanoseconds.
#pragma once

#include <time.h>

#include <cstdint>

namespace isochron {

// CPU time of the calling thread: unlike the wall clock it does not count neighbours that take the core.
inline int64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// How long the threads of this process, or one of them by its number, were ready to run and got no core; 0 where the
// kernel does not say.
int64_t run_delay_ns(int thread_id = 0);

}  // namespace isochron
