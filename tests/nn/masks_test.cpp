// Masks through layers that join several tensors, both directions of a recurrent layer as a list, labels that are none.
#include <gtest/gtest.h>

#include "isochron/isochron.h"
#include "reference.h"

namespace isochron {
namespace {

using Bits = std::vector<bool>;

Bits bits(const Tensor& mask) {
  const std::vector<double> values = cast(mask, DType::float64).to_vector<double>();
  return {values.begin(), values.end()};
}

class Merging : public testing::Test {
 protected:
  static Tensor steps(std::vector<int64_t> ones) { return not_equal(reshape(tensor(ones), {1, 3}), 0).eval(); }
  const Tensor a = ones({1, 3, 2}).eval(), b = ones({1, 3, 2}).eval(), c = ones({1, 3, 2}).eval();
};

// As Keras 3 has it: BaseMerge.compute_mask and Concatenate.compute_mask.
TEST_F(Merging, KeepsStepsThatCountInAnyInput) {
  set_mask(a, steps({1, 1, 0}));
  set_mask(b, steps({0, 1, 0}));
  for (const AnyLayer& layer : {AnyLayer(Add()), AnyLayer(Subtract()), AnyLayer(Multiply()), AnyLayer(Average()),
                                AnyLayer(Maximum()), AnyLayer(Minimum())}) {
    EXPECT_EQ(bits(mask_of((*layer.get())({a, b})[0])), (Bits{true, true, false})) << layer.get()->class_name();
    EXPECT_FALSE(mask_of((*layer.get())({a, c})[0]).defined()) << layer.get()->class_name();
  }
  EXPECT_FALSE(mask_of(Dot(2)({a, b})[0]).defined());
}

TEST_F(Merging, ConcatenatesMasksAlongTime) {
  set_mask(a, steps({1, 0, 0}));
  set_mask(b, steps({0, 1, 0}));
  EXPECT_EQ(bits(mask_of(Concatenate()({a, b})[0])), (Bits{true, true, false}));
  EXPECT_EQ(bits(mask_of(Concatenate({.axis = 1})({a, b})[0])), (Bits{true, false, false, false, true, false}));
  EXPECT_EQ(bits(mask_of(Concatenate({.axis = 1})({a, c})[0])), (Bits{true, false, false, true, true, true}));
  EXPECT_EQ(bits(mask_of(Concatenate()({a, c})[0])), (Bits{true, true, true}));
  EXPECT_FALSE(mask_of(Concatenate()({b * 1.0, c})[0]).defined());
}

// As in Keras, whose preprocessing layers say supports_masking.
TEST(Masks, TravelThroughScalingLayers) {
  const Tensor x = ones({1, 3, 2}).eval(), mask = tensor({{1, 0, 1}}) > 0;
  set_mask(x, mask);
  Normalization normalize({.mean = tensor({1.f, 2.f}), .variance = tensor({1.f, 4.f})});
  for (const AnyLayer& layer : {AnyLayer(Rescaling(2)), AnyLayer(normalize), AnyLayer(ActivityRegularization())}) {
    const Tensor passed = mask_of((*layer.get())(x));
    ASSERT_TRUE(passed.defined()) << layer.get()->class_name();
    EXPECT_EQ(bits(passed), (Bits{true, false, true})) << layer.get()->class_name();
  }
}

TEST(Softmax, SharesAmongElementsThatTheMaskLetsThrough) {
  const Tensor scores = log(tensor({{1.0f, 2.0f, 3.0f}, {4.0f, 1.0f, 4.0f}}));
  const Tensor mask = tensor({{1, 0, 1}, {1, 1, 0}}) > 0;
  EXPECT_TRUE(allclose(Softmax()(scores, {.mask = mask}), tensor({{0.25f, 0.0f, 0.75f}, {0.8f, 0.2f, 0.0f}}), 1e-6));
  set_mask(scores, mask);
  EXPECT_TRUE(allclose(Softmax({.axis = 0})(scores), tensor({{0.2f, 0.0f, 1.0f}, {0.8f, 1.0f, 0.0f}}), 1e-6));
  // One of steps: every step keeps its own distribution.
  const Tensor sequence = ones({1, 3, 2}).eval();
  set_mask(sequence, tensor({{1, 1, 0}}) > 0);
  EXPECT_TRUE(allclose(Softmax()(sequence), full({1, 3, 2}, 0.5), 1e-6));
  EXPECT_ERROR(Softmax()(scores, {.mask = ones({2, 2}) > 0}), ShapeError, "must fit the input (2, 3), got (2, 2)");
}

TEST(BidirectionalNone, GivesBothDirectionsAsAList) {
  const Tensor x = random_normal({2, 4, 3}, 0, 1, {.seed = 1}).eval();
  Bidirectional apart(LSTM(5, {.return_sequences = true}), {.merge_mode = "none"});
  Bidirectional joined(LSTM(5, {.return_sequences = true}));
  const std::vector<Tensor> both = apart(std::vector<Tensor>{x});
  ASSERT_EQ(both.size(), 2u);
  joined(x).eval();
  const std::vector<Variable> from = apart.weights(), to = joined.weights();
  for (size_t i = 0; i < from.size(); ++i) to[i].assign(from[i]);
  EXPECT_CLOSE(concat({both[0], both[1]}, -1), joined(x), 1e-6, 1e-6);
  EXPECT_ERROR(apart(x), ValueError, "gives 2 outputs");
  const Input in({4, 3});
  const SymbolicTensors parts = apart(std::vector<SymbolicTensor>{in});
  Model model(in, {parts[0], parts[1]});
  EXPECT_CLOSE(model.predict_all(x)[1], both[1], 1e-6, 1e-6);
}

TEST(NllLoss, RefusesTargetsThatAreNoClass) {
  const Tensor p = log_softmax(random_normal({3, 4}, 0, 1, {.seed = 1})).eval();
  const std::vector<float> v = p.to_vector<float>();
  EXPECT_NEAR(nll_loss(p, tensor({1, 0, 3})).item(), -(v[1] + v[4] + v[11]) / 3, 1e-6);
  EXPECT_ERROR(nll_loss(p, tensor({1, 4, 3})).item(), IndexError, "4");
  EXPECT_ERROR(nll_loss(p, tensor({1, -1, 3})).item(), IndexError, "-1");
  EXPECT_ERROR(nll_loss(p, tensor({1, 2})), ShapeError, "one class index for each of 3 rows");
}

}  // namespace
}  // namespace isochron
