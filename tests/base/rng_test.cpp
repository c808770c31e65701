#include "isochron/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "isochron/kernels/isa.h"

namespace isochron {
namespace {

// Known answers of Random123 1.14 (kat_vectors, "philox4x32 10").
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0}, {0, 0, 0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones}, {ones, ones, ones, ones}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

constexpr RandomStream kStream{0x123456789abcdef0, 0xfedcba9876543210};

// Runs `check` on every instruction set the machine has.
template <class F>
void on_every_target(F&& check) {
  kernels::for_each_isa([&](std::string_view isa) {
    SCOPED_TRACE(isa);
    check();
  });
}

TEST(Random, BitsAreTheBlocksInOrderOnEveryTarget) {
  constexpr int64_t begin = 4 * (int64_t{1} << 32) - 130, end = begin + 300;  // where the block index passes 32 bits
  on_every_target([&] {
    std::vector<uint32_t> words(end - begin);
    fill_bits(words.data() - begin, kStream, begin, end);
    for (int64_t i = begin; i < end; ++i)
      ASSERT_EQ(words[i - begin], kStream.block(static_cast<uint64_t>(i / 4))[i % 4]) << i;
  });
}

// Every fill, over the type it fills.
template <class T, class Fill>
void expect_same_for_any_split_and_target(Fill fill) {
  constexpr int64_t n = 777;
  std::vector<T> whole(n);
  fill(whole.data(), 0, n);
  on_every_target([&] {
    for (int64_t parts : {1, 2, 3, 7, 100}) {
      std::vector<T> split(n, T(99));
      for (int64_t p = 0; p < parts; ++p) fill(split.data(), n * p / parts, n * (p + 1) / parts);
      ASSERT_EQ(split, whole) << parts << " parts";
    }
  });
}

TEST(Random, AnySplitAndEveryTargetGivesTheSameNumbers) {
  expect_same_for_any_split_and_target<uint32_t>([](auto* out, auto b, auto e) { fill_bits(out, kStream, b, e); });
  expect_same_for_any_split_and_target<float>(
      [](auto* out, auto b, auto e) { fill_uniform(out, kStream, b, e, -1, 3); });
  expect_same_for_any_split_and_target<float>([](auto* out, auto b, auto e) { fill_normal(out, kStream, b, e, 1, 2); });
  expect_same_for_any_split_and_target<float>(
      [](auto* out, auto b, auto e) { fill_truncated_normal(out, kStream, b, e, 1, 2); });
  expect_same_for_any_split_and_target<float>(
      [](auto* out, auto b, auto e) { fill_bernoulli(out, kStream, b, e, 0.3); });
  expect_same_for_any_split_and_target<double>(
      [](auto* out, auto b, auto e) { fill_uniform(out, kStream, b, e, -1, 3); });
  expect_same_for_any_split_and_target<double>(
      [](auto* out, auto b, auto e) { fill_normal(out, kStream, b, e, 1, 2); });
  expect_same_for_any_split_and_target<double>(
      [](auto* out, auto b, auto e) { fill_truncated_normal(out, kStream, b, e, 1, 2); });
  expect_same_for_any_split_and_target<int64_t>(
      [](auto* out, auto b, auto e) { fill_integers(out, kStream, b, e, int64_t{-5}, int64_t{9}); });
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// The largest distance between the sample's and the given distribution function, in units in which it exceeds 1.95
// once in 1,000 samples (Kolmogorov). Streams are fixed, so a test passes always or never.
template <class T, class Cdf>
double kolmogorov(std::vector<T> values, Cdf cdf) {
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double distance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double p = cdf(static_cast<double>(values[i]));
    distance = std::max({distance, p - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - p});
  }
  return distance * std::sqrt(n);
}

template <class T>
class RandomReal : public ::testing::Test {
 protected:
  static constexpr int64_t n = 400'000;
  std::vector<T> values = std::vector<T>(n);
  double mean_of(auto power) const {
    double sum = 0;
    for (T v : values) sum += power(static_cast<double>(v));
    return sum / static_cast<double>(n);
  }
};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RandomReal, Reals);

TYPED_TEST(RandomReal, Uniform) {
  fill_uniform(this->values.data(), {1, 2}, 0, this->n, TypeParam(-2), TypeParam(6));
  const auto [low, high] = std::minmax_element(this->values.begin(), this->values.end());
  EXPECT_GE(*low, -2);
  EXPECT_LT(*high, 6);
  EXPECT_LT(kolmogorov(this->values, [](double x) { return (x + 2) / 8; }), 1.95);
}

TYPED_TEST(RandomReal, UniformNeverReachesTheUpperEnd) {
  fill_uniform(this->values.data(), {1, 2}, 0, this->n, TypeParam(1e6), std::nextafter(TypeParam(1e6), TypeParam(2e6)));
  for (TypeParam v : this->values) ASSERT_EQ(v, TypeParam(1e6));
}

TYPED_TEST(RandomReal, Normal) {
  fill_normal(this->values.data(), {3, 4}, 0, this->n, TypeParam(0), TypeParam(1));
  EXPECT_LT(kolmogorov(this->values, normal_cdf), 1.95);
  EXPECT_NEAR(this->mean_of([](double x) { return x * x; }), 1, 0.01);
  EXPECT_NEAR(this->mean_of([](double x) { return x * x * x; }), 0, 0.02);
  EXPECT_NEAR(this->mean_of([](double x) { return x * x * x * x; }), 3, 0.1);
  // Elements that share a radius are uncorrelated, and so are neighbours.
  for (int64_t lag : {1, 2, 32, 64}) {
    double product = 0;
    for (int64_t i = 0; i + lag < this->n; ++i)
      product += static_cast<double>(this->values[i]) * static_cast<double>(this->values[i + lag]);
    EXPECT_NEAR(product / static_cast<double>(this->n), 0, 0.008) << lag;
  }
}

TYPED_TEST(RandomReal, NormalTakesMeanAndDeviation) {
  std::vector<TypeParam> standard(100);
  fill_normal(standard.data(), {3, 4}, 0, 100, TypeParam(0), TypeParam(1));
  fill_normal(this->values.data(), {3, 4}, 0, 100, TypeParam(5), TypeParam(0.25));
  for (int i = 0; i < 100; ++i) EXPECT_NEAR(this->values[i], 5 + 0.25 * standard[i], 1e-6);
}

TYPED_TEST(RandomReal, TruncatedNormal) {
  fill_truncated_normal(this->values.data(), {5, 6}, 0, this->n, TypeParam(10), TypeParam(0.5));
  const auto [low, high] = std::minmax_element(this->values.begin(), this->values.end());
  EXPECT_GE(*low, 9);
  EXPECT_LE(*high, 11);
  EXPECT_LT(*low, 9.001);
  EXPECT_GT(*high, 10.999);
  const double below = normal_cdf(-2), kept = 1 - 2 * below;
  EXPECT_LT(kolmogorov(this->values, [&](double x) { return (normal_cdf((x - 10) * 2) - below) / kept; }), 1.95);
}

TEST(Random, BernoulliHasItsProbability) {
  std::vector<uint8_t> bytes(400'000);
  for (double p : {0.0, 0.1, 0.5, 1.0}) {
    fill_bernoulli(bytes.data(), {7, 8}, 0, static_cast<int64_t>(bytes.size()), p);
    const double share = std::accumulate(bytes.begin(), bytes.end(), 0.0) / static_cast<double>(bytes.size());
    EXPECT_NEAR(share, p, p == 0.0 || p == 1.0 ? 0 : 0.003);
  }
}

TEST(Random, IntegersCoverTheirRangeEvenly) {
  std::vector<int32_t> values(70'000);
  fill_integers(values.data(), {9, 10}, 0, 70'000, -3, 4);
  std::map<int32_t, int> counts;
  for (int32_t v : values) ++counts[v];
  ASSERT_EQ(counts.size(), 7u);
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, 10'000, 400) << value;
  EXPECT_EQ(counts.begin()->first, -3);

  int64_t wide[64];
  fill_integers(wide, {9, 10}, 0, 64, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
  EXPECT_GT(std::count_if(wide, wide + 64, [](int64_t v) { return v < 0; }), 16);
  EXPECT_GT(std::count_if(wide, wide + 64, [](int64_t v) { return v > 0; }), 16);
}

TEST(Random, SeedsAndStreamsDiffer) {
  std::vector<float> a(1000), b(1000), c(1000);
  fill_uniform(a.data(), {1, 1}, 0, 1000, 0, 1);
  fill_uniform(b.data(), {1, 2}, 0, 1000, 0, 1);
  fill_uniform(c.data(), {2, 1}, 0, 1000, 0, 1);
  int same = 0;
  for (int i = 0; i < 1000; ++i) same += (a[i] == b[i]) + (a[i] == c[i]) + (b[i] == c[i]);
  EXPECT_LT(same, 3);
}

TEST(Permutation, IsABijectionForEverySize) {
  for (uint64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 100, 1000, 4097}) {
    const Permutation order(11, 3, n);
    std::vector<int> hits(n, 0);
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t to = order(i);
      ASSERT_LT(to, n);
      ++hits[to];
    }
    EXPECT_EQ(std::count(hits.begin(), hits.end(), 1), static_cast<int64_t>(n)) << n;
  }
}

TEST(Permutation, ManyAtOnceAreThoseOneByOne) {
  for (uint64_t n : {1, 2, 5, 16, 17, 1000, 4097}) {
    const Permutation order(11, 3, n);
    std::vector<int64_t> expected, some(n / 2 + 1);
    for (uint64_t i = n - some.size(); i < n; ++i) expected.push_back(static_cast<int64_t>(order(i)));
    order(n - some.size(), some);
    EXPECT_EQ(some, expected) << n;
  }
}

TEST(Permutation, LargeSizesStayInside) {
  for (uint64_t n : {uint64_t{1} << 40, (uint64_t{1} << 62) + 12345})
    for (uint64_t i = 0; i < 1000; ++i) ASSERT_LT(permuted_index(1, 2, n, n - 1 - i), n);
}

TEST(Permutation, AllOrdersOfFewElementsAreEquallyLikely) {
  std::map<std::vector<uint64_t>, int> counts;
  for (uint64_t epoch = 0; epoch < 24'000; ++epoch) {
    const Permutation order(5, epoch, 4);
    ++counts[{order(0), order(1), order(2), order(3)}];
  }
  ASSERT_EQ(counts.size(), 24u);
  double chi_square = 0;
  for (const auto& [order, count] : counts) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 49.7);  // 23 degrees of freedom, 1 in 1,000
}

TEST(Permutation, NeighboursAreTornApartAndEpochsDiffer) {
  constexpr uint64_t n = 60'000;
  const Permutation first(1, 1, n), second(1, 2, n);
  double distance = 0;
  int fixed = 0;
  for (uint64_t i = 0; i + 1 < n; ++i) {
    distance += std::abs(static_cast<double>(first(i)) - static_cast<double>(first(i + 1)));
    fixed += first(i) == second(i);
  }
  EXPECT_NEAR(distance / static_cast<double>(n - 1), n / 3.0, n * 0.01);  // the mean distance of random pairs
  EXPECT_LT(fixed, 10);
}

}  // namespace
}  // namespace isochron
