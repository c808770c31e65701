#include "isochron/profiler/machine_peak.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "isochron/base/thread_clock.h"
#include "isochron/base/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/profiler/machine_peak.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace isochron::profiler::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Twelve chains: more than two units with a latency of four or five can have under way. Returns the FLOPs done.
double multiply_add(int rounds) {
  const hn::ScalableTag<float> f;
  auto a0 = hn::Zero(f), a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0, a8 = a0, a9 = a0, a10 = a0,
       a11 = a0;
  for (int i = 0; i < rounds; ++i) {
    a0 = hn::MulAdd(a0, a0, a0);
    a1 = hn::MulAdd(a1, a1, a1);
    a2 = hn::MulAdd(a2, a2, a2);
    a3 = hn::MulAdd(a3, a3, a3);
    a4 = hn::MulAdd(a4, a4, a4);
    a5 = hn::MulAdd(a5, a5, a5);
    a6 = hn::MulAdd(a6, a6, a6);
    a7 = hn::MulAdd(a7, a7, a7);
    a8 = hn::MulAdd(a8, a8, a8);
    a9 = hn::MulAdd(a9, a9, a9);
    a10 = hn::MulAdd(a10, a10, a10);
    a11 = hn::MulAdd(a11, a11, a11);
    // The compiler knows what becomes of zeros; it must not.
    asm volatile("" : "+x"(a0.raw), "+x"(a1.raw), "+x"(a2.raw), "+x"(a3.raw), "+x"(a4.raw), "+x"(a5.raw));
    asm volatile("" : "+x"(a6.raw), "+x"(a7.raw), "+x"(a8.raw), "+x"(a9.raw), "+x"(a10.raw), "+x"(a11.raw));
  }
  return 2.0 * 12 * rounds * static_cast<double>(hn::Lanes(f));
}

}  // namespace isochron::profiler::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::profiler {
namespace {

HWY_EXPORT(multiply_add);

}  // namespace

double measure_thread_peak_flops() {
  constexpr int kRounds = 3000, kTries = 12;
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const int64_t begin = thread_cpu_ns();
    const double flops = HWY_DYNAMIC_DISPATCH(multiply_add)(kRounds);
    best = std::max(best, 1e9 * flops / static_cast<double>(std::max<int64_t>(thread_cpu_ns() - begin, 1)));
  }
  return best;
}

double peak_flops() {
  static std::mutex mutex;
  static int measured_threads = 0;
  static double peak = 0;
  std::lock_guard lock(mutex);
  ThreadTeam& team = ThreadTeam::global();
  if (measured_threads == team.size()) return peak;
  std::vector<double> by_thread(static_cast<size_t>(team.size()), 0);
  team.parallel(team.size(),
                [&](int thread, int) { by_thread[static_cast<size_t>(thread)] = measure_thread_peak_flops(); });
  // A team that was busy elsewhere came with fewer threads.
  const double each = *std::max_element(by_thread.begin(), by_thread.end());
  peak = 0;
  for (const double flops : by_thread) peak += flops > 0 ? flops : each;
  measured_threads = team.size();
  return peak;
}

}  // namespace isochron::profiler
#endif
