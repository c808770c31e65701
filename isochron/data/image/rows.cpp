#include "isochron/data/image/codecs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/data/image/rows.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace isochron::data::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::CappedTag<float, 16>;
constexpr F f{};
constexpr hn::Rebind<int32_t, F> i32{};
constexpr hn::Rebind<uint8_t, F> u8{};

void normalize(const uint8_t* HWY_RESTRICT in, const float* HWY_RESTRICT scale, const float* HWY_RESTRICT shift,
               float* HWY_RESTRICT out, size_t count) {
  const size_t lanes = hn::Lanes(f);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = hn::ConvertTo(f, hn::PromoteTo(i32, hn::LoadU(u8, in + i)));
    hn::StoreU(hn::MulAdd(x, hn::LoadU(f, scale + i), hn::LoadU(f, shift + i)), f, out + i);
  }
  for (; i < count; ++i) out[i] = static_cast<float>(in[i]) * scale[i] + shift[i];
}

// The rounding of what is left over is that of NearestInt, up to ties.
HWY_INLINE void put(hn::Vec<F> x, float* out) { hn::StoreU(x, f, out); }
HWY_INLINE void put(hn::Vec<F> x, uint8_t* out) { hn::StoreU(hn::DemoteTo(u8, hn::NearestInt(x)), u8, out); }
HWY_INLINE void put(float x, float* out) { *out = x; }
HWY_INLINE void put(float x, uint8_t* out) { *out = static_cast<uint8_t>(x + 0.5f); }

template <class T>
HWY_INLINE void blend_any(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, float part, T* HWY_RESTRICT out,
                          size_t count) {
  const size_t lanes = hn::Lanes(f);
  const auto p = hn::Set(f, part);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = hn::LoadU(f, a + i);
    put(hn::MulAdd(hn::Sub(hn::LoadU(f, b + i), x), p, x), out + i);
  }
  for (; i < count; ++i) put(a[i] + (b[i] - a[i]) * part, out + i);
}

void blend(const float* a, const float* b, float part, float* out, size_t count) { blend_any(a, b, part, out, count); }
void blend_rounded(const float* a, const float* b, float part, uint8_t* out, size_t count) {
  blend_any(a, b, part, out, count);
}

}  // namespace isochron::data::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::data {

HWY_EXPORT(normalize);
HWY_EXPORT(blend);
HWY_EXPORT(blend_rounded);

void normalize_row(const uint8_t* in, const float* scale, const float* shift, float* out, size_t count) {
  HWY_DYNAMIC_DISPATCH(normalize)(in, scale, shift, out, count);
}
void blend_rows(const float* a, const float* b, float part, float* out, size_t count) {
  HWY_DYNAMIC_DISPATCH(blend)(a, b, part, out, count);
}
void blend_rows(const float* a, const float* b, float part, uint8_t* out, size_t count) {
  HWY_DYNAMIC_DISPATCH(blend_rounded)(a, b, part, out, count);
}

}  // namespace isochron::data
#endif
