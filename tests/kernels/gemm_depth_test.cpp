// Deep products split along their depth, part by part, on every instruction set of the machine.
#include "tests/kernels/gemm_case.h"

namespace isochron::kernels {
namespace {

// All threads' parts, then all threads' sums.
template <class T>
void run_by_depth(const Case<T>& test, int threads) {
  Scratch parts(gemm_parts_bytes(test.shape, threads));
  for_all_threads(gemm_scratch_bytes(test.shape, threads), threads, [&](void* scratch, int thread) {
    gemm_part(test.shape, test.args, parts.data(), scratch, thread, threads);
  });
  ASSERT_TRUE(parts.intact());
  for (int thread = 0; thread < threads; ++thread) gemm_add_parts(test.shape, test.args, parts.data(), thread, threads);
}

template <class T>
class GemmDepth : public ::testing::Test {};
using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GemmDepth, Floats);

TYPED_TEST(GemmDepth, PartsOfADeepProductAddUp) {
  const Sizes sizes[] = {{1, 128, 784}, {32, 128, 784}, {5, 17, 259}, {3, 1, 300}, {16, 10, 256}, {2, 1000, 257}};
  for_each_isa([&](std::string_view) {
    for (const auto& [m, n, k] : sizes)
      for (const int threads : {1, 2, 3, 4, 40}) {
        Case<TypeParam> test(m, n, k, false, false, 3);
        ASSERT_TRUE(gemm_splits_depth(test.shape));
        for (size_t i = 0; i < test.pre.size(); ++i) test.pre[i] = static_cast<TypeParam>(static_cast<int>(i % 5) - 2);
        const auto other = [&](int64_t i, int64_t j) {
          return static_cast<double>(test.pre[static_cast<size_t>(i * test.args.ldc + j)]);
        };
        const auto sum = [&](int64_t i, int64_t j) {
          return test.expected_sum(i, j) + test.bias[static_cast<size_t>(j)];
        };
        test.args.bias = test.bias.data();
        run_by_depth(test, threads);
        ASSERT_TRUE(test.matches(test.c, test.tolerance(), sum)) << threads << " threads";

        test.args.residual = test.pre.data();
        test.args.activation = GemmActivation::relu;
        run_by_depth(test, threads);
        ASSERT_TRUE(test.matches(test.c, test.tolerance() * 4,
                                 [&](int64_t i, int64_t j) { return std::max(sum(i, j) + other(i, j), 0.0); }));

        test.args.residual = nullptr;
        test.args.activation = GemmActivation::none;
        test.args.gate = test.pre.data();
        run_by_depth(test, threads);
        ASSERT_TRUE(test.matches(test.c, test.tolerance(),
                                 [&](int64_t i, int64_t j) { return other(i, j) > 0 ? sum(i, j) : 0.0; }));

        std::vector<TypeParam> before(test.c.size(), static_cast<TypeParam>(kGuard));
        test.args.gate = nullptr;
        test.args.activation = GemmActivation::tanh;
        test.args.pre_activation = before.data();
        run_by_depth(test, threads);
        ASSERT_TRUE(test.matches(before, test.tolerance(), sum));
        ASSERT_TRUE(
            test.matches(test.c, test.tolerance() * 2, [&](int64_t i, int64_t j) { return std::tanh(sum(i, j)); }));
      }
  });
}

TEST(GemmDepthChoice, IsSplitWhereItIsMuchDeeperThanTheRowsAreMany) {
  EXPECT_TRUE(gemm_splits_depth({.m = 32, .n = 128, .k = 784}));
  EXPECT_FALSE(gemm_splits_depth({.m = 128, .n = 128, .k = 784})) << "C is as much to hand over as B";
  EXPECT_FALSE(gemm_splits_depth({.m = 1, .n = 128, .k = 128})) << "little to hand over at all";
  EXPECT_FALSE(gemm_splits_depth({.m = 32, .n = 128, .k = 784, .trans_b = true})) << "rows of B are columns of C";
}

}  // namespace
}  // namespace isochron::kernels
