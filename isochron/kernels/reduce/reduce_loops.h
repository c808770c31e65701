// The inner loops of reductions. An accumulator is a double for float types and an int64_t for integers; a partial is a
// value of the compute type that collects a bounded number of elements before it goes into an accumulator.
#pragma once

#include <cstdint>

#include "isochron/tensor/dtype.h"

namespace isochron::kernels {

enum class ReduceMethod : uint8_t { sum, prod, max, min };

struct ReduceLoops {
  // accumulator = method(accumulator, x[0], …, x[n - 1])
  void (*run)(const void* x, int64_t n, void* accumulator);
  // partial[c] = method(partial[c], x[0, c], …) for every column c
  void (*rows)(const void* x, int64_t rows, int64_t cols, void* partials);
  // accumulator[i] = method(accumulator[i], partial[i]); partial[i] = identity
  void (*flush)(void* partials, int64_t n, void* accumulators);
  void (*combine)(const void* more, int64_t n, void* accumulators);
  void (*clear)(void* partials, void* accumulators, int64_t n);  // to the identity; either may be null
};

// For the instruction set in use.
const ReduceLoops* reduce_loops(ReduceMethod method, DType compute);

}  // namespace isochron::kernels
