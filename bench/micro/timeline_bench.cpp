// What recording costs: one clock reading, one span, what a training step records, and an epoch's end.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/timeline/timeline.h"

using namespace isochron;

template <class F>
void report(const char* what, int times, F&& f) {
  double best = 1e9;
  for (int repeat = 0; repeat < 30; ++repeat) {
    const int64_t begin = monotonic_ns();
    for (int i = 0; i < times; ++i) f();
    best = std::min(best, static_cast<double>(monotonic_ns() - begin) / times);
  }
  fmt::print("{:<32} {:8.1f} ns\n", what, best);
}

int main() {
  volatile int64_t sink = 0;
  report("clock reading", 10'000, [&] { sink = monotonic_ns(); });
  report("span without a timeline", 10'000, [] { ScopedSpan span(Phase::forward, "forward"); });
  Timeline timeline;
  TimelineScope scope(timeline);
  timeline.begin_epoch(1);
  report("span", 10'000, [] { ScopedSpan span(Phase::forward, "forward"); });
  report("step: input, forward, update", 10'000, [&] {
    timeline.begin_step();
    ScopedSpan span(Phase::input, "input");
    span.next(Phase::forward, "forward");
    span.next(Phase::update, "update");
    timeline.end_step();
  });
  report("counter", 10'000, [&] { timeline.count("cache_hits"); });
  timeline.end_epoch();
  report("sample", 200, [&] { timeline.sample(); });
}
