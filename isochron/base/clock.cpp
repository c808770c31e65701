#include "isochron/base/clock.h"

#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "isochron/base/files.h"
#include "isochron/base/tick_clock.h"

namespace isochron {

namespace {

int64_t read_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

#if defined(__x86_64__)
// The counter of time stamps, where the kernel keeps its own time by it: then it runs evenly and alike on all CPUs.
struct TimeStamps {
  static uint64_t ticks() { return __builtin_ia32_rdtsc(); }
  static int64_t ns() { return read_ns(CLOCK_MONOTONIC); }
  static bool trusted() {
    static const bool by_kernel = [] {
      char name[64];
      read_short_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", name);
      return std::strcmp(name, "tsc\n") == 0;
    }();
    return by_kernel;
  }
};
[[gnu::tls_model("initial-exec")]] constinit thread_local TickClock<TimeStamps> t_clock;
#endif

}  // namespace

int64_t monotonic_ns() {
#if defined(__x86_64__)
  return t_clock.now_ns();
#else
  return read_ns(CLOCK_MONOTONIC);
#endif
}

int64_t unix_ns() { return read_ns(CLOCK_REALTIME); }

int64_t process_start_ns() {
  static const int64_t start = [] {
    // Field 22 of /proc/self/stat: ticks since boot. The command name (field 2) may hold blanks, so count from its ')'.
    char text[1024];
    read_short_file("/proc/self/stat", text);
    const char* rest = std::strrchr(text, ')');
    unsigned long long ticks = 0;
    if (!rest ||
        std::sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                    &ticks) != 1)
      return monotonic_ns();
    // Ticks count from boot (CLOCK_BOOTTIME); move them to the monotonic clock.
    timespec boot{};
    clock_gettime(CLOCK_BOOTTIME, &boot);
    const int64_t suspended = int64_t{boot.tv_sec} * 1'000'000'000 + boot.tv_nsec - monotonic_ns();
    const int64_t from_boot = static_cast<int64_t>(ticks) * (1'000'000'000 / sysconf(_SC_CLK_TCK));
    return from_boot - suspended;
  }();
  return start;
}

}  // namespace isochron
