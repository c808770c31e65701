// Conversions between element types, as loads into and stores out of tiles need them. The loops are plain, so that
// the compiler vectorises them for each instruction set; only float16 needs help.
#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "isochron/kernels/tile/tile_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/kernels/tile/convert.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace isochron {
namespace kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE uint16_t bfloat16_bits(float x) {
  const uint32_t raw = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = raw + 0x7fffu + ((raw >> 16) & 1u);
  return static_cast<uint16_t>((x == x ? rounded : raw | 0x400000u) >> 16);
}

template <class To, class From>
HWY_INLINE To convert(From x) {
  if constexpr (std::is_same_v<From, To>) {
    return x;
  } else if constexpr (std::is_same_v<From, bfloat16> || std::is_same_v<From, float16>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_same_v<To, bfloat16>) {
    To result;
    result.bits = bfloat16_bits(static_cast<float>(x));
    return result;
  } else if constexpr (std::is_same_v<To, float16>) {
    return float16(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From beyond = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
    if (!(x >= low)) return x == x ? std::numeric_limits<To>::min() : To{0};
    return x >= beyond ? std::numeric_limits<To>::max() : static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

// Bytes of a bool tensor that are neither 0 nor 1 still count as true.
template <class From>
HWY_INLINE auto element(const From* src, int64_t i) {
  if constexpr (std::is_same_v<From, bool>)
    return static_cast<uint8_t>(reinterpret_cast<const uint8_t*>(src)[i] != 0);
  else
    return src[i];
}

#if HWY_TARGET != HWY_SCALAR
HWY_INLINE int64_t convert_vectors(const float16* src, float* dst, int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(src + i))), d, dst + i);
  return i;
}
HWY_INLINE int64_t convert_vectors(const float* src, float16* dst, int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, src + i)), half, reinterpret_cast<hwy::float16_t*>(dst + i));
  return i;
}
#endif
template <class From, class To>
HWY_INLINE int64_t convert_vectors(const From*, To*, int64_t) {
  return 0;
}

template <class From, class To>
void convert_run(const void* src_bytes, int64_t stride, void* dst_bytes, int64_t n) {
  const From* src = static_cast<const From*>(src_bytes);
  To* dst = static_cast<To*>(dst_bytes);
  if (stride == 1) {
    for (int64_t i = convert_vectors(src, dst, n); i < n; ++i) dst[i] = convert<To>(element(src, i));
  } else if (stride == 0) {
    std::fill_n(dst, n, convert<To>(element(src, 0)));
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i] = convert<To>(element(src, i * stride));
  }
}

template <class T>
inline constexpr bool kComputes = sizeof(T) >= 4;

// One side of a load or store is always a compute type.
template <class From>
ConvertFunction find_to(DType to) {
  return visit_dtype(to, []<class To>(Type<To>) -> ConvertFunction {
    if constexpr (kComputes<From> || kComputes<To>) return convert_run<From, To>;
    return nullptr;
  });
}
ConvertFunction find_convert(DType from, DType to) {
  return visit_dtype(from, [to]<class From>(Type<From>) { return find_to<From>(to); });
}

}  // namespace HWY_NAMESPACE
}  // namespace kernels
}  // namespace isochron
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::kernels {

HWY_EXPORT(find_convert);

ConvertFunction convert_function(DType from, DType to) { return HWY_DYNAMIC_DISPATCH(find_convert)(from, to); }

}  // namespace isochron::kernels
#endif
