#include "isochron/nn/losses.h"

#include <gtest/gtest.h>
#include <cmath>

#include "isochron/graph/tape.h"
#include "isochron/nn/masking.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/shape_ops.h"
#include "reference.h"

namespace isochron {
namespace {

using nlohmann::json;
using reference::tensor_of;

LossReduction reduction_of(const std::string& name) {
  if (name == "sum") return LossReduction::sum;
  if (name == "mean") return LossReduction::mean;
  if (name == "mean_with_sample_weight") return LossReduction::mean_with_sample_weight;
  return name == "none" ? LossReduction::none : LossReduction::sum_over_batch_size;
}

AnyLoss loss_of(const json& test) {
  const std::string name = test["loss"];
  const json& config = test["config"];
  const LossReduction reduction = reduction_of(test["reduction"]);
  const CrossentropyOptions crossentropy{config.value("from_logits", false), config.value("label_smoothing", 0.),
                                         reduction};
  const LossOptions plain{reduction};
  if (name == "mse") return MeanSquaredError(plain);
  if (name == "mae") return MeanAbsoluteError(plain);
  if (name == "mape") return MeanAbsolutePercentageError(plain);
  if (name == "huber") return Huber({config.value("delta", 1.), reduction});
  if (name == "log_cosh") return LogCosh(plain);
  if (name == "binary_crossentropy") return BinaryCrossentropy(crossentropy);
  if (name == "categorical_crossentropy") return CategoricalCrossentropy(crossentropy);
  if (name == "sparse_categorical_crossentropy")
    return SparseCategoricalCrossentropy({.from_logits = crossentropy.from_logits,
                                          .ignore_class = config.contains("ignore_class")
                                                              ? std::optional(config["ignore_class"].get<int64_t>())
                                                              : std::nullopt,
                                          .reduction = reduction});
  if (name == "kl_divergence") return KLDivergence(plain);
  if (name == "hinge") return Hinge(plain);
  if (name == "squared_hinge") return SquaredHinge(plain);
  if (name == "categorical_hinge") return CategoricalHinge(plain);
  if (name == "cosine_similarity") return CosineSimilarity({config.value("axis", -1), reduction});
  if (name == "poisson") return Poisson(plain);
  if (name == "binary_focal_crossentropy")
    return BinaryFocalCrossentropy({.apply_class_balancing = config.value("apply_class_balancing", false),
                                    .alpha = config.value("alpha", 0.25),
                                    .gamma = config.value("gamma", 2.),
                                    .from_logits = crossentropy.from_logits,
                                    .label_smoothing = crossentropy.label_smoothing,
                                    .reduction = reduction});
  if (name == "categorical_focal_crossentropy")
    return CategoricalFocalCrossentropy({.alpha = config.value("alpha", std::vector<double>{0.25}),
                                         .gamma = config.value("gamma", 2.),
                                         .from_logits = crossentropy.from_logits,
                                         .label_smoothing = crossentropy.label_smoothing,
                                         .reduction = reduction});
  const auto axis = config.value("axis", std::vector<int64_t>{});
  if (name == "dice") return Dice({.axis = axis, .reduction = reduction});
  if (name == "tversky") return Tversky({config.value("alpha", 0.5), config.value("beta", 0.5), axis, reduction});
  throw std::logic_error("no such loss: " + name);
}

TEST(Losses, ValuesAndGradientsAreThoseOfKeras) {
  const json file = reference::read_file("losses.json");
  ASSERT_GT(file["losses"].size(), 100u);
  for (const json& test : file["losses"]) {
    SCOPED_TRACE(test["loss"].get<std::string>() + " " + test["config"].dump() + " " +
                 test["reduction"].get<std::string>() + (test["sample_weight"].is_null() ? "" : " weighted"));
    const Variable prediction(tensor_of(test["y_pred"]));
    GradientTape tape;
    const Tensor value = (*loss_of(test))(tensor_of(test["y_true"]), prediction, tensor_of(test["sample_weight"]));
    // Keras takes log(2) in float32 whatever the dtype.
    const double rtol = test["loss"] == "log_cosh" ? 1e-7 : 1e-9;
    EXPECT_CLOSE(value, tensor_of(test["value"]), rtol, 1e-10);
    EXPECT_CLOSE(tape.gradient(value, prediction), tensor_of(test["gradient"]), 1e-8, 1e-9);
  }
}

TEST(Losses, StepsAreLeftOutAsInKeras) {
  const json file = reference::read_file("losses.json");
  ASSERT_GT(file["masked"].size(), 15u);
  for (const json& test : file["masked"]) {
    SCOPED_TRACE(test["config"].dump() + " " + test["reduction"].get<std::string>() +
                 (test["mask"].is_null() ? "" : " masked") + (test["sample_weight"].is_null() ? "" : " weighted"));
    const Tensor prediction = tensor_of(test["y_pred"]);
    if (!test["mask"].is_null()) set_mask(prediction, cast(tensor_of(test["mask"]), DType::boolean));
    EXPECT_CLOSE((*loss_of(test))(tensor_of(test["y_true"]), prediction, tensor_of(test["sample_weight"])),
                 tensor_of(test["value"]), 1e-9, 1e-10);
  }
}

TEST(Losses, NothingThatCountsIsZero) {
  const Tensor y = ones({3, 2}), p = zeros({3, 2}), none = zeros({3});
  for (const LossReduction reduction :
       {LossReduction::sum_over_batch_size, LossReduction::sum, LossReduction::mean_with_sample_weight})
    EXPECT_EQ(MeanSquaredError({reduction})(y, p, none).item(), 0);
}

TEST(Losses, EveryNameIsKnown) {
  for (const char* name : {"mse",
                           "mae",
                           "mape",
                           "msle",
                           "huber",
                           "log_cosh",
                           "binary_crossentropy",
                           "categorical_crossentropy",
                           "sparse_categorical_crossentropy",
                           "kl_divergence",
                           "hinge",
                           "squared_hinge",
                           "categorical_hinge",
                           "cosine_similarity",
                           "poisson",
                           "binary_focal_crossentropy",
                           "categorical_focal_crossentropy",
                           "dice",
                           "tversky",
                           "mean_squared_error",
                           "mean_absolute_error"})
    EXPECT_TRUE(AnyLoss(name)) << name;
  EXPECT_EQ(AnyLoss("KLDivergence")->name(), "kl_divergence");
  EXPECT_ERROR(AnyLoss("mean_square_error"), ValueError, "did you mean \"mean_squared_error\"?");
}

TEST(Losses, AFunctionIsALoss) {
  const AnyLoss loss = [](const Tensor& y, const Tensor& p) { return abs(y - p); };
  EXPECT_DOUBLE_EQ((*loss)(tensor({1.f, 2.f}), tensor({2.f, 5.f})).item(), 2.);
}

TEST(Losses, ColumnsAndVectorsLineUp) {
  const Tensor column = tensor({{1.f}, {2.f}, {3.f}}), vector = tensor({2.f, 2.f, 2.f});
  EXPECT_NEAR(MeanSquaredError()(vector, column).item(), 2. / 3, 1e-6);
  EXPECT_NEAR(MeanSquaredError()(column, vector).item(), 2. / 3, 1e-6);
}

TEST(Losses, IgnoredLabelsDoNotCount) {
  const Tensor logits = tensor({{1.f, 2.f, 0.f}, {0.f, 1.f, 3.f}, {2.f, 0.f, 1.f}});
  const auto loss = [&](const Tensor& labels, const Tensor& scores, LossReduction reduction,
                        const Tensor& weight = {}) {
    return SparseCategoricalCrossentropy({.from_logits = true, .ignore_class = -1, .reduction = reduction})(
        labels, scores, weight);
  };
  const Tensor two = concat({slice(logits, {0}, {1}), slice(logits, {2}, {3})}), some = tensor({1, -1, 0});
  for (const LossReduction reduction : {LossReduction::sum_over_batch_size, LossReduction::sum, LossReduction::mean}) {
    EXPECT_NEAR(loss(some, logits, reduction).item(), loss(tensor({1, 0}), two, reduction).item(), 1e-6);
    EXPECT_NEAR(loss(some, logits, reduction, tensor({2.f, 9.f, 3.f})).item(),
                loss(tensor({1, 0}), two, reduction, tensor({2.f, 3.f})).item(), 1e-6);
  }
  EXPECT_EQ(loss(some, logits, LossReduction::none).to_vector<float>()[1], 0);
  EXPECT_ERROR(loss(tensor({1, -2, 0}), logits, LossReduction::sum).item(), ValueError, "got -2 at row 1");
}

TEST(Losses, SayWhatDoesNotFit) {
  const Tensor two = zeros({4, 2}), three = zeros({4, 3});
  EXPECT_ERROR(CategoricalCrossentropy()(zeros({4}, DType::int64), three), ShapeError,
               "class numbers go with sparse_categorical_crossentropy");
  EXPECT_ERROR(MeanSquaredError()(two, three), ShapeError, "must have the same shape, got (4, 2) and (4, 3)");
  EXPECT_ERROR(SparseCategoricalCrossentropy()(three, three), ShapeError, "use categorical_crossentropy");
  EXPECT_ERROR(MeanSquaredError()(three, zeros({4, 3}, DType::int32)), DTypeError, "must be floating");
  EXPECT_ERROR(MeanSquaredError()(three, three, zeros({5})), ShapeError, "must fit the loss values (4,), got (5,)");
  EXPECT_ERROR(Huber({.delta = 0})(three, three), ValueError, "delta must be positive");
  EXPECT_ERROR(CategoricalCrossentropy({.label_smoothing = 2})(three, three), ValueError, "[0, 1], got 2");
  EXPECT_ERROR(BinaryFocalCrossentropy({.gamma = -1})(three, three), ValueError, "gamma must not be negative, got -1");
  EXPECT_ERROR(CategoricalFocalCrossentropy({.alpha = {0.1, 0.9}})(three, three), ValueError,
               "one for each of 3 classes, got 2");
  EXPECT_ERROR(Dice({.axis = {2}})(three, three), Error, "axis");
}

TEST(Losses, ALabelOutsideIsNamedWithItsRow) {
  const Tensor labels = tensor({0, 2, 7, 1});
  EXPECT_ERROR(SparseCategoricalCrossentropy({.from_logits = true})(labels, zeros({4, 3})).item(), Error, "7");
  EXPECT_ERROR(SparseCategoricalCrossentropy({.from_logits = true})(labels, zeros({4, 3})).item(), Error, "row 2");
}

TEST(Losses, ReductionsHaveNames) {
  const Tensor y = tensor({{1.f}, {2.f}}), p = zeros({2, 1});
  EXPECT_EQ(MeanSquaredError({.reduction = "sum"})(y, p).item(), 5);
  EXPECT_EQ(MeanSquaredError({.reduction = LossReduction::mean})(y, p).item(), 2.5);
  EXPECT_CLOSE(MeanSquaredError({.reduction = nullptr})(y, p), tensor({1.f, 4.f}), 0, 0);
  EXPECT_EQ(MeanSquaredError({.reduction = "mean_with_sample_weight"}).reduction(),
            LossReduction::mean_with_sample_weight);
  EXPECT_ERROR(MeanSquaredError({.reduction = "summ"}), ValueError, "unknown reduction \"summ\"; did you mean \"sum\"");
  EXPECT_ERROR(AnyLoss(nullptr), ValueError, "got nullptr");
}

}  // namespace
}  // namespace isochron
