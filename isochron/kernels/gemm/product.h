// One thread's product, without threads: what gemm.cpp hands to the per-instruction-set code.
#pragma once

#include "isochron/kernels/gemm/gemm.h"
#include "isochron/kernels/tile/tile_ops.h"

namespace isochron::kernels {

// C (m,n) = activation(op(A) op(B) + bias + residual), 0 where the gate is shut; fields as in GemmShape and GemmArgs.
template <class T>
struct Product {
  int64_t m, n, k;
  const T* a;
  int64_t lda;
  bool trans_a;
  const T* b;
  int64_t ldb;
  bool trans_b;
  T* c;
  int64_t ldc;
  const T* bias;
  T* pre_activation;
  TileFunction activation;  // in place, or null
  double immediates[2];
  bool accumulate;
  const T* residual = nullptr;
  const T* gate = nullptr;
  T* column_sums = nullptr;
  GemmBlocking blocking = GemmBlocking::modelled;
};

// The loop a separate elementwise op would run, so that fusing the activation changes no bit of the result; null for
// none.
TileFunction activation_function(GemmActivation activation, DType dtype);

void run_product(const Product<float>& product, void* scratch);
void run_product(const Product<double>& product, void* scratch);

// C of the product is the sum of `count` parts of `distance` elements, each (rows, ld) from its C's place on, and what
// follows the sums; A and B are not looked at.
template <class T>
struct PartialSums {
  const T* first;
  int64_t ld, distance;
  int count;
};
void add_parts(const Product<float>& product, const PartialSums<float>& parts);
void add_parts(const Product<double>& product, const PartialSums<double>& parts);

// Scratch that run_product needs for these m, n, k and transpositions (pointers are not looked at).
size_t product_scratch_bytes(const Product<float>& product);
size_t product_scratch_bytes(const Product<double>& product);

}  // namespace isochron::kernels
