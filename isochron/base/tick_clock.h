// A clock read off a counter of the CPU, for a third of what asking the kernel costs: ticks since the last look at the
// kernel's clock, times what a tick takes.
//
//   struct Source { static uint64_t ticks(); static int64_t ns(); static bool trusted(); };
//   thread_local TickClock<Source> clock;
//   int64_t now = clock.now_ns();
//
// Contract
// - One thread's own. It never goes back as long as ticks and ns don't, and is never further from ns() than ticks go
//   wrong within kWindowNs: the kernel's clock is looked at again after that.
// - Ticks are gone by only while two stretches in a row found them equally long, to a thousandth. When they jump, stop,
//   or change their pace (a suspended machine, a guest that moves to another host), the kernel is asked until they
//   agree again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace isochron {

template <class Source>
class TickClock {
 public:
  int64_t now_ns() {
    const uint64_t passed = Source::ticks() - at_.ticks;  // enormous where the counter went back
    return passed < window_ ? told_ + scaled(passed) : look();
  }

 private:
  static constexpr int64_t kWindowNs = 10'000'000;
  static constexpr double kAgree = 1e-3;
  static constexpr double kShortest = 1e-2, kLongest = 1e3;  // of ticks, in nanoseconds

  struct Moment {
    uint64_t ticks;
    int64_t ns;
  };

  int64_t scaled(uint64_t ticks) const { return static_cast<int64_t>(static_cast<double>(ticks) * pace_); }

  // Both clocks at once, as nearly as can be had: somebody else may get the CPU between two readings.
  static Moment read() {
    Moment best{};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 3; ++i) {
      const uint64_t before = Source::ticks();
      const int64_t ns = Source::ns();
      const uint64_t apart = Source::ticks() - before;
      if (apart >= least) continue;
      least = apart;
      best = {before + apart / 2, ns};
    }
    return best;
  }

  [[gnu::noinline]] int64_t look() {
    const bool by_ticks = window_ != 0;
    // Nothing later than this has been told.
    told_ = std::max(by_ticks ? told_ + scaled(window_) : told_, Source::ns());
    if (by_ticks || told_ - at_.ns >= kWindowNs) {
      const Moment before = std::exchange(at_, read());
      judge(static_cast<double>(at_.ticks - before.ticks), static_cast<double>(at_.ns - before.ns));
      told_ = std::max(told_, at_.ns);
    }
    return told_;
  }

  void judge(double ticks, double ns) {
    const double last = std::exchange(pace_, ticks > 0 ? ns / ticks : 0);
    const bool agrees = pace_ > kShortest && pace_ < kLongest && std::abs(pace_ - last) <= kAgree * last;
    window_ = agrees && Source::trusted() ? static_cast<uint64_t>(static_cast<double>(kWindowNs) / pace_) : 0;
  }

  Moment at_{};          // of the last look
  int64_t told_ = 0;     // then; ahead of the kernel's clock while that makes up for ticks that came too fast
  double pace_ = 0;      // nanoseconds a tick
  uint64_t window_ = 0;  // how many ticks may be gone by; 0: none
};

}  // namespace isochron
