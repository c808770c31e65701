#include "isochron/exec/team_choice.h"

#include <algorithm>

namespace isochron {
namespace {

constexpr int kRunsBeforeTrial = 8, kTrialRuns = 5;
constexpr double kMemory = 1.0 / 8;  // weight of the newest run in the usual time
constexpr double kOutlier = 4;       // no single run counts for more than this many times what one thread would need
constexpr double kHopeless = 4;      // a run on trial this much slower than usual ends the trial
constexpr double kBetter = 0.9;
constexpr int64_t kFirstGapNs = 20'000'000, kLastGapNs = 1'000'000'000;
constexpr int64_t kFirstLookNs = 15'000'000, kLastLookNs = 10'000'000'000;
constexpr double kShortRunNs = 2e6;  // fewer threads are tried for no reason where that costs little

}  // namespace

void TeamChoice::settle(int threads, double duration_ns) {
  settled_ = threads;
  fewer_ = threads / 2;
  usual_ns_ = best_ns_ = duration_ns;
  runs_ = 0;
  gap_ns_ = kFirstGapNs;
}

int TeamChoice::threads(int wanted, int64_t now_ns) {
  if (wanted != wanted_) {
    wanted_ = wanted;
    trial_ = 0;
    next_trial_ns_ = 0;
    settle(wanted, 0);
    look_gap_ns_ = kFirstLookNs;
    next_look_ns_ = now_ns + look_gap_ns_;
  }
  if (trial_ == 0 && wanted > 1 && runs_ >= kRunsBeforeTrial && now_ns >= next_trial_ns_) {
    // Even alone a thread needs no longer than all of them together.
    const bool crowded = settled_ > 1 && usual_ns_ > 1.5 * settled_ * best_ns_;
    trial_ = crowded ? fewer_ : settled_ < wanted ? std::min(wanted, settled_ * 2) : 0;
    looking_ = trial_ == 0 && now_ns >= next_look_ns_ && usual_ns_ < kShortRunNs;
    if (looking_) {
      trial_ = fewer_;
      look_gap_ns_ = std::min(look_gap_ns_ * 8, kLastLookNs);
      next_look_ns_ = now_ns + look_gap_ns_;
    }
    if (trial_ != 0) {
      runs_ = 0;
      trial_ns_ = 0;
    }
  }
  return trial_ != 0 ? trial_ : settled_;
}

void TeamChoice::ran(int64_t duration_ns, int64_t now_ns) {
  const auto duration = static_cast<double>(duration_ns);
  if (trial_ == 0) {
    best_ns_ = runs_ == 0 && usual_ns_ == 0 ? duration : std::min(best_ns_, duration);
    // The first runs touch memory for the first time and wake threads: they tell how quick it can be, not how it is.
    const double counted = std::min(duration, kOutlier * settled_ * best_ns_);
    usual_ns_ = runs_ < kRunsBeforeTrial ? best_ns_ : usual_ns_ + (counted - usual_ns_) * kMemory;
    ++runs_;
    return;
  }
  const bool hopeless = duration > kHopeless * usual_ns_;
  // The first run of a trial also wakes threads, or finds its data in another CPU's cache.
  if (runs_++ > 0) trial_ns_ += duration;
  if (!hopeless && runs_ < kTrialRuns) return;
  const double trial_ns = trial_ns_ / std::max(1, runs_ - 1);
  if (!hopeless && trial_ns < kBetter * usual_ns_) {
    settle(trial_, trial_ns);
  } else {
    if (trial_ < settled_) fewer_ = fewer_ > 1 ? fewer_ / 2 : settled_ / 2;
    if (!looking_) gap_ns_ = std::min(gap_ns_ * 2, kLastGapNs);
    runs_ = 0;
  }
  next_trial_ns_ = now_ns + gap_ns_;
  trial_ = 0;
}

}  // namespace isochron
