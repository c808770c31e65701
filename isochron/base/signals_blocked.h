// Threads made while one of these lives get no signals, which belong to the user's threads; save those by which a stack
// is asked for (native_stack.h).
#pragma once

#include <pthread.h>
#include <signal.h>

namespace isochron {

inline constexpr int kStackSignals = 3;  // the last real-time signals but one, two and three

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (int i = 1; i <= kStackSignals; ++i) sigdelset(&all, SIGRTMAX - i);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace isochron
