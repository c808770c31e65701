// How many threads of the team run a plan: all of them, and fewer while other processes want the CPUs.
//
//   const int threads = choice.threads(team.size(), now);
//   … run on that many …
//   choice.ran(nanoseconds, later);
//
// Threads that meet at barriers every few microseconds lose a scheduler's slice (milliseconds) whenever one of them has
// to share its CPU; then one thread alone is the faster team. It is found out by trying: when runs take several times
// their best, half the threads get a few runs, then a quarter, down to one; they stay if those were quicker; and now
// and then, ever more rarely while it fails, twice as many get a few. Where runs are short, fewer threads are also
// tried now and then for no reason: on a machine that is crowded from the start, no run has ever been quick. The shares
// of the work stay the same, so results do not change.
#pragma once

#include <cstdint>

namespace isochron {

class TeamChoice {
 public:
  int threads(int wanted, int64_t now_ns);
  void ran(int64_t duration_ns, int64_t now_ns);

 private:
  void settle(int threads, double duration_ns);

  int wanted_ = 0, settled_ = 0;
  int fewer_ = 0;  // threads to try next when it is crowded
  int trial_ = 0;  // threads on trial; 0: none
  int runs_ = 0;   // since it settled, or of the trial
  double usual_ns_ = 0, best_ns_ = 0, trial_ns_ = 0;
  int64_t next_trial_ns_ = 0, gap_ns_ = 0;
  int64_t next_look_ns_ = 0, look_gap_ns_ = 0;
  bool looking_ = false;  // the trial is one for no reason
};

}  // namespace isochron
