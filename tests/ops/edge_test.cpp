// What ops give where numbers end: bytes that overflow, nothing to add, slopes at 0.
#include <gtest/gtest.h>

#include <cmath>

#include "isochron/graph/tape.h"
#include "isochron/ops/ops.h"
#include "tests/message_of.h"

namespace isochron {
namespace {

TEST(Edges, SumsAndProductsOfIntegersAreInt64) {
  const Tensor bytes = tensor({200, 250}, DType::uint8), large = tensor({2147483647, 2});
  EXPECT_EQ(sum(bytes).item<int64_t>(), 450);
  EXPECT_EQ(prod(bytes).item<int64_t>(), 50000);
  EXPECT_EQ(sum(large).item<int64_t>(), 2147483649);
  for (const Tensor& total : {sum(bytes), prod(large), sum(tensor({true})), prod(tensor({true}))})
    EXPECT_EQ(total.dtype(), DType::int64);
}

TEST(Edges, EinsumTakesAllLettersBesideAnEllipsis) {
  EXPECT_EQ(einsum("...Z->...", {ones({3, 3})}).to_vector<float>(), (std::vector<float>{3, 3, 3}));
  EXPECT_EQ(einsum("...Z,Z->...", {ones({3, 3}), ones({3})}).to_vector<float>(), (std::vector<float>{3, 3, 3}));
  EXPECT_EQ(einsum("...Y,YZ->...Z", {ones({2, 3, 4}), ones({4, 5})}).shape(), Shape({2, 3, 5}));
  EXPECT_EQ(message_of([] {
              einsum("...,...->...", {ones({2}), ones({3})});
            }),
            "[einsum] an axis of \"...\" is 2 and 3 in the operands' shapes (2,) and (3,)");
  EXPECT_NE(message_of([] {
              einsum("9a->a", {ones({2, 2})});
            }).find("indices are letters, got '9'"),
            std::string::npos);
}

TEST(Edges, SizesAndAxesThatMeanNothingAreRefused) {
  EXPECT_EQ(message_of([] {
              split(arange(0, 3), std::vector<int64_t>{4, -1}, 0);
            }),
            "[split] sizes must not be negative, got [4, -1]");
  EXPECT_EQ(message_of([] { squeeze(ones({1, 2, 1}), {0, 0}); }), "[squeeze] axis 0 is given twice");
  EXPECT_EQ(message_of([] { flip(ones({2}), {0, -1}); }), "[flip] axis -1 is given twice");
  EXPECT_EQ(sum(triu(ones({2, 2}), INT64_MAX)).item(), 0);
  EXPECT_EQ(sum(tril(ones({2, 2}), INT64_MIN)).item(), 0);
  EXPECT_EQ(sum(triu(ones({2, 3}), INT64_MIN)).item(), 6);
}

TEST(Edges, EqualityIsToldElementByElement) {
  const Tensor a = tensor({1, 2, 3}), b = tensor({1, 0, 3});
  EXPECT_TRUE(same_elements(a == b, tensor({true, false, true})));
  EXPECT_TRUE(same_elements(a != b, tensor({false, true, false})));
  EXPECT_TRUE(same_elements(2 == a, tensor({false, true, false})));
  EXPECT_EQ(sum(Variable(cast(a, DType::float32)) != 3).item<int>(), 2);
}

TEST(Edges, NormsOfOrderZeroCountAndTheirSlopeAtZeroIsZero) {
  EXPECT_EQ(norm(tensor({3.f, -4.f, 0.f}), 0).item(), 2);
  for (const double p : {2.0, 3.0}) {
    const Variable x(zeros({2}));
    GradientTape tape;
    const Tensor length = norm(x, p);
    EXPECT_EQ(length.item(), 0);
    EXPECT_EQ(tape.gradient(length, x).to_vector<float>(), (std::vector<float>{0, 0}));
  }
  EXPECT_EQ(message_of([] { norm(ones({2}), -1); }), "[norm] p must not be negative, got -1");
}

TEST(Edges, TheSlopeOfAConstantPowerIsZero) {
  const Variable x(tensor({0.f, 2.f}));
  GradientTape tape({.persistent = true});
  EXPECT_EQ(tape.gradient(pow(x, 0), x).to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(tape.gradient(pow(x, tensor({0.f, 3.f})), x).to_vector<float>(), (std::vector<float>{0, 12}));
}

TEST(Edges, IntegersHaveNoNegativePowers) {
  const Tensor two = tensor({2, 3});
  EXPECT_EQ(message_of([&] { pow(two, -1); }),
            "[pow] whole numbers have no negative whole powers, got exponent -1: cast the base to a float first");
  EXPECT_EQ(pow(two, 2).to_vector<int32_t>(), (std::vector<int32_t>{4, 9}));
  EXPECT_EQ(pow(cast(two, DType::float32), -1)[0].item(), 0.5);
  EXPECT_EQ(pow(two, -1.0)[0].item(), 0.5);
}

TEST(Edges, BoundsOfClipAreKeptForIntegers) {
  const Tensor x = tensor({1, 5, 9});
  EXPECT_EQ(clip(x, 2.5, 6.5).to_vector<double>(), (std::vector<double>{2.5, 5, 6.5}));
  EXPECT_EQ(clip(x, 2, INFINITY).dtype(), DType::int32);
}

// NumPy 2 raises OverflowError; a quotient is a float32, which any number fits.
TEST(Edges, NumbersThatDoNotFitTheIntegersTheyMeetAreRefused) {
  const Tensor x = tensor({1, 2}), bytes = tensor({1}, DType::uint8);
  EXPECT_EQ(message_of([&] { x + 3000000000LL; }),
            "[add] 3000000000 does not fit int32; use a dtype that it fits (cast the tensor first)");
  EXPECT_NE(message_of([&] { maximum(bytes, -5); }).find("[maximum] -5 does not fit uint8"), std::string::npos);
  EXPECT_NE(message_of([&] { where(bytes > 0, bytes, 256); }).find("[where] 256 does not fit uint8"),
            std::string::npos);
  EXPECT_NE(message_of([] { full({1}, -1, DType::uint8); }).find("[full] -1 does not fit uint8"), std::string::npos);
  EXPECT_NE(message_of([&] {
              pad(bytes, {{1, 1}}, -1);
            }).find("[pad] the value -1 does not fit uint8"),
            std::string::npos);
  EXPECT_FLOAT_EQ((x / 3000000000LL).item<float>({1}), 2 / 3e9f);
}

TEST(Edges, ComparisonsTakeAnyNumber) {
  const Tensor bytes = tensor({0, 255}, DType::uint8), longs = tensor({INT64_MAX, INT64_MIN}, DType::int64);
  const auto truths = [](const Tensor& t) { return t.to_vector<int>(); };
  using Row = std::vector<int>;
  EXPECT_EQ(truths(bytes > -5), (Row{1, 1}));
  EXPECT_EQ(truths(-5 >= bytes), (Row{0, 0}));
  EXPECT_EQ(truths(bytes < 256), (Row{1, 1}));
  EXPECT_EQ(truths(equal(bytes, 256)), (Row{0, 0}));
  EXPECT_EQ(truths(not_equal(tensor({-2147483647 - 1}), 2147483648LL)), (Row{1}));
  EXPECT_EQ(truths(longs < 9223372036854775808ULL), (Row{1, 1}));
  EXPECT_EQ(truths(equal(longs, 9223372036854775808ULL)), (Row{0, 0}));
}

TEST(Edges, BoundsOfClipBeyondTheRangeAreItsEnds) {
  const Tensor bytes = tensor({0, 7, 255}, DType::uint8), longs = tensor({INT64_MAX, INT64_MIN}, DType::int64);
  EXPECT_EQ(clip(bytes, -5, 300).to_vector<int>(), (std::vector<int>{0, 7, 255}));
  EXPECT_EQ(clip(bytes, 300, 400).to_vector<int>(), (std::vector<int>{255, 255, 255}));
  EXPECT_EQ(clip(tensor({1, 5}), 2, INFINITY).to_vector<int>(), (std::vector<int>{2, 5}));
  EXPECT_EQ(clip(longs, -INFINITY, INFINITY).to_vector<int64_t>(), (std::vector<int64_t>{INT64_MAX, INT64_MIN}));
}

// 2^53 + 1 is the first whole number that is no double.
TEST(Edges, LargeIntegersAreExact) {
  constexpr int64_t kLarge = 9007199254740993;
  EXPECT_EQ((zeros({1}, DType::int64) + kLarge).item<int64_t>(), kLarge);
  EXPECT_EQ((tensor({1}, DType::int64) * -kLarge).item<int64_t>(), -kLarge);
  EXPECT_EQ(full({1}, kLarge, DType::int64).item<int64_t>(), kLarge);
  EXPECT_FALSE(equal(tensor({kLarge - 1}, DType::int64), kLarge).item<bool>());
  EXPECT_EQ(arange(kLarge, kLarge + 3, 2).to_vector<int64_t>(), (std::vector<int64_t>{kLarge, kLarge + 2}));
  EXPECT_EQ(arange(INT64_MIN, INT64_MAX, int64_t{1} << 62).to_vector<int64_t>(),
            (std::vector<int64_t>{INT64_MIN, -(int64_t{1} << 62), 0, int64_t{1} << 62}));
  EXPECT_EQ(arange(200, 0, -50, DType::uint8).to_vector<int>(), (std::vector<int>{200, 150, 100, 50}));
  EXPECT_EQ(message_of([] { arange(0, 300, 1, DType::uint8); }),
            "[arange] 299 does not fit uint8; give a dtype it fits");
}

TEST(Edges, AnAxisMayBeANumber) {
  const Tensor x = tensor({{1.f, 2.f}, {3.f, 5.f}});
  const std::vector<int64_t> axes{0, 1};
  EXPECT_EQ(sum(x, 0).to_vector<float>(), (std::vector<float>{4, 7}));
  EXPECT_EQ(x.sum(-1).to_vector<float>(), (std::vector<float>{3, 8}));
  EXPECT_EQ(mean(x, -1, true).shape(), Shape({2, 1}));
  EXPECT_EQ(max(x, size_t{1}).to_vector<float>(), (std::vector<float>{2, 5}));
  EXPECT_EQ(flip(x, 0).to_vector<float>(), (std::vector<float>{3, 5, 1, 2}));
  EXPECT_EQ(squeeze(ones({1, 2, 1}), 0).shape(), Shape({2, 1}));
  for (const Tensor& total : {sum(x), sum(x, {}), sum(x, {0, 1}), sum(x, axes)}) EXPECT_EQ(total.item(), 11);
}

TEST(Edges, TheSlopeOfTheDeviationOfEqualsIsZero) {
  const Variable x(full({4}, 2));
  GradientTape tape;
  const Tensor deviation = std(x);
  EXPECT_EQ(deviation.item(), 0);
  EXPECT_EQ(tape.gradient(deviation, x).to_vector<float>(), (std::vector<float>{0, 0, 0, 0}));
}

TEST(Edges, OperatorsForRemaindersAndNot) {
  EXPECT_EQ((tensor({-7, 7}) % 3).to_vector<int>(), (std::vector<int>{2, 1}));
  EXPECT_EQ((!tensor({true, false})).to_vector<int>(), (std::vector<int>{0, 1}));
}

TEST(Edges, ErrorsNameTheOpThatWasCalled) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  const std::string wide = "[pad] widths (4611686018427387904, 4611686018427387904) for axis 0 of (2,) are too large";
  EXPECT_EQ(message_of([&] { pad(ones({2}), {{kHuge, kHuge}}); }), wide);
  EXPECT_EQ(message_of([&] { pad(ones({2}), {{kHuge, kHuge}}, {.mode = "edge"}); }), wide);
  EXPECT_EQ(message_of([] {
              stack({ones({2}), ones({2}, DType::int32)});
            }),
            "[stack] needs equal dtypes, got float32 and int32");
  EXPECT_EQ(message_of([] { take(ones({2}), ones({1})); }), "[take] indices must be integers, got float32");
  EXPECT_NE(message_of([&] { one_hot(tensor({1}), kHuge); }).find("[one_hot] depth must be at most"),
            std::string::npos);
}

// As numpy.pad([1, 2, 3], (4, 5), mode) prints them, and for one element.
TEST(Edges, BordersGoOnWithThePattern) {
  const auto padded = [](const Tensor& x, const char* mode, int64_t before, int64_t after) {
    return pad(x, {{before, after}}, {.mode = mode}).to_vector<int64_t>();
  };
  using Row = std::vector<int64_t>;
  const Tensor x = tensor({1, 2, 3});
  EXPECT_EQ(padded(x, "reflect", 4, 5), (Row{1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(padded(x, "symmetric", 4, 5), (Row{3, 3, 2, 1, 1, 2, 3, 3, 2, 1, 1, 2}));
  EXPECT_EQ(padded(x, "wrap", 4, 5), (Row{3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2}));
  EXPECT_EQ(padded(x, "edge", 4, 5), (Row{1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3}));
  EXPECT_EQ(padded(x, "constant", 1, 0), (Row{0, 1, 2, 3}));
  EXPECT_EQ(padded(tensor({7}), "reflect", 2, 1), (Row{7, 7, 7, 7}));
  EXPECT_EQ(pad(x, {{0, 1}}, {.value = 5}).to_vector<int64_t>(), (Row{1, 2, 3, 5}));
  EXPECT_NE(message_of([&] { padded(x, "mirror", 1, 1); }).find("unknown mode \"mirror\""), std::string::npos);
  EXPECT_NE(message_of([&] { padded(x, "wrap", -1, 1); }).find("got (-1, 1) for axis 0"), std::string::npos);
  EXPECT_NE(message_of([&] { padded(zeros({0}), "edge", 1, 1); }).find("no elements to repeat"), std::string::npos);
}

TEST(Edges, OfNothing) {
  EXPECT_EQ(logsumexp(zeros({0, 2}), {0}).to_vector<double>(), (std::vector<double>{-INFINITY, -INFINITY}));
  EXPECT_EQ(logsumexp(zeros({0, 2}), {1}).shape(), Shape({0}));
  EXPECT_EQ(message_of([] { eye(3, -2); }), "[eye] columns must not be negative, or -1 for as many as rows, got -2");
}

}  // namespace
}  // namespace isochron
