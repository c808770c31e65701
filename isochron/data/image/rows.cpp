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

void blend(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, float part, float* HWY_RESTRICT out,
           size_t count) {
  const size_t lanes = hn::Lanes(f);
  const auto p = hn::Set(f, part);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = hn::LoadU(f, a + i);
    hn::StoreU(hn::MulAdd(hn::Sub(hn::LoadU(f, b + i), x), p, x), f, out + i);
  }
  for (; i < count; ++i) out[i] = a[i] + (b[i] - a[i]) * part;
}

void blend_rounded(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, float part, uint8_t* HWY_RESTRICT out,
                   size_t count) {
  const size_t lanes = hn::Lanes(f);
  const auto p = hn::Set(f, part);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = hn::LoadU(f, a + i);
    const auto y = hn::MulAdd(hn::Sub(hn::LoadU(f, b + i), x), p, x);
    hn::StoreU(hn::DemoteTo(u8, hn::NearestInt(y)), u8, out + i);
  }
  for (; i < count; ++i) out[i] = static_cast<uint8_t>(a[i] + (b[i] - a[i]) * part + 0.5f);
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
