// The four functions of libhwy that its dispatch needs. The library itself is not linked: on loading, Highway 1.0 times
// the clock for 3 ms, a third of what we take from the start of a process to its first step.
//
// Hidden, so that a program that brings its own Highway keeps its own.
#include <atomic>
#include <cstdint>
#include <vector>

#undef HWY_SHARED_DEFINE
#pragma GCC visibility push(hidden)
#include <hwy/targets.h>

namespace hwy {
namespace {

std::atomic<int64_t> g_disabled{0};
std::atomic<int64_t> g_instead{0};  // 0: what the CPU has

int64_t targets_of_this_cpu() {
  int64_t targets = HWY_ENABLED_BASELINE;
#if defined(__x86_64__)
  // The compiler's own test also asks whether the system saves the wide registers.
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("f16c");
  const bool avx3 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd");
  if (avx2) targets |= HWY_AVX2;
  if (avx3) targets |= HWY_AVX3;
#endif
  return targets;
}

}  // namespace

int64_t SupportedTargets() {
  static const int64_t of_this_cpu = targets_of_this_cpu();
  const int64_t instead = g_instead.load();
  const int64_t targets = (instead ? instead : of_this_cpu) & ~g_disabled.load();
  return targets ? targets : HWY_STATIC_TARGET;
}

void DisableTargets(int64_t disabled_targets) {
  g_disabled.store(disabled_targets & ~HWY_ENABLED_BASELINE);
  GetChosenTarget().DeInit();
}

void SetSupportedTargetsForTest(int64_t targets) {
  g_instead.store(targets);
  GetChosenTarget().DeInit();
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
#pragma GCC visibility pop
