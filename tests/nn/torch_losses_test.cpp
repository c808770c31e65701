#include "isochron/nn/torch_losses.h"

#include "isochron/graph/tape.h"
#include "isochron/nn/loss_modules.h"
#include "isochron/nn/pair_losses.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "reference.h"

namespace isochron {
namespace {

using nlohmann::json;
using reference::tensor_of;

Tensor loss_of(const json& test, const Tensor& x, const Tensor& y) {
  const std::string name = test["loss"], how = test["reduction"];
  const LossReduction reduction = how == "mean"  ? LossReduction::mean
                                  : how == "sum" ? LossReduction::sum
                                                 : LossReduction::none;
  const json& o = test["options"];
  const auto part = [&](const char* option) { return o.contains(option) ? tensor_of(o[option]) : Tensor(); };
  const ClassLossOptions classes{.weight = part("weight"),
                                 .ignore_index = o.value("ignore_index", -100),
                                 .reduction = reduction,
                                 .label_smoothing = o.value("label_smoothing", 0.)};
  const BinaryLossOptions binary{.weight = part("weight"), .pos_weight = part("pos_weight"), .reduction = reduction};
  if (name == "mse_loss") return mse_loss(x, y, reduction);
  if (name == "l1_loss") return l1_loss(x, y, reduction);
  if (name == "smooth_l1_loss") return smooth_l1_loss(x, y, o["beta"], reduction);
  if (name == "huber_loss") return huber_loss(x, y, o["delta"], reduction);
  if (name == "cross_entropy") return cross_entropy(x, y, classes);
  if (name == "nll_loss") return nll_loss(x, y, classes);
  if (name == "binary_cross_entropy") return binary_cross_entropy(x, y, binary);
  if (name == "binary_cross_entropy_with_logits") return binary_cross_entropy_with_logits(x, y, binary);
  if (name == "kl_div") return kl_div(x, y, {.log_target = o.value("log_target", false), .reduction = reduction});
  throw std::logic_error("no such loss: " + name);
}

TEST(TorchLosses, ValuesAndGradientsAreThoseOfPyTorch) {
  const json file = reference::read_file("torch_losses.json");
  ASSERT_GT(file["losses"].size(), 60u);
  for (const json& test : file["losses"]) {
    SCOPED_TRACE(test["loss"].get<std::string>() + " " + test["options"].dump() + " " +
                 test["reduction"].get<std::string>());
    const Variable x(tensor_of(test["input"]));
    GradientTape tape;
    const Tensor value = loss_of(test, x, tensor_of(test["target"]));
    EXPECT_CLOSE(value, tensor_of(test["value"]), 1e-9, 1e-10);
    EXPECT_CLOSE(tape.gradient(value, x), tensor_of(test["gradient"]), 1e-8, 1e-9);
  }
}

Tensor pair_loss_of(const json& test, const std::vector<Tensor>& t) {
  const std::string name = test["loss"];
  const json& o = test["options"];
  const LossReduction reduction = test["reduction"] == "sum"    ? LossReduction::sum
                                  : test["reduction"] == "none" ? LossReduction::none
                                                                : LossReduction::mean;
  const double margin = o.value("margin", 1.);
  if (name == "cosine_similarity") return nn::CosineSimilarity({.dim = o["dim"]})(t[0], t[1]);
  if (name == "pairwise_distance")
    return nn::PairwiseDistance({.p = o["p"], .keepdim = o.value("keepdim", false)})(t[0], t[1]);
  if (name == "triplet_margin_loss")
    return nn::TripletMarginLoss(
        {.margin = margin, .p = o.value("p", 2.), .swap = o.value("swap", false), .reduction = reduction})(t[0], t[1],
                                                                                                           t[2]);
  if (name == "margin_ranking_loss") return nn::MarginRankingLoss({margin, reduction})(t[0], t[1], t[2]);
  if (name == "cosine_embedding_loss") return nn::CosineEmbeddingLoss({margin, reduction})(t[0], t[1], t[2]);
  if (name == "hinge_embedding_loss") return nn::HingeEmbeddingLoss({margin, reduction})(t[0], t[1]);
  if (name == "soft_margin_loss") return nn::SoftMarginLoss(reduction)(t[0], t[1]);
  if (name == "multilabel_soft_margin_loss")
    return nn::MultiLabelSoftMarginLoss({tensor_of(o["weight"]), reduction})(t[0], t[1]);
  if (name == "poisson_nll_loss")
    return nn::PoissonNLLLoss(
        {.log_input = o.value("log_input", true), .full = o.value("full", false), .reduction = reduction})(t[0], t[1]);
  return nn::GaussianNLLLoss({.full = o.value("full", false), .eps = o.value("eps", 1e-6), .reduction = reduction})(
      t[0], t[1], t[2]);
}

TEST(PairLosses, ValuesAndGradientsAreThoseOfPyTorch) {
  const json file = reference::read_file("torch_losses.json");
  ASSERT_GT(file["pairs"].size(), 30u);
  for (const json& test : file["pairs"]) {
    SCOPED_TRACE(test["loss"].get<std::string>() + " " + test["options"].dump() + " " + test["reduction"].dump());
    std::vector<Tensor> tensors, sources;
    for (const json& value : test["tensors"]) tensors.push_back(tensor_of(value));
    for (const size_t i : test["by"]) sources.push_back(tensors[i] = Variable(tensors[i]));
    GradientTape tape;
    const Tensor value = pair_loss_of(test, tensors);
    EXPECT_CLOSE(value, tensor_of(test["value"]), 1e-9, 1e-10);
    const std::vector<Tensor> gradients = tape.gradient(sum(value), sources);
    for (size_t i = 0; i < sources.size(); ++i) EXPECT_CLOSE(gradients[i], tensor_of(test["gradients"][i]), 1e-8, 1e-9);
  }
}

TEST(PairLosses, SayWhatDoesNotFit) {
  const Tensor x = zeros({2, 3});
  EXPECT_ERROR(triplet_margin_loss(x, x, zeros({3, 3})), ShapeError, "anchor and negative must have the same shape");
  EXPECT_ERROR(triplet_margin_loss(x, x, x, {.margin = 0}), ValueError, "margin must be positive, got 0");
  EXPECT_ERROR(cosine_embedding_loss(x, x, zeros({3})), ShapeError,
               "one target for each of the vectors (2, 3), got (3,)");
  EXPECT_ERROR(gaussian_nll_loss(x, x, zeros({3, 2})), ShapeError, "var must fit the input (2, 3), got (3, 2)");
  EXPECT_ERROR(pairwise_distance(x, x, {.p = 0}), ValueError, "p must be positive, got 0");
}

// A sigmoid in float32 is 1 from 17 on: logarithms are bounded as in PyTorch, and so are their slopes.
TEST(TorchLosses, CertainPredictionsHaveFiniteGradients) {
  const Variable x(tensor({0.f, 1.f, 0.f, 1.f}));
  GradientTape tape;
  const Tensor value = binary_cross_entropy(x, tensor({0.f, 1.f, 1.f, 0.f}), {.reduction = LossReduction::none});
  EXPECT_CLOSE(value, tensor({0.f, 0.f, 100.f, 100.f}), 0, 0);
  EXPECT_TRUE(all(is_finite(tape.gradient(value, x))).item<bool>());
}

TEST(TorchLosses, RowsThatAreIgnoredMayHoldAnything) {
  const Tensor x = tensor({{1.f, 2.f}, {NAN, 0.f}}), labels = tensor({1, -100});
  EXPECT_CLOSE(cross_entropy(x, labels), cross_entropy(slice(x, {0}, {1}), tensor({1})), 1e-6, 0);
}

TEST(LossModules, KeepTheirOptions) {
  const Tensor x = tensor({{0.2f, 0.9f}, {0.6f, 0.4f}}), y = tensor({{0.f, 1.f}, {1.f, 0.f}}),
               labels = tensor({1, -100});
  const ClassLossOptions classes{.weight = tensor({0.5f, 2.f}), .reduction = LossReduction::sum};
  const BinaryLossOptions binary{.weight = tensor({0.5f, 2.f})};
  EXPECT_TRUE(same_elements(nn::MSELoss()(x, y), mse_loss(x, y)));
  EXPECT_TRUE(same_elements(nn::L1Loss(LossReduction::sum)(x, y), l1_loss(x, y, LossReduction::sum)));
  EXPECT_TRUE(same_elements(nn::SmoothL1Loss(0.3)(x, y), smooth_l1_loss(x, y, 0.3)));
  EXPECT_TRUE(same_elements(nn::HuberLoss(0.3)(x, y), huber_loss(x, y, 0.3)));
  EXPECT_TRUE(same_elements(nn::CrossEntropyLoss(classes)(x, labels), cross_entropy(x, labels, classes)));
  EXPECT_TRUE(same_elements(nn::NLLLoss()(x, labels), nll_loss(x, labels)));
  EXPECT_TRUE(same_elements(nn::BCELoss(binary)(x, y), binary_cross_entropy(x, y, binary)));
  EXPECT_TRUE(same_elements(nn::BCEWithLogitsLoss()(x, y), binary_cross_entropy_with_logits(x, y)));
  EXPECT_TRUE(same_elements(nn::KLDivLoss({.log_target = true})(x, y), kl_div(x, y, {.log_target = true})));
}

TEST(TorchLosses, SayWhatDoesNotFit) {
  const Tensor x = zeros({2, 3});
  EXPECT_ERROR(mse_loss(x, zeros({2})), ShapeError, "must have the same shape, got (2, 3) and (2,)");
  EXPECT_ERROR(mse_loss(x, x, LossReduction::mean_with_sample_weight), ValueError, "must be mean, sum or none");
  EXPECT_ERROR(cross_entropy(x, tensor({1, 2, 0})), ShapeError, "one class index for each of 2 rows, of shape (2,)");
  EXPECT_ERROR(cross_entropy(x, tensor({1, 3})).item(), ValueError, "got 3 at row 1");
  EXPECT_ERROR(cross_entropy(x, tensor({1, 2}), {.weight = zeros({2})}), ShapeError, "each of 3 classes");
  EXPECT_ERROR(cross_entropy(x, tensor({1, 2}), {.label_smoothing = 2}), ValueError, "in [0, 1], got 2");
  EXPECT_ERROR(binary_cross_entropy(x, x, {.pos_weight = ones({3})}), ValueError, "with_logits");
  EXPECT_ERROR(binary_cross_entropy(x, x, {.weight = ones({4, 2, 3})}), ShapeError, "weight must fit the target");
  EXPECT_ERROR(cross_entropy(x, x, {.weight = ones({1})}), ShapeError, "each of 3 classes, got (1,)");
  EXPECT_ERROR(nll_loss(zeros({2, 3}, DType::int64), tensor({1, 2})), DTypeError, "must be floating, got int64");
  EXPECT_ERROR(nll_loss(x, tensor({1, 2}), {.label_smoothing = 0.1}), ValueError, "is for cross_entropy");
  EXPECT_ERROR(huber_loss(x, x, 0), ValueError, "[huber_loss] delta must be positive, got 0");
  EXPECT_ERROR(huber_loss(x, zeros({2})), ShapeError, "[huber_loss] input and target");
}

TEST(TorchLosses, ClassesThatAreNoIntegersAreNamed) {
  EXPECT_ERROR(cross_entropy(zeros({4, 3}), zeros({4})), DTypeError, "class indices must be integers, got float32(4,)");
}

}  // namespace
}  // namespace isochron
