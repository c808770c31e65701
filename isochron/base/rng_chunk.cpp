#include "isochron/base/rng_chunk.h"

#include <algorithm>
#include <cmath>
#include <limits>

// Only plain multiplications and additions (no FMA, which some instruction sets lack), so that every instruction set
// gives the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/base/rng_chunk.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace isochron::rng::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::CappedTag<float, 16>;
using U = hn::RebindToUnsigned<F>;
using I = hn::RebindToSigned<F>;
using VF = hn::Vec<F>;
using VU = hn::Vec<U>;
constexpr F f{};
constexpr U u{};
constexpr I i{};

// c0 + c1 x + c2 x^2 + …
template <class... C>
HWY_INLINE VF polynomial(VF x, float c0, C... more) {
  if constexpr (sizeof...(more) == 0) {
    return hn::Set(f, c0);
  } else {
    return hn::Add(hn::Mul(polynomial(x, more...), x), hn::Set(f, c0));
  }
}

// log(x) for 0 < x < inf, not denormal.
HWY_INLINE VF log(VF x) {
  const auto bits = hn::BitCast(i, x);
  const auto sqrt_half = hn::Set(i, 0x3f3504f3);
  const auto exponent = hn::ShiftRight<23>(hn::Sub(bits, sqrt_half));
  const VF m = hn::BitCast(f, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));  // sqrt(1/2) <= m < sqrt(2)
  // log m = 2 artanh s with s = (m - 1) / (m + 1), |s| < 0.172
  const VF one = hn::Set(f, 1.0f);
  const VF s = hn::Div(hn::Sub(m, one), hn::Add(m, one));
  const VF log_m = hn::Mul(s, polynomial(hn::Mul(s, s), 2.0f, 2.0f / 3, 2.0f / 5, 2.0f / 7, 2.0f / 9));
  return hn::Add(hn::Mul(hn::ConvertTo(f, exponent), hn::Set(f, 0.693147181f)), log_m);
}

// sin and cos of x, |x| <= pi / 4.
HWY_INLINE VF sin_quarter(VF x) {
  return hn::Mul(x, polynomial(hn::Mul(x, x), 1.0f, -1.0f / 6, 1.0f / 120, -1.0f / 5040, 1.0f / 362880));
}
HWY_INLINE VF cos_quarter(VF x) {
  return polynomial(hn::Mul(x, x), 1.0f, -1.0f / 2, 1.0f / 24, -1.0f / 720, 1.0f / 40320);
}

// Half of a random word's range each: [0, 1) and (0, 1].
HWY_INLINE VF unit(VU bits) {
  return hn::Mul(hn::ConvertTo(f, hn::BitCast(i, hn::ShiftRight<8>(bits))), hn::Set(f, 0x1p-24f));
}
HWY_INLINE VF unit_above_zero(VU bits) {
  const VF whole = hn::ConvertTo(f, hn::BitCast(i, hn::ShiftRight<1>(bits)));
  return hn::Mul(hn::Add(whole, hn::Set(f, 0.5f)), hn::Set(f, 0x1p-31f));
}

#if HWY_TARGET == HWY_SCALAR
void bits_one(uint32_t* out, RandomStream stream, uint64_t chunk) {
  constexpr int kBlocks = kChunk / 4;
  for (int block = 0; block < kBlocks; ++block) {
    const PhiloxBlock words = stream.block(chunk * kBlocks + static_cast<uint64_t>(block));
    std::copy(words.begin(), words.end(), out + 4 * block);
  }
}
#else
using U64 = hn::Repartition<uint64_t, U>;
constexpr U64 u64{};

// The even 32-bit lanes carry one block each; what gathers in the odd lanes is never read.
struct Blocks {
  VU c0, c1, c2, c3;
};
HWY_INLINE VU high_half(hn::Vec<U64> product) { return hn::BitCast(u, hn::ShiftRight<32>(product)); }
HWY_INLINE void philox_round(Blocks& b, uint32_t key0, uint32_t key1) {
  const auto p0 = hn::MulEven(b.c0, hn::Set(u, 0xD2511F53u));
  const auto p1 = hn::MulEven(b.c2, hn::Set(u, 0xCD9E8D57u));
  b.c0 = hn::Xor(hn::Xor(high_half(p1), b.c1), hn::Set(u, key0));
  b.c1 = hn::BitCast(u, p1);
  b.c2 = hn::Xor(hn::Xor(high_half(p0), b.c3), hn::Set(u, key1));
  b.c3 = hn::BitCast(u, p0);
}
HWY_INLINE void store(const Blocks& b, uint32_t* out) {
  const auto low = hn::Set(u64, 0xffffffffu);
  const auto pair = [&](VU even, VU odd) {
    return hn::Or(hn::And(hn::BitCast(u64, even), low), hn::ShiftLeft<32>(hn::BitCast(u64, odd)));
  };
  hn::StoreInterleaved2(pair(b.c0, b.c1), pair(b.c2, b.c3), u64, reinterpret_cast<uint64_t*>(out));
}

void bits_one(uint32_t* out, RandomStream stream, uint64_t chunk) {
  constexpr int kBlocks = kChunk / 4;
  const int step = static_cast<int>(hn::Lanes(u64));
  const uint32_t seed_low = static_cast<uint32_t>(stream.seed), seed_high = static_cast<uint32_t>(stream.seed >> 32);
  const VU c2 = hn::Set(u, static_cast<uint32_t>(stream.stream));
  const VU c3 = hn::Set(u, static_cast<uint32_t>(stream.stream >> 32));
  const auto start = [&](int block) {
    const auto index = hn::Add(hn::Iota(u64, 0), hn::Set(u64, chunk * kBlocks + static_cast<uint64_t>(block)));
    return Blocks{hn::BitCast(u, index), high_half(index), c2, c3};
  };
  // Two at a time hide the latency of the multiplications.
  for (int block = 0; block < kBlocks; block += 2 * step) {
    Blocks a = start(block), b = start(block + step);
    uint32_t key0 = seed_low, key1 = seed_high;
    for (int round = 0; round < 10; ++round) {
      philox_round(a, key0, key1);
      philox_round(b, key0, key1);
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    store(a, out + 4 * block);
    store(b, out + 4 * (block + step));
  }
}
#endif

void bits(uint32_t* out, RandomStream stream, uint64_t first, int64_t chunks) {
  for (int64_t c = 0; c < chunks; ++c) bits_one(out + c * kChunk, stream, first + static_cast<uint64_t>(c));
}

// transform(raw, out) turns one chunk of bits into one chunk of floats.
template <class Transform>
HWY_INLINE void transformed(float* out, RandomStream stream, uint64_t first, int64_t chunks, Transform transform) {
  HWY_ALIGN uint32_t raw[kChunk];
  for (int64_t c = 0; c < chunks; ++c) {
    bits_one(raw, stream, first + static_cast<uint64_t>(c));
    transform(raw, out + c * kChunk);
  }
}

void uniform(float* out, RandomStream stream, uint64_t first, int64_t chunks, float low, float high) {
  const VF scale = hn::Set(f, high - low), offset = hn::Set(f, low);
  const VF below_high = hn::Set(f, std::nextafter(high, -std::numeric_limits<float>::infinity()));
  transformed(out, stream, first, chunks, [&](const uint32_t* raw, float* to) {
    for (int j = 0; j < kChunk; j += static_cast<int>(hn::Lanes(f)))
      hn::StoreU(hn::Min(hn::Add(hn::Mul(unit(hn::Load(u, raw + j)), scale), offset), below_high), f, to + j);
  });
}

// Box-Muller: elements j and j + 32 of a chunk share a radius and an angle.
void normal(float* out, RandomStream stream, uint64_t first, int64_t chunks, float mean, float stddev) {
  const VF scale = hn::Set(f, stddev), offset = hn::Set(f, mean);
  transformed(out, stream, first, chunks, [&](const uint32_t* raw, float* to) {
    for (int j = 0; j < kChunk / 2; j += static_cast<int>(hn::Lanes(f))) {
      const VF minus_two_log = hn::Mul(log(unit_above_zero(hn::Load(u, raw + j))), hn::Set(f, -2.0f));
      const VF radius = hn::Mul(hn::Sqrt(minus_two_log), scale);
      // 30 bits choose the angle in an eighth of a turn to either side, one mirrors it at the diagonal, one at zero.
      const VU word = hn::Load(u, raw + kChunk / 2 + j);
      const VF angle = hn::Mul(hn::ConvertTo(f, hn::BitCast(i, hn::ShiftLeft<2>(word))),
                               hn::Set(f, static_cast<float>(M_PI / 4 * 0x1p-31)));
      const VF sine = sin_quarter(angle), cosine = cos_quarter(angle);
      const auto swap = hn::MaskFromVec(
          hn::BitCast(f, hn::ShiftRight<31>(hn::BitCast(i, hn::ShiftLeft<1>(word)))));  // all ones where bit 30 is set
      const VF sign = hn::BitCast(f, hn::And(word, hn::Set(u, 0x80000000u)));
      const VF signed_radius = hn::Xor(radius, sign);
      const VF x = hn::IfThenElse(swap, sine, cosine), y = hn::IfThenElse(swap, cosine, sine);
      hn::StoreU(hn::Add(hn::Mul(x, signed_radius), offset), f, to + j);
      hn::StoreU(hn::Add(hn::Mul(y, signed_radius), offset), f, to + kChunk / 2 + j);
    }
  });
}

// The inverse distribution function by Giles' single-precision erfinv ("Approximating the erfinv function", 2010); its
// central branch covers all that remains within 2 standard deviations.
void truncated_normal(float* out, RandomStream stream, uint64_t first, int64_t chunks, float mean, float stddev) {
  const VF scale = hn::Set(f, stddev * static_cast<float>(M_SQRT2)), offset = hn::Set(f, mean);
  const VF width = hn::Set(f, 0.954499736f * 0x1p-23f);  // erf(2 / sqrt(2)), for x in (-2^23, 2^23)
  transformed(out, stream, first, chunks, [&](const uint32_t* raw, float* to) {
    for (int j = 0; j < kChunk; j += static_cast<int>(hn::Lanes(f))) {
      const VF whole = hn::ConvertTo(f, hn::ShiftRight<8>(hn::BitCast(i, hn::Load(u, raw + j))));
      const VF x = hn::Mul(hn::Add(whole, hn::Set(f, 0.5f)), width);
      const VF one = hn::Set(f, 1.0f);
      const VF w = hn::Add(log(hn::Mul(hn::Sub(one, x), hn::Add(one, x))), hn::Set(f, 2.5f));
      const VF erfinv =
          hn::Mul(x, polynomial(hn::Neg(w), 1.50140941f, 0.246640727f, -0.00417768164f, -0.00125372503f, 0.00021858087f,
                                -4.39150654e-06f, -3.5233877e-06f, 3.43273939e-07f, 2.81022636e-08f));
      hn::StoreU(hn::Add(hn::Mul(erfinv, scale), offset), f, to + j);
    }
  });
}

}  // namespace isochron::rng::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::rng {

HWY_EXPORT(bits);
HWY_EXPORT(uniform);
HWY_EXPORT(normal);
HWY_EXPORT(truncated_normal);

void bits(uint32_t* out, RandomStream stream, uint64_t first, int64_t chunks) {
  HWY_DYNAMIC_DISPATCH(bits)(out, stream, first, chunks);
}
void uniform(float* out, RandomStream stream, uint64_t first, int64_t chunks, float low, float high) {
  HWY_DYNAMIC_DISPATCH(uniform)(out, stream, first, chunks, low, high);
}
void normal(float* out, RandomStream stream, uint64_t first, int64_t chunks, float mean, float stddev) {
  HWY_DYNAMIC_DISPATCH(normal)(out, stream, first, chunks, mean, stddev);
}
void truncated_normal(float* out, RandomStream stream, uint64_t first, int64_t chunks, float mean, float stddev) {
  HWY_DYNAMIC_DISPATCH(truncated_normal)(out, stream, first, chunks, mean, stddev);
}

}  // namespace isochron::rng
#endif
