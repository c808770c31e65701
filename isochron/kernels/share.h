// How the threads of an SPMD call divide `count` items among themselves.
//
//   const Share mine = share_of(rows, 1, thread, threads);
//   for (int64_t row = mine.begin; row < mine.end; ++row) …
//
// Shares are contiguous, in thread order, and depend on nothing but the arguments. Boundaries fall on multiples of
// `grain`, so a small job stays whole on the first threads and two threads do not write one cache line.
#pragma once

#include <algorithm>
#include <cstdint>

namespace isochron::kernels {

struct Share {
  int64_t begin, end;
  bool empty() const { return begin >= end; }
};

inline Share share_of(int64_t count, int64_t grain, int thread, int threads) {
  const int64_t grains = (count + grain - 1) / grain;
  const auto boundary = [&](int64_t t) { return std::min(count, (grains * t + threads - 1) / threads * grain); };
  return {boundary(thread), boundary(thread + 1)};
}

}  // namespace isochron::kernels
