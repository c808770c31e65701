// Nanoseconds per random number, one thread, and what the C++ library takes for the same.
#include <fmt/core.h>

#include <algorithm>
#include <random>
#include <vector>

#include "isochron/base/clock.h"
#include "isochron/base/rng.h"

using namespace isochron;

template <class F>
void report(const char* what, int64_t elements, F&& fill) {
  double best = 1e9;
  for (int repeat = 0; repeat < 50; ++repeat) {
    const int64_t begin = monotonic_ns();
    fill();
    best = std::min(best, static_cast<double>(monotonic_ns() - begin) / static_cast<double>(elements));
  }
  fmt::print("{:<24} {:6.2f} ns\n", what, best);
}

int main() {
  constexpr int64_t n = 100'000;
  std::vector<float> f(n);
  std::vector<double> d(n);
  std::vector<uint32_t> bits(n);
  report("bits", n, [&] { fill_bits(bits.data(), {1, 2}, 0, n); });
  report("uniform float", n, [&] { fill_uniform(f.data(), {1, 2}, 0, n, 0, 1); });
  report("normal float", n, [&] { fill_normal(f.data(), {1, 2}, 0, n, 0, 1); });
  report("truncated normal float", n, [&] { fill_truncated_normal(f.data(), {1, 2}, 0, n, 0, 1); });
  report("bernoulli float", n, [&] { fill_bernoulli(f.data(), {1, 2}, 0, n, 0.5); });
  report("normal double", n, [&] { fill_normal(d.data(), {1, 2}, 0, n, 0, 1); });
  report("truncated normal double", n, [&] { fill_truncated_normal(d.data(), {1, 2}, 0, n, 0, 1); });
  const Permutation order(1, 2, n);
  report("permuted index", n, [&] {
    for (int64_t i = 0; i < n; ++i) bits[i] = static_cast<uint32_t>(order(static_cast<uint64_t>(i)));
  });
  std::mt19937 engine;
  std::normal_distribution<float> normal;
  report("std::normal_distribution", n, [&] {
    for (float& x : f) x = normal(engine);
  });
}
