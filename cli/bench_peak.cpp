// What the machine can do at most: independent multiply-adds in registers.
#include <immintrin.h>

#include <algorithm>

#include "cli/bench.h"
#include "isochron/base/clock.h"
#include "isochron/kernels/isa.h"

namespace isochron::cli {
namespace {

constexpr int kRounds = 20'000, kSums = 12;

[[gnu::target("avx512f"), gnu::optimize("O2")]] void multiply_add_avx3() {
  __m512 sum[kSums] = {};
  for (__m512& s : sum) asm volatile("" : "+x"(s));
  for (int i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
    for (__m512& s : sum) s = _mm512_fmadd_ps(s, s, s);
  }
  for (__m512& s : sum) asm volatile("" : : "x"(s));
}

[[gnu::target("avx2,fma"), gnu::optimize("O2")]] void multiply_add_avx2() {
  __m256 sum[kSums] = {};
  for (__m256& s : sum) asm volatile("" : "+x"(s));
  for (int i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
    for (__m256& s : sum) s = _mm256_fmadd_ps(s, s, s);
  }
  for (__m256& s : sum) asm volatile("" : : "x"(s));
}

}  // namespace

double peak_flops_per_thread() {
  const std::string_view isa = kernels::current_isa();
  if (isa != "avx2" && isa != "avx3") return 0;
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    const int64_t begin = monotonic_ns();
    isa == "avx3" ? multiply_add_avx3() : multiply_add_avx2();
    best = std::max(best, 2.0 * kRounds * kSums * (isa == "avx3" ? 16 : 8) / seconds_between(begin, monotonic_ns()));
  }
  return best;
}

}  // namespace isochron::cli
