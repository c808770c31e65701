// Matrix products: C = activation(op(A) op(B) + bias + residual), written for small and middle sizes in training.
//
//   GemmShape shape{.m = 32, .n = 128, .k = 784};                         // y (32,128) = x (32,784) w (784,128)
//   GemmArgs args{.a = x, .b = w, .c = y, .lda = 784, .ldb = 128, .ldc = 128, .bias = bias,
//                 .activation = GemmActivation::relu};
//   gemm(shape, args, scratch[thread], thread, threads);                  // called by every one of `threads` threads
//
// Matrices are row-major; a leading dimension is the distance of two rows as stored, in elements. trans_a says A is
// stored (k,m), trans_b says B is stored (n,k). float32 and float64.
//
// Every thread calls with the same arguments, its own index and its own scratch, and writes its own part of C: there
// is no synchronisation and no allocation inside. C must not overlap A, B or bias. The split depends on shape and
// thread count alone, so a result is the same bit for bit from run to run on one machine at one thread count.
// Scratch is gemm_scratch_bytes() long per thread, 64-byte aligned, and holds nothing between calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isochron/tensor/dtype.h"

namespace isochron::kernels {

enum class GemmActivation : uint8_t {
  none,
  relu,
  sigmoid,
  tanh,
  leaky_relu,  // alpha: slope below zero
  elu,         // alpha: elu approaches -alpha
  selu,
  gelu_erf,
  gelu_tanh,
  silu,
  softplus,
};

// What is copied into panels before it is multiplied, and so in which order memory is read; no bit of C depends on it.
enum class GemmBlocking : uint8_t { modelled, direct, packed };
inline constexpr int kGemmBlockings = 3;

// C (m,n) = op(A) (m,k) op(B) (k,n). Any of m, n, k may be 0; k = 0 gives the activation of the bias.
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  DType dtype = DType::float32;
  GemmBlocking blocking = GemmBlocking::modelled;
};

struct GemmArgs {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  int64_t lda = 0, ldb = 0, ldc = 0;
  const void* bias = nullptr;  // (n), added to every row
  GemmActivation activation = GemmActivation::none;
  double activation_alpha = 0;
  void* pre_activation = nullptr;  // second output: the values before the activation, laid out like C
  bool accumulate = false;         // C += op(A) op(B); then no bias, residual, activation or pre_activation
  const void* residual = nullptr;  // laid out like C, which it must not overlap
  const void* gate = nullptr;      // laid out like C, which becomes 0 where this is not above 0; then no activation
  void* column_sums = nullptr;     // second output, (n): the sums over the rows of B, which is not transposed
};

size_t gemm_scratch_bytes(const GemmShape& shape, int threads);
void gemm(const GemmShape& shape, const GemmArgs& args, void* scratch, int thread, int threads);

// Few rows times a deep B: each thread takes a part of k instead of a part of C, and with it the rows of B that it
// writes when a step updates them; a line another CPU wrote takes many times as long to read, and to write again. Every
// thread calls gemm_part, all meet, and every thread calls gemm_add_parts. `parts` is memory of all threads,
// gemm_parts_bytes() long and 64-byte aligned; scratch as for gemm. Without accumulate and column_sums.
inline constexpr int64_t kDeeperThanTall = 8;  // at least so many times as deep as there are rows
bool gemm_splits_depth(const GemmShape& shape);
size_t gemm_parts_bytes(const GemmShape& shape, int threads);
void gemm_part(const GemmShape& shape, const GemmArgs& args, void* parts, void* scratch, int thread, int threads);
void gemm_add_parts(const GemmShape& shape, const GemmArgs& args, const void* parts, int thread, int threads);

// `batch` products of one shape; operand i starts at base + i * stride elements, stride 0 repeats the operand.
// pre_activation, residual and gate move with C, bias is the same for all; no column_sums. Scratch as for gemm.
struct BatchStrides {
  int64_t a = 0, b = 0, c = 0;
};
void batched_gemm(const GemmShape& shape, const GemmArgs& args, int64_t batch, const BatchStrides& strides,
                  void* scratch, int thread, int threads);

// The product as a provider of finished blocks: C is not stored (args.c and ldc are ignored); each block of the
// thread's share is computed into scratch and handed to `consume`, as (row, col) .. (row + rows, col + cols) of C
// with `ld` elements between rows. A block spans whole rows of C as long as n allows, every element of C comes
// exactly once, and the tile may be overwritten by `consume`. float32 only, without accumulate, residual, gate or
// second outputs.
using GemmConsume = void (*)(void* context, int64_t row, int64_t col, int64_t rows, int64_t cols, const float* tile,
                             int64_t ld);
size_t gemm_tiles_scratch_bytes(const GemmShape& shape, int threads);
void gemm_tiles(const GemmShape& shape, const GemmArgs& args, void* scratch, int thread, int threads, void* context,
                GemmConsume consume);

}  // namespace isochron::kernels
