// What the memory plan makes of a graph after passes.
#include <gtest/gtest.h>

#include "isochron/exec/evaluate.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "pass_helpers.h"

namespace isochron::test {
namespace {

int64_t arena_of(const std::vector<Tensor>& outputs) {
  std::lock_guard lock(graph_mutex());
  return Executable::compile(graph_of(outputs))->arena_bytes();
}

constexpr int64_t kMatrix = 64 * 64 * 4;

TEST(MemoryPlan, AnElementwiseOpWritesOverWhatItReadsLast) {
  const Tensor a = ones({64, 64});
  eval({a});
  const Tensor product = matmul(a, a);
  // The product is read last by the exponential, whose result takes its place.
  EXPECT_EQ(arena_of({matmul(exp(product) * 2, a)}) - arena_of({matmul(matmul(a, a), a)}), 0);
}

TEST(MemoryPlan, WhatIsReadAgainIsNotOverwritten) {
  const Tensor a = ones({64, 64});
  eval({a});
  const Tensor product = matmul(a, a);
  const int64_t shared = arena_of({matmul(exp(product) * 2, a)});
  EXPECT_EQ(arena_of({matmul(matmul(exp(product) * 2, a), product)}) - shared, 2 * kMatrix);
}

}  // namespace
}  // namespace isochron::test
