// A word one thread changes and others wait for: they spin for a bounded time, then sleep in the kernel.
// (std::atomic::wait spins for a time of its own choosing and has no way to change it.)
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

#include "isochron/base/clock.h"

namespace isochron {

inline void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

struct ThreadSignal {
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleepers{0};

  // Waits until done(value); what happened before the change is visible afterwards. Returns about how long it took, 0
  // where that is too short to matter.
  template <class Done>
  int64_t wait(Done done, int64_t spin_ns) {
    uint32_t seen = value.load(std::memory_order_acquire);
    if (done(seen)) return 0;
    const int64_t begin = monotonic_ns();
    int64_t waited = 0;
    do {
      for (int i = 0; i < 32; ++i) {
        cpu_pause();
        if (done(seen = value.load(std::memory_order_acquire))) return waited;
      }
    } while ((waited = monotonic_ns() - begin) < spin_ns);
    sleepers.fetch_add(1);
    // The kernel compares once more under its lock, so a change before the sleep is never missed.
    while (!done(seen = value.load())) syscall(SYS_futex, &value, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
    sleepers.fetch_sub(1);
    return monotonic_ns() - begin;
  }

  // To be called after a sequentially consistent change of value.
  void wake() {
    if (sleepers.load() != 0) syscall(SYS_futex, &value, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }
};

}  // namespace isochron
