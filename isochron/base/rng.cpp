#include "isochron/base/rng.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "isochron/base/rng_chunk.h"

namespace isochron {
namespace {

using rng::kChunk;

// Calls fill(to, first chunk, chunks) on the whole chunks of [begin, end) in place and on the cut ones at its ends by
// way of a copy.
template <class T, class Fill>
void by_chunks(T* out, int64_t begin, int64_t end, Fill fill) {
  while (begin < end) {
    const int64_t chunk = begin / kChunk, offset = begin % kChunk;
    if (offset == 0 && end - begin >= kChunk) {
      const int64_t whole = (end - begin) / kChunk;
      fill(out + begin, static_cast<uint64_t>(chunk), whole);
      begin += whole * kChunk;
    } else {
      T copy[kChunk];
      fill(copy, static_cast<uint64_t>(chunk), int64_t{1});
      const int64_t count = std::min<int64_t>(kChunk - offset, end - begin);
      std::copy_n(copy + offset, count, out + begin);
      begin += count;
    }
  }
}

// Calls make(64 bits) for each element; two elements share a block.
template <class T, class Make>
void by_words(T* out, RandomStream stream, int64_t begin, int64_t end, Make make) {
  PhiloxBlock block{};
  for (int64_t i = begin; i < end; ++i) {
    if (i == begin || i % 2 == 0) block = stream.block(static_cast<uint64_t>(i) / 2);
    const int lane = i % 2 ? 2 : 0;
    out[i] = make(uint64_t{block[lane]} | uint64_t{block[lane + 1]} << 32);
  }
}

// Calls make(32 bits) for each element.
template <class T, class Make>
void from_bits(T* out, RandomStream stream, int64_t begin, int64_t end, Make make) {
  by_chunks(out, begin, end, [&](T* to, uint64_t first, int64_t chunks) {
    uint32_t raw[kChunk];
    for (int64_t c = 0; c < chunks; ++c) {
      rng::bits(raw, stream, first + static_cast<uint64_t>(c), 1);
      for (int j = 0; j < kChunk; ++j) to[c * kChunk + j] = make(raw[j]);
    }
  });
}

double unit(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

// The inverse of the standard normal distribution function: a rough start, then Newton's method on erfc.
double normal_quantile(double p) {
  if (p == 0.5) return 0;
  const double tail = std::min(p, 1 - p);
  const double t = std::sqrt(-2 * std::log(tail));
  double x = t - (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + t * 0.04481));  // Abramowitz and Stegun 26.2.22
  for (int i = 0; i < 4; ++i) {
    const double excess = 0.5 * std::erfc(x / M_SQRT2) - tail;
    x += excess * std::sqrt(2 * M_PI) * std::exp(0.5 * x * x);
  }
  return p < 0.5 ? -x : x;
}

template <class T>
void bernoulli(T* out, RandomStream stream, int64_t begin, int64_t end, double probability) {
  const double threshold = std::round(probability * 0x1p32);
  if (threshold >= 0x1p32) {
    std::fill(out + begin, out + end, T{1});
  } else {
    const uint32_t below = threshold > 0 ? static_cast<uint32_t>(threshold) : 0;
    from_bits(out, stream, begin, end, [below](uint32_t bits) { return static_cast<T>(bits < below ? 1 : 0); });
  }
}

__extension__ using uint128 = unsigned __int128;

template <class T>
void integers(T* out, RandomStream stream, int64_t begin, int64_t end, T low, T high) {
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  by_words(out, stream, begin, end, [&](uint64_t word) {
    const auto scaled = static_cast<uint64_t>((static_cast<uint128>(word) * range) >> 64);
    return static_cast<T>(static_cast<uint64_t>(low) + scaled);
  });
}

// The upper half of a multiplication depends on every bit of x.
uint32_t mix(uint32_t x) { return static_cast<uint32_t>((x * 0x9e3779b97f4a7c15u) >> 32); }

}  // namespace

PhiloxBlock philox(const std::array<uint32_t, 2>& key, const PhiloxBlock& counter) {
  PhiloxBlock c = counter;
  uint32_t key0 = key[0], key1 = key[1];
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c[0], p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ key0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ key1, static_cast<uint32_t>(p0)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return c;
}

PhiloxBlock RandomStream::block(uint64_t index) const {
  return philox({static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
                {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), static_cast<uint32_t>(stream),
                 static_cast<uint32_t>(stream >> 32)});
}

void fill_bits(uint32_t* out, RandomStream stream, int64_t begin, int64_t end) {
  by_chunks(out, begin, end,
            [&](uint32_t* to, uint64_t first, int64_t chunks) { rng::bits(to, stream, first, chunks); });
}

void fill_uniform(float* out, RandomStream stream, int64_t begin, int64_t end, float low, float high) {
  by_chunks(out, begin, end,
            [&](float* to, uint64_t first, int64_t chunks) { rng::uniform(to, stream, first, chunks, low, high); });
}

void fill_uniform(double* out, RandomStream stream, int64_t begin, int64_t end, double low, double high) {
  const double below_high = std::nextafter(high, -std::numeric_limits<double>::infinity());
  by_words(out, stream, begin, end,
           [&](uint64_t word) { return std::min(low + unit(word) * (high - low), below_high); });
}

void fill_normal(float* out, RandomStream stream, int64_t begin, int64_t end, float mean, float stddev) {
  by_chunks(out, begin, end,
            [&](float* to, uint64_t first, int64_t chunks) { rng::normal(to, stream, first, chunks, mean, stddev); });
}

void fill_normal(double* out, RandomStream stream, int64_t begin, int64_t end, double mean, double stddev) {
  // Box-Muller: elements 2k and 2k + 1 share a block, its first half the radius and its second the angle.
  for (int64_t i = begin; i < end; ++i) {
    const PhiloxBlock block = stream.block(static_cast<uint64_t>(i) / 2);
    const double radius = std::sqrt(-2 * std::log(1 - unit(uint64_t{block[0]} | uint64_t{block[1]} << 32)));
    const double angle = 2 * M_PI * unit(uint64_t{block[2]} | uint64_t{block[3]} << 32);
    out[i] = mean + stddev * radius * (i % 2 ? std::sin(angle) : std::cos(angle));
  }
}

void fill_truncated_normal(float* out, RandomStream stream, int64_t begin, int64_t end, float mean, float stddev) {
  by_chunks(out, begin, end, [&](float* to, uint64_t first, int64_t chunks) {
    rng::truncated_normal(to, stream, first, chunks, mean, stddev);
  });
}

void fill_truncated_normal(double* out, RandomStream stream, int64_t begin, int64_t end, double mean, double stddev) {
  const double below = 0.5 * std::erfc(M_SQRT2), kept = 1 - 2 * below;
  by_words(out, stream, begin, end,
           [&](uint64_t word) { return mean + stddev * normal_quantile(below + kept * unit(word)); });
}

void fill_bernoulli(float* out, RandomStream stream, int64_t begin, int64_t end, double probability) {
  bernoulli(out, stream, begin, end, probability);
}
void fill_bernoulli(uint8_t* out, RandomStream stream, int64_t begin, int64_t end, double probability) {
  bernoulli(out, stream, begin, end, probability);
}

void fill_integers(int64_t* out, RandomStream stream, int64_t begin, int64_t end, int64_t low, int64_t high) {
  integers(out, stream, begin, end, low, high);
}
void fill_integers(int32_t* out, RandomStream stream, int64_t begin, int64_t end, int32_t low, int32_t high) {
  integers(out, stream, begin, end, low, high);
}

// A Feistel network over the smallest power of two that holds n; indices that land outside are sent through again,
// which ends because the network is a bijection (twice on average at most).
Permutation::Permutation(uint64_t seed, uint64_t epoch, uint64_t n) : n_(n) {
  const int bits = n > 1 ? static_cast<int>(std::bit_width(n - 1)) : 1;
  low_bits_ = (bits + 1) / 2;
  high_bits_ = bits - low_bits_;
  const RandomStream stream{seed, epoch};
  for (int k = 0; k < kRounds; ++k) keys_[k] = stream.block(static_cast<uint64_t>(k) / 4)[k % 4];
}

// A permutation of all numbers of so many bits.
inline uint64_t Permutation::once(uint64_t i) const {
  const uint32_t low_mask = static_cast<uint32_t>((uint64_t{1} << low_bits_) - 1);
  const uint32_t high_mask = static_cast<uint32_t>((uint64_t{1} << high_bits_) - 1);
  uint32_t low = static_cast<uint32_t>(i) & low_mask, high = static_cast<uint32_t>(i >> low_bits_);
  for (int k = 0; k < kRounds; k += 2) {
    high ^= mix(low ^ keys_[k]) & high_mask;
    low ^= mix(high ^ keys_[k + 1]) & low_mask;
  }
  return uint64_t{high} << low_bits_ | low;
}

uint64_t Permutation::operator()(uint64_t i) const {
  do i = once(i);
  while (i >= n_);
  return i;
}

// Nothing waits for whether a number before was too large.
void Permutation::operator()(uint64_t i, std::span<int64_t> out) const {
  for (size_t k = 0; k < out.size(); ++k) out[k] = static_cast<int64_t>(once(i + k));
  for (int64_t& number : out)
    while (static_cast<uint64_t>(number) >= n_) number = static_cast<int64_t>(once(static_cast<uint64_t>(number)));
}

}  // namespace isochron
