// What the thread team costs: launching a job on workers that still spin, and one barrier.
#include <fmt/core.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "isochron/base/clock.h"
#include "isochron/base/threads.h"

using isochron::monotonic_ns;

template <class F>
void report(const char* what, int per_sample, F&& f) {
  std::vector<double> ns;
  for (int sample = 0; sample < 201; ++sample) {
    const int64_t begin = monotonic_ns();
    f();
    ns.push_back(static_cast<double>(monotonic_ns() - begin) / per_sample);
  }
  std::sort(ns.begin(), ns.end());
  fmt::print("{:<28} {:9.0f} ns min {:9.0f} ns median\n", what, ns.front(), ns[ns.size() / 2]);
}

int main() {
  isochron::ThreadTeam& team = isochron::ThreadTeam::global();
  const int threads = team.size();
  fmt::print("{} threads\n", threads);
  const int64_t begin = monotonic_ns();
  team.parallel(threads, [](int, int) {});
  fmt::print("{:<28} {:9} ns\n", "first run (starts threads)", monotonic_ns() - begin);
  report("run, workers spinning", 200, [&] {
    for (int i = 0; i < 200; ++i) team.parallel(threads, [](int, int) {});
  });
  report("barrier", 1000, [&] {
    team.parallel(threads, [&](int, int) {
      for (int i = 0; i < 1000; ++i) team.barrier();
    });
  });
  report("run after 1 ms asleep (+1 ms)", 1, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    team.parallel(threads, [](int, int) {});
  });
}
