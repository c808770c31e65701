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

TEST(Edges, BoundsOfClipAreKeptForIntegers) {
  const Tensor x = tensor({1, 5, 9});
  EXPECT_EQ(clip(x, 2.5, 6.5).to_vector<double>(), (std::vector<double>{2.5, 5, 6.5}));
  EXPECT_EQ(clip(x, 2, INFINITY).dtype(), DType::int32);
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
