// A loss that is not finite: the step and the op that made it so are named, by every policy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "isochron/isochron.h"
#include "tests/base/captured_stderr.h"

namespace isochron {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A layer of one function.
class Apply : public Layer {
 public:
  Apply(const char* name, Tensor (*f)(const Tensor&)) : f_(f) { set_name(name); }
  std::string class_name() const override { return "Apply"; }
  Tensor call(const Tensor& x, const CallContext&) override { return f_(x); }

 private:
  Tensor (*f_)(const Tensor&);
};

// One weight of 1, no bias: the layer after it sees the data as they are.
Sequential model_with(Apply layer, NanPolicy policy = NanPolicy::raise) {
  Sequential model{Input({1}), Dense(1, {.use_bias = false, .kernel_initializer = "ones"}), std::move(layer)};
  model.compile({.optimizer = SGD(0.001), .loss = "mse", .nan_policy = policy});
  return model;
}

Tensor column(std::vector<float> values) {
  const auto rows = static_cast<int64_t>(values.size());
  return Tensor::from_buffer(std::move(values), {rows, 1});
}

const FitOptions kByTwo{.batch_size = 2, .shuffle = false, .verbose = 0};

std::string error_of(Model& model, const Tensor& x, const Tensor& y, const FitOptions& options = kByTwo) {
  try {
    model.fit(x, y, options);
  } catch (const NumericError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(BadNumbers, LogOfZeroIsNamedWithStepLayerAndPlace) {
  Sequential model = model_with({"logarithm", [](const Tensor& x) { return log(relu(x)); }});
  const std::string text = error_of(model, column({1, 2, 3, -4}), column({0, 0, 0, 0}));
  EXPECT_THAT(text, AllOf(HasSubstr("epoch 1, step 2"), HasSubstr("loss must be finite, got inf"),
                          HasSubstr("log in layer \"logarithm\" ("), HasSubstr("bad_numbers_test.cpp:"),
                          HasSubstr("inf in 1 of 2 values, first at [1, 0]"), HasSubstr("its inputs are finite")));
  EXPECT_THAT(text, HasSubstr("the weights are as before this step"));
}

TEST(BadNumbers, OverflowTellsHowLargeTheInputsWere) {
  Sequential model = model_with({"exponential", [](const Tensor& x) { return exp(x); }});
  EXPECT_THAT(error_of(model, column({1, 120}), column({0, 0})),
              AllOf(HasSubstr("exp in layer \"exponential\""), HasSubstr("at most 120 in magnitude")));
}

TEST(BadNumbers, InfinitiesThatMeetAreFollowedToTheirOrigin) {
  Sequential model = model_with({"difference", [](const Tensor& x) { return exp(x) - exp(2.0 * x); }});
  EXPECT_THAT(error_of(model, column({1, 120}), column({0, 0})),
              AllOf(HasSubstr("got nan"), HasSubstr("sub in layer \"difference\""),
                    HasSubstr("makes nan of infinities"), HasSubstr("come from: exp in layer \"difference\"")));
}

TEST(BadNumbers, InfinitiesThatDoNoHarmAreNotBlamed) {
  Sequential model = model_with({"masked", [](const Tensor& x) {
                                   const Tensor two = concat({x, full_like(x, -kInfinity)}, 1);
                                   const Tensor first = slice(softmax(two), {0, 0}, {2, 1});  // 1
                                   return sqrt(first - 2.0);
                                 }});
  EXPECT_THAT(error_of(model, column({1, 2}), column({0, 0})),
              AllOf(HasSubstr("sqrt in layer \"masked\""), HasSubstr("nan in 2 of 2"), Not(HasSubstr("concat"))));
}

TEST(BadNumbers, BadDataAreNamedByTheirRow) {
  const auto identity = [](const Tensor& x) { return x; };
  const Tensor good = column({1, 2, 3, 4, 5, 6}), zero = column({0, 0, 0, 0, 0, 0});
  Sequential model = model_with({"identity", identity});
  EXPECT_THAT(error_of(model, column({1, 2, 3, 4, kInfinity, 6}), zero),
              AllOf(HasSubstr("step 3"), HasSubstr("x holds inf in row 4 of the data")));
  for (const uint64_t seed : {1, 2, 3}) {
    set_seed(seed);
    EXPECT_THAT(error_of(model, column({1, 2, 3, 4, kNan, 6}), zero, {.batch_size = 2, .verbose = 0}),
                HasSubstr("x holds nan in row 4 of the data"));
  }
  EXPECT_THAT(error_of(model, good, column({0, kNan, 0, 0, 0, 0})), HasSubstr("y holds nan in row 1 of the data"));
  FitOptions weighted = kByTwo;
  weighted.sample_weight = tensor({1.f, 1.f, 1.f, kNan, 1.f, 1.f});
  EXPECT_THAT(error_of(model, good, zero, weighted), HasSubstr("sample_weight holds nan in row 3 of the data"));
  const Tensor wide = tensor({{1.f, 2.f, kNan}});
  Sequential three{Input({3}), Dense(1)};
  three.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_THAT(error_of(three, wide, column({0})), HasSubstr("x holds nan in 1 of 3 values, first at [0, 2] in row 0"));
}

TEST(BadNumbers, WeightsThatWereBadBeforeAreNamed) {
  Sequential model{Input({1}), Dense(1, {.name = "broken"})};
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.set_weights({tensor({{kNan}}), tensor({0.f})});
  EXPECT_THAT(error_of(model, column({1, 2}), column({0, 0})),
              HasSubstr("variable \"broken/kernel\" held nan before this step"));
}

// The root of 0 is finite, its slope is not.
TEST(BadNumbers, AGradientThatIsNotFiniteIsToldBeforeItRuinsTheWeights) {
  Sequential model = model_with({"root", [](const Tensor& x) { return sqrt(x); }});
  EXPECT_THAT(error_of(model, column({1, 1, 0, 1}), column({0, 0, 0, 0})),
              AllOf(HasSubstr("epoch 1, step 2"), HasSubstr("the gradient of \""), HasSubstr("kernel\" must be finite"),
                    HasSubstr("its inputs are finite"), HasSubstr("the weights are as before this step")));
  Sequential twin = model_with({"root", [](const Tensor& x) { return sqrt(x); }});
  twin.train_on_batch(column({1, 1}), column({0, 0}));
  EXPECT_EQ(model.get_weights()[0].item(), twin.get_weights()[0].item());
}

TEST(BadNumbers, AStepWithSuchAGradientIsSkipped) {
  Sequential model = model_with({"root", [](const Tensor& x) { return sqrt(x); }}, NanPolicy::skip);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const History history = model.fit(column({0, 1, 1, 1}), column({0, 0, 0, 0}), kByTwo);
  const std::string said = testing::internal::GetCapturedStdout() + captured_stderr();
  EXPECT_THAT(said, AllOf(HasSubstr("the gradient of"), HasSubstr("the step is skipped")));
  EXPECT_EQ(history.skipped_steps(), 1);
  EXPECT_TRUE(std::isfinite(model.get_weights()[0].item()));
}

// Every kind of weight: tables of which rows are picked, kernels with and without a bias, recurrent ones.
TEST(BadNumbers, GradientsOfEveryKindOfWeightAreWatched) {
  const auto root_at = [](Layer& layer, const Tensor& x, AnyOptimizer optimizer) {
    auto shared = std::shared_ptr<Layer>(&layer, [](Layer*) {});
    Sequential model({shared, Apply("root", [](const Tensor& y) { return sqrt(y * 0.0); })});
    model.compile({.optimizer = std::move(optimizer), .loss = "mse"});
    const Tensor y = zeros_like(model(x));
    const std::vector<Tensor> before = model.get_weights();
    const std::string text = error_of(model, x, y);
    const std::vector<Tensor> after = model.get_weights();
    for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(same_elements(before[i], after[i])) << layer.class_name();
    EXPECT_THAT(text, AllOf(HasSubstr("step 1"), HasSubstr("the gradient of \""))) << layer.class_name();
  };
  const Tensor tokens = tensor({{1, 2, 0}, {0, 3, 3}});
  Embedding table(50, 4), lazy(50, 4, {.lazy_updates = true});
  root_at(table, tokens, "sgd");
  root_at(table, tokens, "adam");
  root_at(lazy, tokens, "adam");
  Dense dense(3), plain(3, {.use_bias = false}), large(1024, {.use_bias = false});
  root_at(dense, ones({2, 8}), "adam");
  root_at(plain, ones({2, 8}), "adam");
  root_at(large, ones({2, 512}), "adam");
  Conv2D conv(2, 3);
  root_at(conv, ones({2, 6, 6, 1}), "adam");
  LSTM lstm(4);
  root_at(lstm, ones({2, 3, 2}), "adam");
}

TEST(BadNumbers, SkipLeavesTheStepOutAndTellsTheFirst) {
  Sequential model = model_with({"logarithm", [](const Tensor& x) { return log(x); }}, NanPolicy::skip);
  const Tensor x = column({1, 2, 0, 4, 0, 3}), y = column({0, 0, 0, 0, 0, 0});
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const History history = model.fit(x, y, kByTwo);
  const std::string said = testing::internal::GetCapturedStdout() + captured_stderr();
  EXPECT_EQ(history.skipped_steps(), 2);
  EXPECT_THAT(history.bad_loss(), AllOf(HasSubstr("epoch 1, step 2"), HasSubstr("log in layer \"logarithm\"")));
  EXPECT_THAT(said, AllOf(HasSubstr("warning: fit: epoch 1, step 2"), HasSubstr("skipped"), Not(HasSubstr("step 3"))));
  EXPECT_TRUE(std::isfinite(history["loss"][0]));
  EXPECT_TRUE(std::isfinite(model.get_weights()[0].item()));
  // What was learned from the one good batch, and nothing else.
  Sequential twin = model_with({"logarithm", [](const Tensor& t) { return log(t); }});
  twin.train_on_batch(column({1, 2}), column({0, 0}));
  EXPECT_EQ(model.get_weights()[0].item(), twin.get_weights()[0].item());
}

TEST(BadNumbers, WarnNamesTheStepOnceAndGoesOn) {
  Sequential model = model_with({"logarithm", [](const Tensor& x) { return log(x); }}, NanPolicy::warn);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const History history = model.fit(column({1, 2, 0, 4}), column({0, 0, 0, 0}),
                                    {.epochs = 2, .batch_size = 2, .shuffle = false, .verbose = 0});
  const std::string said = testing::internal::GetCapturedStdout() + captured_stderr();
  EXPECT_THAT(said,
              AllOf(HasSubstr("warning: fit: epoch 1, step 2"), HasSubstr("log in layer"), Not(HasSubstr("epoch 2"))));
  EXPECT_EQ(history.skipped_steps(), 0);
  EXPECT_FALSE(std::isfinite(history["loss"][1]));
  EXPECT_FALSE(std::isfinite(model.get_weights()[0].item())) << "the update was made";
}

TEST(BadNumbers, SingleBatchesFollowThePolicyToo) {
  const Tensor x = column({0, 1}), y = column({0, 0});
  const auto logarithm = [](const Tensor& t) { return log(t); };
  Sequential raises = model_with({"logarithm", logarithm});
  EXPECT_THAT([&] { raises.train_on_batch(x, y); },
              testing::Throws<NumericError>(testing::Property(&std::exception::what, HasSubstr("log in layer"))));
  EXPECT_EQ(raises.get_weights()[0].item(), 1);
  Sequential skips = model_with({"logarithm", logarithm}, NanPolicy::skip);
  skips.train_on_batch(x, y);
  EXPECT_EQ(skips.get_weights()[0].item(), 1);
}

TEST(BadNumbers, RandomNumbersAreThoseOfTheStep) {
  // The dropped half of a long row decides which element overflows: the search must draw the same ones.
  Sequential model{Input({64}), Dropout(0.5), Apply("exponential", [](const Tensor& x) { return exp(x); }), Dense(1)};
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const std::string text = error_of(model, full({1, 64}, 60.f).eval(), column({0}));
  EXPECT_THAT(text, AllOf(HasSubstr("exp in layer \"exponential\""), HasSubstr("at most 120 in magnitude")));
}

}  // namespace
}  // namespace isochron
