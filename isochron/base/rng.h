// Random numbers that depend on (seed, stream, element) alone: Philox4x32-10, a counter-based generator.
//
//   // Any split over threads, and every instruction set, gives the same numbers.
//   team.parallel(team.size(), [&](int thread, int threads) {
//     fill_normal(weights, {.seed = 42, .stream = layer}, n * thread / threads, n * (thread + 1) / threads, 0, 0.05f);
//   });
//
// Every fill writes out[begin] … out[end - 1]; `out` is the array's start whatever the range. Element i
// of a stream draws from block i / 4 of the generator (i / 2 for 64-bit results), so a stream holds
// 2^64 blocks, and streams and seeds never overlap. Nothing here allocates or throws.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace isochron {

using PhiloxBlock = std::array<uint32_t, 4>;

// The generator itself: 128 random bits for a key and a counter.
PhiloxBlock philox(const std::array<uint32_t, 2>& key, const PhiloxBlock& counter);

struct RandomStream {
  uint64_t seed = 0;
  uint64_t stream = 0;
  // Block `index` of this stream.
  PhiloxBlock block(uint64_t index) const;
};

void fill_bits(uint32_t* out, RandomStream stream, int64_t begin, int64_t end);

// In [low, high).
void fill_uniform(float* out, RandomStream stream, int64_t begin, int64_t end, float low, float high);
void fill_uniform(double* out, RandomStream stream, int64_t begin, int64_t end, double low, double high);

void fill_normal(float* out, RandomStream stream, int64_t begin, int64_t end, float mean, float stddev);
void fill_normal(double* out, RandomStream stream, int64_t begin, int64_t end, double mean, double stddev);

// Normal, redrawn beyond 2 standard deviations (Keras' truncated_normal). `stddev` is that of the
// normal before it is cut.
void fill_truncated_normal(float* out, RandomStream stream, int64_t begin, int64_t end, float mean, float stddev);
void fill_truncated_normal(double* out, RandomStream stream, int64_t begin, int64_t end, double mean, double stddev);

// 1 with the given probability, else 0.
void fill_bernoulli(float* out, RandomStream stream, int64_t begin, int64_t end, double probability);
void fill_bernoulli(uint8_t* out, RandomStream stream, int64_t begin, int64_t end, double probability);

// In [low, high); low < high.
void fill_integers(int64_t* out, RandomStream stream, int64_t begin, int64_t end, int64_t low, int64_t high);
void fill_integers(int32_t* out, RandomStream stream, int64_t begin, int64_t end, int32_t low, int32_t high);

// A random order of 0 … n - 1 that needs no memory: a bijection chosen by seed and epoch.
class Permutation {
 public:
  Permutation(uint64_t seed, uint64_t epoch, uint64_t n);
  uint64_t operator()(uint64_t i) const;  // i < n
  // Those of i, i + 1, …, which takes less than one by one.
  void operator()(uint64_t i, std::span<int64_t> out) const;

 private:
  uint64_t once(uint64_t i) const;
  static constexpr int kRounds = 8;
  uint64_t n_;
  int low_bits_, high_bits_;
  std::array<uint32_t, kRounds> keys_;
};

inline uint64_t permuted_index(uint64_t seed, uint64_t epoch, uint64_t n, uint64_t i) {
  return Permutation(seed, epoch, n)(i);
}

}  // namespace isochron
