// A way to end the wait of a thread that somebody watches: waits that may last for ever ask now and then.
//
//   std::atomic<bool> give_up{false};
//   InterruptScope here(give_up, true);      // in the thread that may have to wait
//   … check_interrupt("input");              // in its wait loops: StallError once the flag is up
#pragma once

#include <atomic>
#include <utility>

#include "isochron/base/error.h"

namespace isochron {

class InterruptScope {
 public:
  // `may_stop`: the flag may come up; otherwise somebody only looks on.
  InterruptScope(const std::atomic<bool>& flag, bool may_stop) : before_(std::exchange(current(), {&flag, may_stop})) {}
  ~InterruptScope() { current() = before_; }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  struct Watch {
    const std::atomic<bool>* flag = nullptr;
    bool may_stop = false;
  };
  static Watch& current() {
    thread_local Watch watch;
    return watch;
  }

 private:
  Watch before_;
};

// Whether somebody looks on, and whether that one may end what this thread waits for: then it should wait for others
// rather than run code that may never return.
inline bool watched_thread() { return InterruptScope::current().flag != nullptr; }
inline bool stoppable_thread() { return InterruptScope::current().may_stop; }

inline void check_interrupt(const char* what) {
  const std::atomic<bool>* flag = InterruptScope::current().flag;
  if (flag && flag->load(std::memory_order_relaxed)) fail<StallError>(what, "ended by the watchdog");
}

}  // namespace isochron
