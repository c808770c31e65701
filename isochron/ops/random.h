// Random tensors from a counter-based generator: the same numbers for any number of threads.
//
//   set_seed(42);
//   Tensor noise = random_normal({32, 10}, 0, 0.1);
//   Tensor same = random_uniform({3}, 0, 1, {.seed = 7});    // these three numbers at every call
//
// Without a seed of its own, every call continues the global sequence (random_key.h); inside iso::function every call
// of the function draws new numbers.
#pragma once

#include <optional>

#include "isochron/ops/operand.h"
#include "isochron/ops/random_key.h"

namespace isochron {

struct RandomOptions {
  std::optional<uint64_t> seed = {};
  DType dtype = DType::float32;
  // A (seed, stream) pair of one's own, int64(2,), in place of a seed: a variable, say, that counts its calls.
  Tensor key = {};
};

// In [low, high).
Tensor random_uniform(const Shape& shape, double low = 0, double high = 1, RandomOptions options = {});
Tensor random_normal(const Shape& shape, double mean = 0, double stddev = 1, RandomOptions options = {});
// Normal, drawn again beyond two standard deviations.
Tensor random_truncated_normal(const Shape& shape, double mean = 0, double stddev = 1, RandomOptions options = {});
// 1 with the given probability, else 0; any dtype.
Tensor random_bernoulli(const Shape& shape, double probability = 0.5, RandomOptions options = {});
// int64 in [low, high).
Tensor random_integers(const Shape& shape, int64_t low, int64_t high, std::optional<uint64_t> seed = {});
// 0 … n - 1 (int64) in random order.
Tensor random_permutation(int64_t n, std::optional<uint64_t> seed = {});

}  // namespace isochron
