#include "isochron/tensor/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <span>

#include "error_matcher.h"
#include "isochron/ops/ops.h"

namespace isochron {
namespace {

using ::testing::ElementsAre;

TEST(Tensor, LiteralsChooseTheirDType) {
  EXPECT_EQ(tensor({1.5, 2.0}).dtype(), DType::float32);
  EXPECT_EQ(tensor({1, 2}).dtype(), DType::int32);
  EXPECT_EQ(tensor({true, false}).dtype(), DType::boolean);
  EXPECT_EQ(tensor({1, 2}, DType::float64).dtype(), DType::float64);
  EXPECT_EQ(tensor({{1, 2, 3}, {4, 5, 6}}).shape(), (Shape{2, 3}));
  EXPECT_THAT([] { tensor({{1, 2}, {3}}); }, error<ShapeError>("all rows need the same length, got 2 and 1"));
}

TEST(Tensor, LiteralsThatDoNotFitAreRefused) {
  const int64_t large = 5'000'000'000;
  EXPECT_THAT([&] { tensor({large}); }, error<ValueError>("5000000000 does not fit int32"));
  EXPECT_THAT([] { tensor({-1}, DType::uint8); }, error<ValueError>("-1 does not fit uint8"));
  EXPECT_THAT([] { scalar(std::nan(""), DType::int64); }, error<ValueError>("nan does not fit int64"));
  EXPECT_EQ(tensor({large}, DType::int64).item<int64_t>(), large);
  EXPECT_EQ(tensor(std::vector<int64_t>{large}).item<int64_t>(), large);
}

TEST(Tensor, ContainersKeepTheirElementType) {
  EXPECT_EQ(tensor(std::vector<int64_t>{1, 2, 3}).dtype(), DType::int64);
  EXPECT_EQ(tensor(std::vector<uint8_t>{1, 2}, {2, 1}).shape(), (Shape{2, 1}));
  EXPECT_THAT(tensor(std::vector<bool>{true, false, true}).to_vector<int>(), ElementsAre(1, 0, 1));
  EXPECT_THAT(
      [] {
        tensor(std::vector<float>{1, 2, 3}, {2, 2});
      },
      error<ShapeError>("shape (2, 2) has 4 elements, got 3"));
  EXPECT_THAT([] { tensor(std::vector<bool>{true}, {2}); }, error<ShapeError>("shape (2,) has 2 elements, got 1"));
}

TEST(Tensor, ScalarsNestedListsAndMemory) {
  EXPECT_EQ(tensor(3.f).shape(), Shape{});
  EXPECT_EQ(tensor(3).dtype(), DType::int32);
  EXPECT_EQ(tensor({9007199254740993LL}, DType::int64).item<int64_t>(), 9007199254740993LL);
  EXPECT_EQ(scalar(9007199254740993LL, DType::int64).item<int64_t>(), 9007199254740993LL);
  EXPECT_THAT([] { tensor({UINT64_MAX}, DType::int64); }, error<ValueError>("18446744073709551615 does not fit int64"));
  const Tensor cube = tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}, {{9, 10}, {11, 12}}});
  EXPECT_EQ(cube.shape(), (Shape{3, 2, 2}));
  EXPECT_EQ(cube.item<int>({2, 0, 1}), 10);
  EXPECT_THAT([] { tensor({{{1, 2}}, {{3}}}); }, error<ShapeError>("all rows need the same length, got 2 and 1"));

  using Rows = std::vector<std::vector<float>>;
  EXPECT_EQ(tensor(Rows{{1, 2, 3}, {4, 5, 6}}).shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor(Rows{}).shape(), (Shape{0, 0}));
  EXPECT_THAT(tensor(std::vector<std::vector<bool>>{{true}, {false}}).to_vector<int>(), ElementsAre(1, 0));
  EXPECT_THAT([] { tensor(Rows{{1, 2}, {3}}); }, error<ShapeError>("all rows need the same length, got 2 and 1"));

  std::array<int64_t, 4> numbers{1, 2, 3, 4};
  EXPECT_EQ(tensor(numbers).dtype(), DType::int64);
  EXPECT_EQ(tensor(std::span(numbers), {2, 2}).item<int>({1, 0}), 3);
  std::vector<float> values{1, 2};
  EXPECT_THAT(Tensor::from_span(std::span(values), {2}).to_vector<float>(), ElementsAre(1, 2));

  const Variable weight(3.0, {.name = "weight"});
  EXPECT_EQ(weight.dtype(), DType::float32);
  EXPECT_EQ(weight.item(), 3);
  EXPECT_TRUE(weight.trainable());
}

TEST(Tensor, AnOwnedBufferIsTakenOverASpanIsCopied) {
  std::vector<float> values = {1, 2, 3, 4};
  const float* bytes = values.data();
  const Tensor copied = Tensor::from_span(std::span<const float>(values), {4});
  EXPECT_NE(copied.data<float>(), bytes);
  const Tensor owned = Tensor::from_buffer(std::move(values), {2, 2});
  EXPECT_EQ(owned.data<float>(), bytes);
  EXPECT_THAT((owned + copied.reshape({2, 2})).to_vector<float>(), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT([] { Tensor::from_buffer(std::vector<float>(3), {2}); },
              error<ShapeError>("shape (2,) has 2 elements, got 3"));
}

TEST(Tensor, ItemConvertsAndChecks) {
  const Tensor t = tensor({{1, 2}, {3, 4}});
  EXPECT_EQ(t.item<int>({1, 0}), 3);
  EXPECT_EQ((t.item<double>({-1, -1})), 4.0);
  EXPECT_EQ(scalar(2.5).item<float>(), 2.5f);
  EXPECT_THAT([&] { t.item(); }, error<ShapeError>("[item] needs exactly one element, got shape (2, 2)"));
  EXPECT_THAT([&] { t.item({1}); }, error<IndexError>("[item] needs 2 indices for shape (2, 2), got 1"));
  EXPECT_THAT([&] { t.item({0, 2}); }, error<IndexError>("[item] index must be in [-2, 2) on axis 1 of (2, 2), got 2"));
  EXPECT_THAT([&] { t.data<float>(); }, error<DTypeError>("[data] the tensor holds int32, not float32"));
  EXPECT_THAT([] { Tensor().shape(); }, error<StateError>("the tensor is undefined"));
}

TEST(Tensor, IndexingTakesRows) {
  const Tensor t = tensor({{1, 2}, {3, 4}});
  EXPECT_THAT(t[-1].to_vector<int>(), ElementsAre(3, 4));
  EXPECT_EQ(t[0][1].item<int>(), 2);
  EXPECT_THAT([&] { t[2]; }, error<IndexError>("[operator[]] index must be in [-2, 2) for shape (2, 2), got 2"));
  EXPECT_THAT([] { scalar(1)[0]; }, error<IndexError>("a scalar has no elements"));
}

TEST(Tensor, EmptyTensorsGoThroughOps) {
  const Tensor empty = zeros({0, 3});
  EXPECT_EQ((empty + 1).eval().shape(), (Shape{0, 3}));
  EXPECT_THAT(sum(empty, {0}).to_vector<float>(), ElementsAre(0, 0, 0));
  EXPECT_EQ(matmul(empty, zeros({3, 2})).eval().shape(), (Shape{0, 2}));
  EXPECT_THAT(matmul(zeros({1, 0}), zeros({0, 2})).to_vector<float>(), ElementsAre(0, 0));
  EXPECT_EQ(softmax(zeros({2, 0})).eval().elements(), 0);
  EXPECT_EQ(gather(zeros({3, 2}), zeros({0}, DType::int64)).eval().shape(), (Shape{0, 2}));
  EXPECT_EQ(sort(empty).eval().shape(), (Shape{0, 3}));
  EXPECT_TRUE(std::isnan(mean(zeros({0})).item()));
}

TEST(Tensor, RankEightGoesThroughOps) {
  const Shape shape{2, 1, 3, 1, 2, 1, 2, 2};
  const Tensor x = reshape(arange(0, 48, 1, DType::float64), shape.to_vector());
  const std::vector<double> flat = x.to_vector<double>();
  EXPECT_EQ((x * 2).item({1, 0, 2, 0, 1, 0, 1, 1}), 94);
  EXPECT_EQ(sum(x).item(), 48 * 47 / 2);
  EXPECT_EQ(sum(x, {0, 2, 4, 6}).shape(), (Shape{1, 1, 1, 2}));
  EXPECT_EQ(sum(x, {0, 2, 4, 6}).item({0, 0, 0, 0}), 24 * 23.0);
  EXPECT_EQ(transpose(transpose(x)).to_vector<double>(), flat);
  EXPECT_EQ(transpose(x).item({1, 1, 0, 1, 0, 2, 0, 1}), 47);
  EXPECT_THAT([&] { expand_dims(x, 0); }, error<ShapeError>("rank must be at most 8"));
}

TEST(Tensor, ComparisonHelpers) {
  const Tensor a = tensor({1.f, NAN}), b = tensor({1.f + 1e-6f, NAN});
  EXPECT_TRUE(allclose(a, b));
  EXPECT_FALSE(allclose(a, b, 1e-8));
  EXPECT_FALSE(allclose(a, tensor({1.0, double{NAN}}, DType::float64)));
  EXPECT_FALSE(allclose(tensor({1.f}), tensor({NAN})));
  EXPECT_TRUE(same_elements(a, tensor({1.f, NAN})));
  EXPECT_FALSE(same_elements(a, b));
}

TEST(Tensor, ConversionsBetweenAllDTypes) {
  for (int from = 0; from < kDTypeCount; ++from)
    for (int to = 0; to < kDTypeCount; ++to) {
      const Tensor x = tensor({0, 1, 1}, static_cast<DType>(from));
      const Tensor y = x.to(static_cast<DType>(to));
      EXPECT_EQ(y.dtype(), static_cast<DType>(to));
      EXPECT_THAT(y.to_vector<int>(), ElementsAre(0, 1, 1)) << from << " to " << to;
    }
}

TEST(Variable, KeepsItsSpecForLife) {
  const Variable v(tensor({1.f, 2.f}), {.name = "w"});
  EXPECT_TRUE(v.requires_grad());
  EXPECT_THAT([&] { v.assign(tensor({1, 2})); }, error<DTypeError>("variable \"w\" is float32(2,)"));
  EXPECT_THAT([] { Variable::of(tensor({1.f})); }, error<StateError>("the tensor is no variable"));
  EXPECT_FALSE(Variable(tensor({1, 2})).requires_grad());
}

}  // namespace
}  // namespace isochron
