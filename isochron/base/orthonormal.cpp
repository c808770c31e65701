#include "isochron/base/orthonormal.h"

#include <algorithm>
#include <cmath>

// Only plain multiplications and additions, in four sums whatever the width of a vector: see rng_chunk.cpp.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/base/orthonormal.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace isochron::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kSums = 4;
using D = hn::CappedTag<double, kSums>;
constexpr D d{};
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));

// I rows from `a` on lose their parts along J unit vectors from `b` on: each number is loaded once for all of them.
template <int I, int J>
void subtract_parts(double* a, const double* b, int64_t length) {
  hn::Vec<D> sums[I][J][kSums / kLanes];
  for (auto& row : sums)
    for (auto& column : row)
      for (auto& sum : column) sum = hn::Zero(d);
  int64_t k = 0;
  for (; k + kSums <= length; k += kSums)
    for (int64_t part = 0; part < kSums / kLanes; ++part) {
      const int64_t at = k + part * kLanes;
      hn::Vec<D> x[I];
      for (int i = 0; i < I; ++i) x[i] = hn::LoadU(d, a + i * length + at);
      for (int j = 0; j < J; ++j) {
        const auto y = hn::LoadU(d, b + j * length + at);
        for (int i = 0; i < I; ++i) sums[i][j][part] = hn::Add(sums[i][j][part], hn::Mul(x[i], y));
      }
    }
  double parts[I][J];
  for (int i = 0; i < I; ++i)
    for (int j = 0; j < J; ++j) {
      double lanes[kSums];
      for (int64_t part = 0; part < kSums / kLanes; ++part) hn::StoreU(sums[i][j][part], d, lanes + part * kLanes);
      parts[i][j] = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
      for (int64_t rest = k; rest < length; ++rest) parts[i][j] += a[i * length + rest] * b[j * length + rest];
    }
  for (k = 0; k + kSums <= length; k += kLanes) {
    hn::Vec<D> y[J];
    for (int j = 0; j < J; ++j) y[j] = hn::LoadU(d, b + j * length + k);
    for (int i = 0; i < I; ++i) {
      auto x = hn::LoadU(d, a + i * length + k);
      for (int j = 0; j < J; ++j) x = hn::Sub(x, hn::Mul(hn::Set(d, parts[i][j]), y[j]));
      hn::StoreU(x, d, a + i * length + k);
    }
  }
  for (; k < length; ++k)
    for (int i = 0; i < I; ++i)
      for (int j = 0; j < J; ++j) a[i * length + k] -= parts[i][j] * b[j * length + k];
}

void scale_to_unit(double* a, int64_t length) {
  double sums[kSums] = {};
  for (int64_t k = 0; k < length; ++k) sums[k % kSums] += a[k] * a[k];
  const double scale = 1 / std::sqrt((sums[0] + sums[2]) + (sums[1] + sums[3]));
  for (int64_t k = 0; k < length; ++k) a[k] *= scale;
}

// Blocks of rows meet the rows before them while those are in cache.
void make_rows_orthonormal(double* rows, int64_t count, int64_t length) {
  constexpr int64_t kBlock = 8, kTogether = 4;
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t last = std::min(first + kBlock, count);
    for (int64_t j = 0; j < first; j += kTogether) {
      int64_t i = first;
      for (; i + 2 <= last; i += 2) subtract_parts<2, kTogether>(rows + i * length, rows + j * length, length);
      if (i < last) subtract_parts<1, kTogether>(rows + i * length, rows + j * length, length);
    }
    for (int64_t i = first; i < last; ++i) {
      for (int64_t j = first; j < i; ++j) subtract_parts<1, 1>(rows + i * length, rows + j * length, length);
      scale_to_unit(rows + i * length, length);
    }
  }
}

}  // namespace isochron::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron {

HWY_EXPORT(make_rows_orthonormal);

void make_orthonormal(double* rows, int64_t count, int64_t length) {
  HWY_DYNAMIC_DISPATCH(make_rows_orthonormal)(rows, count, length);
}

}  // namespace isochron
#endif
