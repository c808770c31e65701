// What holds of random tensors whatever the distribution.
#include <gtest/gtest.h>

#include "isochron/base/threads.h"
#include "isochron/exec/function.h"
#include "isochron/ops/ops.h"

namespace isochron {
namespace {

std::vector<Tensor> one_of_each(std::optional<uint64_t> seed) {
  const Shape shape{300, 100};
  return {random_uniform(shape, -1, 1, {.seed = seed}),
          random_normal(shape, 0, 1, {.seed = seed, .dtype = DType::float64}),
          random_truncated_normal(shape, 0, 1, {.seed = seed}),
          random_bernoulli(shape, 0.3, {.seed = seed}),
          random_integers(shape, 0, 100, seed),
          random_permutation(30'000, seed)};
}

TEST(Random, TheSameNumbersForAnyNumberOfThreads) {
  const int before = get_num_threads();
  std::vector<std::vector<double>> first;
  for (int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    const std::vector<Tensor> drawn = one_of_each(11);
    for (size_t i = 0; i < drawn.size(); ++i) {
      if (threads == 1)
        first.push_back(drawn[i].to_vector<double>());
      else
        EXPECT_EQ(drawn[i].to_vector<double>(), first[i]) << "distribution " << i << ", " << threads << " threads";
    }
  }
  set_num_threads(before);
}

TEST(Random, TheGlobalSeedFixesTheWholeSequence) {
  set_seed(5);
  const std::vector<Tensor> first = one_of_each({}), second = one_of_each({});
  set_seed(5);
  const std::vector<Tensor> again = one_of_each({});
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(same_elements(first[i], again[i])) << i;
    EXPECT_FALSE(same_elements(first[i], second[i])) << i;
  }
  set_random_counter(6);
  EXPECT_TRUE(same_elements(one_of_each({})[0], second[0]));
}

TEST(Random, ASeedOfItsOwnGivesTheSameNumbersAtEveryCallAndLeavesTheGlobalSequenceAlone) {
  const uint64_t counter = random_counter();
  EXPECT_TRUE(same_elements(random_normal({10}, 0, 1, {.seed = 3}), random_normal({10}, 0, 1, {.seed = 3})));
  EXPECT_FALSE(same_elements(random_normal({10}, 0, 1, {.seed = 3}), random_normal({10}, 0, 1, {.seed = 4})));
  EXPECT_EQ(random_counter(), counter);
}

TEST(Random, AThreadMayHaveASequenceOfItsOwn) {
  set_seed(5);
  const Tensor global = random_normal({10});
  const uint64_t counter = random_counter();
  const auto draw = [](uint64_t seed) {
    const LocalRandom local(seed);
    return std::pair(random_normal({10}), random_normal({10}));
  };
  const auto first = draw(7), again = draw(7), other = draw(8);
  EXPECT_TRUE(same_elements(first.first, again.first));
  EXPECT_TRUE(same_elements(first.second, again.second));
  EXPECT_FALSE(same_elements(first.first, first.second));
  EXPECT_FALSE(same_elements(first.first, other.first));
  EXPECT_EQ(random_counter(), counter);
  {
    const LocalRandom local(7);
    set_seed(5);
    EXPECT_TRUE(same_elements(random_normal({10}), global));
  }
  EXPECT_EQ(get_seed(), 5u);
}

TEST(Random, TwoDrawsOfOneExpressionDiffer) {
  const Tensor difference = random_uniform({100}) - random_uniform({100});
  EXPECT_GT(max(abs(difference)).item(), 0.1);
}

TEST(Random, EveryCallOfATracedFunctionDrawsAnew) {
  set_seed(1);
  auto noise = function([](Tensor x) { return x + random_normal({4}) * 2 + random_normal({4}); });
  const Tensor zero = zeros({4}).eval();
  const std::vector<float> a = noise(zero).to_vector<float>(), b = noise(zero).to_vector<float>();
  EXPECT_NE(a, b);
  set_seed(1);
  EXPECT_EQ(noise(zero).to_vector<float>(), a);
}

TEST(Random, SixteenBitAndBoolResults) {
  EXPECT_EQ(random_normal({3}, 0, 1, {.dtype = DType::bfloat16}).eval().dtype(), DType::bfloat16);
  EXPECT_EQ(random_bernoulli({3}, 1, {.dtype = DType::boolean}).to_vector<bool>(),
            (std::vector<bool>{true, true, true}));
}

}  // namespace
}  // namespace isochron
