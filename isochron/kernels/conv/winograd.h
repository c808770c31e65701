// 3x3 convolutions with stride 1 by Winograd's method F(4x4, 3x3): 36 products for what takes 144, over tiles of 4x4
// outputs. float32; channels in multiples of 8.
//
// A tile of 6x6 inputs, a kernel and a tile of results are each carried into 36 numbers by small fixed matrices; in
// between, convolution is 36 independent matrix products over channels. Rounding errors are a few times those of the
// direct sum (measured in tests/kernels/conv_test.cpp).
//
// Called by every thread; stages are separated by barriers. `shared` is common to all, `scratch` one's own; sizes
// below.
#pragma once

#include "isochron/kernels/conv/conv_gemm.h"

namespace isochron::kernels {

// Null when the method serves this convolution, else why not.
const char* winograd_refusal(const ConvShape& shape);

// How many tiles are worked on at a time; no bit of a result depends on it.
enum class WinogradBlock : uint8_t { modelled, half, twice };
inline constexpr int kWinogradBlocks = 3;

size_t winograd_kernel_bytes(const ConvShape& shape);  // shared: the carried kernel
size_t winograd_scratch_bytes(const ConvShape& shape);

// Forward: stage 0 carries the kernel, stage 1 computes y. Of the epilogue, bias and relu are applied.
void winograd_carry_kernel(const ConvShape& shape, const float* kernel, float* carried, int thread, int threads);
void winograd_forward(const ConvShape& shape, const float* x, const float* carried, const ConvEpilogue<float>& epilogue,
                      float* y, void* scratch, int thread, int threads, WinogradBlock block = {});

// By input: the convolution of dy with the kernel turned around.
void winograd_carry_turned_kernel(const ConvShape& shape, const float* kernel, float* carried, int thread, int threads);
void winograd_input_grad(const ConvShape& shape, const float* dy, const float* carried, float* dx, void* scratch,
                         int thread, int threads, WinogradBlock block = {});

// By kernel: stage 0 sums each thread's tiles into its own part of `sums`, stage 1 adds the parts and carries them
// back.
size_t winograd_sums_bytes(const ConvShape& shape, int threads);  // shared
void winograd_sum_tiles(const ConvShape& shape, const float* x, const float* dy, float* sums, void* scratch, int thread,
                        int threads);
void winograd_kernel_grad(const ConvShape& shape, const float* sums, float* dkernel, int thread, int threads);

}  // namespace isochron::kernels
