// Products against a plain triple loop in double, on every instruction set of the machine.
#include "isochron/kernels/gemm/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "isochron/base/error.h"
#include "isochron/kernels/isa.h"
#include "tests/kernels/gemm_case.h"

namespace isochron::kernels {
namespace {

template <class T>
class Gemm : public ::testing::Test {};
using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Gemm, Floats);

TYPED_TEST(Gemm, AllSmallSizesAndLayouts) {
  for_each_isa([](std::string_view) {
    const int64_t sizes[] = {0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33};
    for (int64_t m : sizes)
      for (int64_t n : sizes)
        for (int64_t k : sizes)
          for (int layout = 0; layout < 4; ++layout) {
            Case<TypeParam> test(m, n, k, layout & 1, layout & 2, (m + n + k) % 3 == 0 ? 5 : 0);
            run(test, 1 + static_cast<int>((m + n + k) % 3));
            ASSERT_TRUE(
                test.matches(test.c, test.tolerance(), [&](int64_t i, int64_t j) { return test.expected_sum(i, j); }));
          }
  });
}

// Sizes that reach every path: blocks of k, n and m, packed and direct operands, one row, one column.
constexpr Sizes kLargerSizes[] = {{32, 128, 784}, {784, 128, 32}, {32, 784, 128}, {1, 128, 784},
                                  {784, 128, 1},  {1, 784, 128},  {32, 512, 300}, {130, 1024, 40},
                                  {100, 10, 129}, {129, 257, 65}, {70, 600, 300}, {200, 70, 520},
                                  {300, 1, 77},   {40, 3, 301},   {6, 1100, 100}, {67, 40, 257}};

TYPED_TEST(Gemm, LargerSizesAndThreads) {
  for (const auto& [m, n, k] : kLargerSizes)
    for (int layout = 0; layout < 4; ++layout) {
      Case<TypeParam> test(m, n, k, layout & 1, layout & 2, 3);
      for_each_isa([&](std::string_view) {
        for (int threads = 1; threads <= 3; ++threads) {
          std::fill(test.c.begin(), test.c.end(), static_cast<TypeParam>(kGuard));
          run(test, threads);
          const auto once = test.c;
          ASSERT_TRUE(
              test.matches(once, test.tolerance(), [&](int64_t i, int64_t j) { return test.expected_sum(i, j); }));
          run(test, threads);
          ASSERT_EQ(0, std::memcmp(once.data(), test.c.data(), once.size() * sizeof(TypeParam)));
        }
      });
    }
}

TYPED_TEST(Gemm, NoBitDependsOnTheBlocking) {
  for_each_isa([](std::string_view isa) {
    for (const auto& [m, n, k] : kLargerSizes)
      for (int layout = 0; layout < 4; ++layout)
        for (const bool accumulate : {false, true}) {
          Case<TypeParam> test(m, n, k, layout & 1, layout & 2, 3);
          for (size_t i = 0; i < test.pre.size(); ++i) test.pre[i] = static_cast<TypeParam>(i % 11);
          if (accumulate) {
            test.args.accumulate = true;
          } else {
            test.args.bias = test.bias.data();
            test.args.residual = test.pre.data();
            test.args.activation = GemmActivation::tanh;
          }
          const auto start = test.c;
          run(test, 2);
          const auto modelled = std::exchange(test.c, start);
          for (const GemmBlocking blocking : {GemmBlocking::direct, GemmBlocking::packed}) {
            test.shape.blocking = blocking;
            test.c = start;
            test.args.c = test.c.data();
            run(test, 2);
            ASSERT_EQ(0, std::memcmp(modelled.data(), test.c.data(), modelled.size() * sizeof(TypeParam)))
                << m << "x" << n << "x" << k << " layout " << layout << " blocking " << static_cast<int>(blocking)
                << " on " << isa;
          }
        }
  });
}

TYPED_TEST(Gemm, AccumulateAddsToC) {
  for_each_isa([](std::string_view) {
    for (const auto& [m, n, k] : kLargerSizes)
      for (int layout = 0; layout < 4; ++layout) {
        Case<TypeParam> test(m, n, k, layout & 1, layout & 2, 3);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j)
            test.c[static_cast<size_t>(i * test.args.ldc + j)] = static_cast<TypeParam>(i - j);
        test.args.accumulate = true;
        run(test, 2);
        ASSERT_TRUE(test.matches(test.c, test.tolerance() * 4, [&](int64_t i, int64_t j) {
          return test.expected_sum(i, j) + static_cast<double>(i - j);
        }));
      }
  });
}

TYPED_TEST(Gemm, BiasActivationAndPreActivation) {
  const Sizes sizes[] = {{5, 10, 0}, {1, 37, 50}, {3, 19, 20}, {9, 1, 12}, {33, 40, 70}, {32, 33, 100}, {70, 20, 300}};
  for_each_isa([&](std::string_view) {
    for (int activation = 0; activation <= static_cast<int>(GemmActivation::softplus); ++activation)
      for (const auto& [m, n, k] : sizes)
        for (int layout = 0; layout < 4; ++layout) {
          Case<TypeParam> test(m, n, k, layout & 1, layout & 2, 2);
          test.args.bias = test.bias.data();
          test.args.activation = static_cast<GemmActivation>(activation);
          test.args.activation_alpha = 0.3;
          const bool keep_sums = (m + layout) % 2 == 0;
          if (keep_sums) test.args.pre_activation = test.pre.data();
          run(test, 2);
          const auto sum = [&](int64_t i, int64_t j) {
            return test.expected_sum(i, j) + test.bias[static_cast<size_t>(j)];
          };
          ASSERT_TRUE(
              test.matches(test.c, test.tolerance() * 2,
                           [&](int64_t i, int64_t j) { return activation_of(test.args.activation, 0.3, sum(i, j)); }))
              << "activation " << activation;
          if (keep_sums) {
            ASSERT_TRUE(test.matches(test.pre, test.tolerance(), sum));
          }
        }
  });
}

TYPED_TEST(Gemm, AResidualIsAddedOnce) {
  for_each_isa([](std::string_view) {
    for (const auto& [m, n, k] : kLargerSizes)
      for (int layout = 0; layout < 4; ++layout) {
        Case<TypeParam> test(m, n, k, layout & 1, layout & 2, 3);
        for (size_t i = 0; i < test.pre.size(); ++i) test.pre[i] = static_cast<TypeParam>(i % 11);
        test.args.residual = test.pre.data();
        if (layout % 2) test.args.bias = test.bias.data();
        if (m % 2) test.args.activation = GemmActivation::relu;
        run(test, 2);
        ASSERT_TRUE(test.matches(test.c, test.tolerance() * 4, [&](int64_t i, int64_t j) {
          const double sum = test.expected_sum(i, j) + test.pre[static_cast<size_t>(i * test.args.ldc + j)] +
                             (layout % 2 ? test.bias[static_cast<size_t>(j)] : 0);
          return m % 2 ? std::max(sum, 0.0) : sum;
        }));
      }
  });
}

TYPED_TEST(Gemm, AShutGateGivesZero) {
  for_each_isa([](std::string_view) {
    for (const auto& [m, n, k] : kLargerSizes)
      for (int layout = 0; layout < 4; ++layout) {
        Case<TypeParam> test(m, n, k, layout & 1, layout & 2, 3);
        for (size_t i = 0; i < test.pre.size(); ++i) test.pre[i] = static_cast<TypeParam>(static_cast<int>(i % 5) - 2);
        test.args.gate = test.pre.data();
        test.args.bias = test.bias.data();
        run(test, 2);
        ASSERT_TRUE(test.matches(test.c, test.tolerance() * 4, [&](int64_t i, int64_t j) {
          const double sum = test.expected_sum(i, j) + test.bias[static_cast<size_t>(j)];
          return test.pre[static_cast<size_t>(i * test.args.ldc + j)] > 0 ? sum : 0.0;
        }));
      }
  });
}

TYPED_TEST(Gemm, SumsOfColumnsComeWithTheProduct) {
  for_each_isa([](std::string_view) {
    for (const auto& [m, n, k] : kLargerSizes)
      for (int threads = 1; threads <= 3; ++threads) {
        Case<TypeParam> test(m, n, k, threads % 2, false, 3);
        std::vector<TypeParam> sums(static_cast<size_t>(n) + 1, static_cast<TypeParam>(kGuard));
        test.args.column_sums = sums.data();
        run(test, threads);
        ASSERT_TRUE(
            test.matches(test.c, test.tolerance(), [&](int64_t i, int64_t j) { return test.expected_sum(i, j); }));
        EXPECT_EQ(sums.back(), static_cast<TypeParam>(kGuard));
        for (int64_t j = 0; j < n; ++j) {
          double want = 0;
          for (int64_t p = 0; p < k; ++p) want += test.b[static_cast<size_t>(p * test.args.ldb + j)];
          ASSERT_NEAR(sums[static_cast<size_t>(j)], want, test.tolerance() * 4)
              << m << " " << n << " " << k << " " << j;
        }
      }
  });
}

TYPED_TEST(Gemm, ActivationsStandFarOut) {
  // k = 0 leaves the bias alone, so the activation sees exactly these values.
  const std::vector<TypeParam> values = {-1e30, -1000, -90, -20, -5, -1, -0.01, 0, 0.01, 1, 5, 20, 90, 1000, 1e30};
  for_each_isa([&](std::string_view) {
    for (int activation = 0; activation <= static_cast<int>(GemmActivation::softplus); ++activation) {
      Case<TypeParam> test(2, static_cast<int64_t>(values.size()), 0, false, false);
      test.bias = values;
      test.args.bias = test.bias.data();
      test.args.activation = static_cast<GemmActivation>(activation);
      test.args.activation_alpha = 0.3;
      run(test, 1);
      const double slack = std::numeric_limits<TypeParam>::epsilon() * 16;
      EXPECT_TRUE(test.matches(
          test.c, slack,
          [&](int64_t, int64_t j) { return activation_of(test.args.activation, 0.3, values[static_cast<size_t>(j)]); }))
          << "activation " << activation;
    }
  });
}

TYPED_TEST(Gemm, NotANumberIsNotHidden) {
  for_each_isa([](std::string_view) {
    for (int activation = 0; activation <= static_cast<int>(GemmActivation::softplus); ++activation) {
      Case<TypeParam> test(4, 20, 3, false, false);
      test.a[4] = std::numeric_limits<TypeParam>::quiet_NaN();  // row 1
      test.args.activation = static_cast<GemmActivation>(activation);
      run(test, 1);
      for (int64_t j = 0; j < 20; ++j) {
        ASSERT_TRUE(std::isnan(test.c[static_cast<size_t>(20 + j)])) << "activation " << activation;
        ASSERT_FALSE(std::isnan(test.c[static_cast<size_t>(j)]));
      }
    }
  });
}

TYPED_TEST(Gemm, BatchWithStridesAndBroadcast) {
  for_each_isa([](std::string_view) {
    for (int64_t batch : {0, 1, 3, 64})
      for (int layout = 0; layout < 4; ++layout)
        for (int threads = 1; threads <= 3; ++threads) {
          const int64_t m = 17, n = 19, k = 21;
          const Case<TypeParam> one(m, n, k, layout & 1, layout & 2);
          Case<TypeParam> test = one;
          // A moves with the batch, B is shared by all.
          test.a.clear();
          for (int64_t item = 0; item < batch; ++item)
            for (TypeParam value : one.a) test.a.push_back(value * static_cast<TypeParam>(item + 1));
          test.c.assign(static_cast<size_t>(batch * m * n), static_cast<TypeParam>(kGuard));
          test.args.a = test.a.data();
          test.args.c = test.c.data();
          test.args.b = test.b.data();
          for_all_threads(gemm_scratch_bytes(test.shape, threads), threads, [&](void* scratch, int thread) {
            batched_gemm(test.shape, test.args, batch, {.a = m * k, .b = 0, .c = m * n}, scratch, thread, threads);
          });
          for (int64_t item = 0; item < batch; ++item) {
            const auto begin = test.c.begin() + item * m * n;
            ASSERT_TRUE(one.matches({begin, begin + m * n}, one.tolerance() * 4, [&](int64_t i, int64_t j) {
              return one.expected_sum(i, j) * static_cast<double>(item + 1);
            }));
          }
        }
  });
}

TEST(GemmTiles, HandsOutEveryElementOnce) {
  const Sizes sizes[] = {{784, 128, 32}, {784, 128, 1}, {128, 10, 32}, {5, 3000, 7}, {1, 1, 1},
                         {0, 4, 3},      {4, 0, 3},     {13, 40, 0},   {50, 600, 64}};
  for_each_isa([&](std::string_view) {
    for (const auto& [m, n, k] : sizes)
      for (int layout = 0; layout < 4; ++layout)
        for (int threads = 1; threads <= 3; ++threads) {
          Case<float> test(m, n, k, layout & 1, layout & 2);
          std::vector<float> sums(test.c.size(), 0);
          struct Context {
            std::vector<float>* sums;
            int64_t n;
          } context{&sums, n};
          for_all_threads(gemm_tiles_scratch_bytes(test.shape, threads), threads, [&](void* scratch, int thread) {
            gemm_tiles(
                test.shape, test.args, scratch, thread, threads, &context,
                [](void* to, int64_t row, int64_t col, int64_t rows, int64_t cols, const float* tile, int64_t ld) {
                  auto* c = static_cast<Context*>(to);
                  for (int64_t i = 0; i < rows; ++i)
                    for (int64_t j = 0; j < cols; ++j)
                      (*c->sums)[static_cast<size_t>((row + i) * c->n + col + j)] += tile[i * ld + j] + 1;
                });
          });
          ASSERT_TRUE(test.matches(sums, test.tolerance() * 2,
                                   [&](int64_t i, int64_t j) { return test.expected_sum(i, j) + 1; }));
        }
  });
}

TEST(GemmThreads, SharesRunAtTheSameTime) {
  const int threads = 3;
  Case<float> test(64, 200, 300, false, true);
  std::vector<std::thread> team;
  for (int thread = 0; thread < threads; ++thread)
    team.emplace_back([&, thread] {
      Scratch scratch(gemm_scratch_bytes(test.shape, threads));
      gemm(test.shape, test.args, scratch.data(), thread, threads);
    });
  for (std::thread& member : team) member.join();
  EXPECT_TRUE(test.matches(test.c, test.tolerance(), [&](int64_t i, int64_t j) { return test.expected_sum(i, j); }));
}

TEST(GemmChecks, RefusesWhatItCannotDo) {
  Case<float> test(2, 2, 2, false, false);
  test.shape.dtype = DType::int32;
  EXPECT_THROW(gemm(test.shape, test.args, nullptr, 0, 1), InternalError);
  test.shape.dtype = DType::float32;
  EXPECT_THROW(gemm(test.shape, test.args, nullptr, 1, 1), InternalError);
  test.args.accumulate = true;
  test.args.bias = test.bias.data();
  EXPECT_THROW(gemm(test.shape, test.args, nullptr, 0, 1), InternalError);
  Case<float> gated(2, 2, 2, false, false);
  gated.args.gate = gated.bias.data();
  gated.args.activation = GemmActivation::relu;
  EXPECT_THROW(gemm(gated.shape, gated.args, nullptr, 0, 1), InternalError);
  Case<float> sums(2, 2, 2, false, true);
  sums.args.column_sums = sums.bias.data();
  EXPECT_THROW(gemm(sums.shape, sums.args, nullptr, 0, 1), InternalError);
}

}  // namespace
}  // namespace isochron::kernels
