// Convolutions of any geometry as matrix products over blocks of patches that stay in cache. float32 and float64.
//
//   conv_forward(shape, x, kernel, {.bias = bias}, y, scratch, thread, threads);
//
// Called by every thread with its own scratch; each writes its own part of the result, and nothing is allocated. A
// result is the same from run to run at one thread count. A patch is what one output pixel sees: taps x channels of a
// group, in the order of the kernel's rows.
#pragma once

#include <cstddef>

#include "isochron/kernels/conv/conv_shape.h"
#include "isochron/kernels/gemm/product.h"

namespace isochron::kernels {

template <class T>
struct ConvEpilogue {
  const T* bias = nullptr;
  TileFunction activation = nullptr;
  bool relu = false;  // what `activation` is, where relu is done without a call
  double immediates[2] = {0, 0};
  T* pre_activation = nullptr;  // laid out like y
};

template <class T>
void conv_forward(const ConvShape& shape, const T* x, const T* kernel, const ConvEpilogue<T>& epilogue, T* y,
                  void* scratch, int thread, int threads);
template <class T>
size_t conv_forward_scratch(const ConvShape& shape);

// Two stages: the kernel is turned into `turned` (out_channels, depth), then dx is computed from it.
template <class T>
void turn_kernel(const ConvShape& shape, const T* kernel, T* turned, int thread, int threads);
template <class T>
void conv_input_grad(const ConvShape& shape, const T* dy, const T* turned, T* dx, void* scratch, int thread,
                     int threads);
template <class T>
size_t conv_input_grad_scratch(const ConvShape& shape);

template <class T>
void conv_kernel_grad(const ConvShape& shape, const T* x, const T* dy, T* dkernel, void* scratch, int thread,
                      int threads);
template <class T>
size_t conv_kernel_grad_scratch(const ConvShape& shape, int threads);

}  // namespace isochron::kernels
