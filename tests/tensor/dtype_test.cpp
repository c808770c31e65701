#include "isochron/tensor/dtype.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace isochron {
namespace {

// The value of a 16-bit pattern by the definition of its format.
double value_of(uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

template <class T>
void all_patterns_convert_exactly(int exponent_bits, int mantissa_bits) {
  for (uint32_t pattern = 0; pattern <= 0xffff; ++pattern) {
    T x;
    x.bits = static_cast<uint16_t>(pattern);
    const double expected = value_of(x.bits, exponent_bits, mantissa_bits);
    const float wide = x;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide)) << pattern;
      ASSERT_TRUE(std::isnan(static_cast<float>(T(wide)))) << pattern;
      continue;
    }
    ASSERT_EQ(static_cast<double>(wide), expected) << pattern;
    ASSERT_EQ(std::signbit(wide), std::signbit(expected)) << pattern;
    ASSERT_EQ(T(wide).bits, x.bits) << pattern;
  }
}

TEST(DType, EveryBfloat16IsAFloatAndComesBack) { all_patterns_convert_exactly<bfloat16>(8, 7); }
TEST(DType, EveryFloat16IsAFloatAndComesBack) { all_patterns_convert_exactly<float16>(5, 10); }

// Between two neighbours: below the middle down, above it up, the middle itself to the even pattern.
template <class T>
void rounds_to_nearest_even(uint16_t infinity) {
  for (uint16_t pattern = 0; pattern < infinity - 1; ++pattern) {
    T low, high;
    low.bits = pattern;
    high.bits = static_cast<uint16_t>(pattern + 1);
    const float middle = static_cast<float>(
        (static_cast<double>(static_cast<float>(low)) + static_cast<double>(static_cast<float>(high))) / 2);
    ASSERT_EQ(T(middle).bits, pattern % 2 ? high.bits : low.bits) << pattern;
    ASSERT_EQ(T(std::nextafter(middle, INFINITY)).bits, high.bits) << pattern;
    ASSERT_EQ(T(std::nextafter(middle, -INFINITY)).bits, low.bits) << pattern;
    ASSERT_EQ(T(-middle).bits, (pattern % 2 ? high.bits : low.bits) | 0x8000) << pattern;
  }
}

TEST(DType, Bfloat16RoundsToNearestEven) { rounds_to_nearest_even<bfloat16>(0x7f80); }
TEST(DType, Float16RoundsToNearestEven) { rounds_to_nearest_even<float16>(0x7c00); }

TEST(DType, NumbersBeyondTheRangeBecomeInfinite) {
  EXPECT_EQ(float16(65519.f).bits, 0x7bff);
  EXPECT_EQ(float16(65520.f).bits, 0x7c00);
  EXPECT_EQ(float16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
}

TEST(DType, NamesAndAliases) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  }
  EXPECT_EQ(dtype_from_name("double"), DType::float64);
  EXPECT_EQ(dtype_from_name("half"), DType::float16);
  try {
    dtype_from_name("flaot32");
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("float32"), std::string::npos) << error.what();
  }
}

TEST(DType, PromotionGoesUpTheLadderAndIsSymmetric) {
  const std::vector<DType> ladder = {DType::boolean, DType::uint8,   DType::int32,  DType::int64,
                                     DType::float16, DType::float32, DType::float64};
  for (size_t i = 0; i < ladder.size(); ++i)
    for (size_t j = 0; j < ladder.size(); ++j) EXPECT_EQ(promote(ladder[i], ladder[j]), ladder[std::max(i, j)]);
  EXPECT_EQ(promote(DType::bfloat16, DType::float16), DType::float32);
  EXPECT_EQ(promote(DType::float16, DType::bfloat16), DType::float32);
  EXPECT_EQ(promote(DType::bfloat16, DType::int64), DType::bfloat16);
}

}  // namespace
}  // namespace isochron
