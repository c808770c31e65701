// Products with very few rows or columns, as dot products: both operands are read along k.
#if defined(ISOCHRON_KERNELS_GEMM_DOT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCHRON_KERNELS_GEMM_DOT_INL_H
#undef ISOCHRON_KERNELS_GEMM_DOT_INL_H
#else
#define ISOCHRON_KERNELS_GEMM_DOT_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace isochron::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int kMaxFew = 3;

// out[i * out_stride + q * few_stride] = sum over k of many[i] . few[q]
template <class T>
struct Dots {
  int64_t count, k;
  const T* many;  // (count, k)
  int64_t many_stride;
  const T* few;  // (1..kMaxFew, k)
  int64_t few_stride;
  T* out;
  int64_t out_many, out_few;  // steps of out along `many` and along `few`
  const T* bias;              // may be null
  int64_t bias_many, bias_few;
  bool accumulate;
};

// The sums of the lanes of `group` vectors, group = lanes of 128 bits, as that many values.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void sum_lanes(D d, const hn::Vec<D>* group, T* sums) {
#if HWY_TARGET == HWY_SCALAR
  sums[0] = hn::GetLane(group[0]);
  (void)d;
#else
  hn::Vec<D> blocks;
  if constexpr (sizeof(T) == 4) {
    const hn::RepartitionToWide<D> wide;
    const auto pairs01 =
        hn::Add(hn::InterleaveLower(d, group[0], group[1]), hn::InterleaveUpper(d, group[0], group[1]));
    const auto pairs23 =
        hn::Add(hn::InterleaveLower(d, group[2], group[3]), hn::InterleaveUpper(d, group[2], group[3]));
    const auto w01 = hn::BitCast(wide, pairs01);
    const auto w23 = hn::BitCast(wide, pairs23);
    blocks = hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, w01, w23)),
                     hn::BitCast(d, hn::InterleaveUpper(wide, w01, w23)));
  } else {
    blocks = hn::Add(hn::InterleaveLower(d, group[0], group[1]), hn::InterleaveUpper(d, group[0], group[1]));
  }
  if constexpr (hn::MaxLanes(D()) * sizeof(T) == 16) {
    hn::StoreU(blocks, d, sums);
  } else {
    const hn::Half<D> half;
    const auto folded = hn::Add(hn::LowerHalf(half, blocks), hn::UpperHalf(half, blocks));
    if constexpr (hn::MaxLanes(half) * sizeof(T) == 16) {
      hn::StoreU(folded, half, sums);
    } else {
      const hn::Half<decltype(half)> quarter;
      hn::StoreU(hn::Add(hn::LowerHalf(quarter, folded), hn::UpperHalf(quarter, folded)), quarter, sums);
    }
  }
#endif
}

template <class T, int kFew>
void run_dots(const Dots<T>& dots) {
  const hn::ScalableTag<T> d;
  using Vec = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int kGroup = HWY_TARGET == HWY_SCALAR ? 1 : static_cast<int>(16 / sizeof(T));
  constexpr int kRows = std::max(kFew == 1 ? 8 : 4, kGroup);  // of `many` at a time; enough sums to hide latency
  const int64_t whole = dots.k / lanes * lanes;
  const auto tail = hn::FirstN(d, static_cast<size_t>(dots.k - whole));

  for (int64_t i = 0; i < dots.count; i += kRows) {
    const T* rows[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) rows[r] = dots.many + std::min(i + r, dots.count - 1) * dots.many_stride;
    Vec sum[kFew][kRows];
#pragma GCC unroll 8
    for (int q = 0; q < kFew; ++q) {
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sum[q][r] = hn::Zero(d);
    }
    const auto step = [&](auto load, int64_t p) HWY_ATTR {
      Vec few[kFew];
#pragma GCC unroll 8
      for (int q = 0; q < kFew; ++q) few[q] = load(dots.few + q * dots.few_stride + p);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const Vec many = load(rows[r] + p);
#pragma GCC unroll 8
        for (int q = 0; q < kFew; ++q) sum[q][r] = hn::MulAdd(many, few[q], sum[q][r]);
      }
    };
    for (int64_t p = 0; p < whole; p += lanes) step([&](const T* from) HWY_ATTR { return hn::LoadU(d, from); }, p);
    if (whole < dots.k) step([&](const T* from) HWY_ATTR { return hn::MaskedLoad(tail, d, from); }, whole);

    const int64_t valid = std::min<int64_t>(kRows, dots.count - i);
    for (int q = 0; q < kFew; ++q) {
      T sums[kRows];
      for (int r = 0; r < kRows; r += kGroup) sum_lanes(d, sum[q] + r, sums + r);
      T* out = dots.out + i * dots.out_many + q * dots.out_few;
      const T* init = dots.accumulate ? out : dots.bias ? dots.bias + i * dots.bias_many + q * dots.bias_few : nullptr;
      const int64_t init_step = dots.accumulate ? dots.out_many : dots.bias_many;
      for (int64_t r = 0; r < valid; ++r) out[r * dots.out_many] = sums[r] + (init ? init[r * init_step] : T{0});
    }
  }
}

template <class T>
void run_dots(const Dots<T>& dots, int64_t few) {
  if (few == 1) return run_dots<T, 1>(dots);
  if (few == 2) return run_dots<T, 2>(dots);
  run_dots<T, 3>(dots);
}

}  // namespace isochron::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
