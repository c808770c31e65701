// Looks on while a model trains, and tells when no step comes to its end.
//
//   Watchdog watchdog(timeline, progress, {.action = OnStall::warn});
//   while (…) { …; progress.fetch_add(1); }
//
//   isochron: warning: watchdog: no step has ended for 14.2 s (they usually take 1.3 ms): stuck in epoch 2 of 5, step
//   38 of 100
//     phase     input: next batch, for 14.2 s
//     pipeline  map(decode) has been at element 1187 for 14.2 s, thread 41822 (isochron-data), asleep in
//     hrtimer_nanosleep stack     clock_nanosleep in libc.so.6
//               decode(Tensor const&) in program
//     machine   memory pressure 0 %, I/O pressure 0 %, CPU pressure 3 %; 21 GB of memory available
//
// How long a step may take is learnt from those before it; the first gets a limit of its own. It says so once, and then
// after ever longer times. A step that is slow rather than stuck (elements of the pipeline come, spans end) is called
// so, with the pace. One thread serves all trainings of a process and looks four times a second; the training thread
// pays one addition a step. `abort` ends waits for input; user code that a training thread runs itself can't be stopped
// from outside, and the report says so.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "isochron/nn/model.h"
#include "isochron/timeline/timeline.h"

namespace isochron {

class Watchdog {
 public:
  // Watches the calling thread. `progress` grows with every step, of training and of validation.
  Watchdog(Timeline& timeline, const std::atomic<int64_t>& progress, WatchdogOptions options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // For the report: where training is. steps 0: unknown.
  void begin_epoch(int epoch, int epochs, int64_t steps);

  // Up when the training is to end (OnStall::abort).
  std::atomic<bool>& gives_up();
  // The last report, or empty.
  std::string report() const;

 private:
  struct Watched;
  class Thread;
  std::shared_ptr<Watched> watched_;
};

}  // namespace isochron
