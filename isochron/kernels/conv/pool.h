// Pooling over windows: vectors over channels. float32 and float64.
//
// The shape is that of a convolution with as many outputs as inputs. Called by every thread; each writes its own part.
#pragma once

#include <cstddef>

#include "isochron/kernels/conv/conv_shape.h"

namespace isochron::kernels {

template <class T>
struct PoolArgs {
  const T* x = nullptr;         // (batch, in…, channels)
  const T* gradient = nullptr;  // (batch, out…, channels)
  const T* from = nullptr;      // for pick: like x
  T* result = nullptr;
  bool count_padding = false;
};

// Whether the windows lie side by side over the whole image, so that each element belongs to exactly one. Then
// max_backward may write dx over x.
inline bool covers(const ConvShape& s) {
  for (size_t i = 0; i < 3; ++i)
    if (s.window[i] != s.stride[i] || s.pad[i] != 0 || s.in[i] != s.out[i] * s.stride[i]) return false;
  return true;
}

enum class PoolWork {
  max,           // x -> y
  max_pick,      // from, where x is the first maximum of its window -> y
  max_backward,  // gradient, x -> dx
  mean,          // x -> y
  mean_backward  // gradient -> dx
};

void pool(PoolWork work, const ConvShape& shape, const PoolArgs<float>& args, int thread, int threads);
void pool(PoolWork work, const ConvShape& shape, const PoolArgs<double>& args, int thread, int threads);

}  // namespace isochron::kernels
