// A product with operands of its own and what it should give, by a plain triple loop in double.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "isochron/kernels/gemm/gemm.h"
#include "isochron/kernels/isa.h"

namespace isochron::kernels {

inline constexpr double kGuard = -777;  // fills what a product must not touch

inline double activation_of(GemmActivation activation, double alpha, double x) {
  switch (activation) {
    case GemmActivation::none:
      return x;
    case GemmActivation::relu:
      return std::max(x, 0.0);
    case GemmActivation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case GemmActivation::tanh:
      return std::tanh(x);
    case GemmActivation::leaky_relu:
      return x < 0 ? alpha * x : x;
    case GemmActivation::elu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case GemmActivation::selu:
      return 1.0507009873554804934 * (x < 0 ? 1.6732632423543772848 * std::expm1(x) : x);
    case GemmActivation::gelu_erf:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case GemmActivation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case GemmActivation::silu:
      return x / (1 + std::exp(-x));
    case GemmActivation::softplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  }
  return x;
}

// One product with its operands, each row `pad` elements longer than needed.
template <class T>
struct Case {
  GemmShape shape;
  GemmArgs args;
  std::vector<T> a, b, bias, c, pre;
  std::vector<double> sums;  // (m, n)

  Case(int64_t m, int64_t n, int64_t k, bool trans_a, bool trans_b, int64_t pad = 0)
      : shape{m, n, k, trans_a, trans_b, dtype_of<T>()} {
    std::mt19937 random(static_cast<unsigned>(m * 31 + n * 17 + k));
    std::uniform_real_distribution<double> uniform(-1, 1);
    const auto fill = [&](std::vector<T>& values, int64_t size) {
      values.resize(static_cast<size_t>(size));
      for (T& value : values) value = static_cast<T>(uniform(random));
    };
    args.lda = (trans_a ? m : k) + pad;
    args.ldb = (trans_b ? k : n) + pad;
    args.ldc = n + pad;
    fill(a, (trans_a ? k : m) * args.lda);
    fill(b, (trans_b ? n : k) * args.ldb);
    fill(bias, n);
    c.assign(static_cast<size_t>(m * args.ldc), static_cast<T>(kGuard));
    pre = c;
    args.a = a.data();
    args.b = b.data();
    args.c = c.data();
    reference_gemm();
  }

  void reference_gemm() {
    sums.assign(static_cast<size_t>(shape.m * shape.n), 0);
    for (int64_t i = 0; i < shape.m; ++i)
      for (int64_t p = 0; p < shape.k; ++p) {
        const double x = a[static_cast<size_t>(shape.trans_a ? p * args.lda + i : i * args.lda + p)];
        for (int64_t j = 0; j < shape.n; ++j)
          sums[static_cast<size_t>(i * shape.n + j)] +=
              x * b[static_cast<size_t>(shape.trans_b ? j * args.ldb + p : p * args.ldb + j)];
      }
  }
  double expected_sum(int64_t i, int64_t j) const { return sums[static_cast<size_t>(i * shape.n + j)]; }

  double tolerance() const { return std::numeric_limits<T>::epsilon() * (8 + 2 * static_cast<double>(shape.k)); }

  // Compares `actual` (laid out like C) with `expected(i, j)` and checks that the padding is untouched.
  template <class Expected>
  ::testing::AssertionResult matches(const std::vector<T>& actual, double slack, Expected&& expected) const {
    for (int64_t i = 0; i < shape.m; ++i) {
      for (int64_t j = 0; j < args.ldc; ++j) {
        const double got = actual[static_cast<size_t>(i * args.ldc + j)];
        const double want = j < shape.n ? expected(i, j) : kGuard;
        if (!(std::abs(got - want) <= (j < shape.n ? slack * (1 + std::abs(want)) : 0)))
          return ::testing::AssertionFailure()
                 << "m=" << shape.m << " n=" << shape.n << " k=" << shape.k << " trans_a=" << shape.trans_a
                 << " trans_b=" << shape.trans_b << " ldc=" << args.ldc << " isa=" << current_isa() << " at (" << i
                 << ", " << j << "): got " << got << ", want " << want;
      }
    }
    return ::testing::AssertionSuccess();
  }
};

struct Scratch {
  explicit Scratch(size_t bytes) : size(bytes), storage(bytes + 128, std::byte{0x5a}) {}
  void* data() {
    void* start = storage.data();
    size_t space = storage.size();
    return std::align(64, size, start, space);
  }
  // A kernel that writes behind its scratch changes the bytes after it.
  bool intact() { return static_cast<std::byte*>(data())[size] == std::byte{0x5a}; }
  size_t size;
  std::vector<std::byte> storage;
};

// The shares of all threads one after another: a share never needs another thread's progress.
template <class Call>
void for_all_threads(size_t scratch_bytes, int threads, Call&& call) {
  for (int thread = 0; thread < threads; ++thread) {
    Scratch scratch(scratch_bytes);
    call(scratch.data(), thread);
    ASSERT_TRUE(scratch.intact());
  }
}

template <class T>
void run(const Case<T>& test, int threads) {
  for_all_threads(gemm_scratch_bytes(test.shape, threads), threads,
                  [&](void* scratch, int thread) { gemm(test.shape, test.args, scratch, thread, threads); });
}

struct Sizes {
  int64_t m, n, k;
};

}  // namespace isochron::kernels
