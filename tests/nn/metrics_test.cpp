#include "isochron/nn/metrics.h"

#include <gmock/gmock.h>

#include "isochron/nn/confusion_metrics.h"
#include "isochron/nn/iou_metrics.h"
#include "isochron/nn/r2_score.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/indexing.h"
#include "isochron/ops/shape_ops.h"
#include "reference.h"

namespace isochron {
namespace {

using nlohmann::json;
using reference::tensor_of;

// Counts, operating points, overlaps and R2; null for others.
std::shared_ptr<Metric> confusion_metric_of(const std::string& name, const json& c) {
  const bool several = c.contains("thresholds") && c["thresholds"].is_array();
  const CountOptions counts{.thresholds = several ? c["thresholds"].get<std::vector<double>>() : std::vector{0.5}};
  if (name == "true_positives") return std::make_shared<TruePositives>(counts);
  if (name == "false_positives") return std::make_shared<FalsePositives>(counts);
  if (name == "true_negatives") return std::make_shared<TrueNegatives>(counts);
  if (name == "false_negatives") return std::make_shared<FalseNegatives>(counts);
  OperatingPointOptions point{.num_thresholds = c.value("num_thresholds", 200)};
  if (c.contains("class_id")) point.class_id = c["class_id"].get<int64_t>();
  if (name == "sensitivity_at_specificity") return std::make_shared<SensitivityAtSpecificity>(c["value"], point);
  if (name == "specificity_at_sensitivity") return std::make_shared<SpecificityAtSensitivity>(c["value"], point);
  if (name == "precision_at_recall") return std::make_shared<PrecisionAtRecall>(c["value"], point);
  if (name == "recall_at_precision") return std::make_shared<RecallAtPrecision>(c["value"], point);
  IoUOptions overlap{.sparse_y_pred = c.value("sparse_y_pred", true)};
  if (c.contains("ignore_class")) overlap.ignore_class = c["ignore_class"].get<int64_t>();
  const int64_t classes = c.value("num_classes", 0);
  const auto ids = c.value("target_class_ids", std::vector<int64_t>());
  if (name == "io_u") return std::make_shared<IoU>(classes, ids, overlap);
  if (name == "mean_io_u") return std::make_shared<MeanIoU>(classes, overlap);
  if (name == "one_hot_io_u") return std::make_shared<OneHotIoU>(classes, ids, overlap);
  if (name == "one_hot_mean_io_u") return std::make_shared<OneHotMeanIoU>(classes, overlap);
  if (name == "binary_io_u")
    return std::make_shared<BinaryIoU>(ids, BinaryIoUOptions{.threshold = c["threshold"].get<double>()});
  if (name != "r2_score") return nullptr;
  R2ScoreOptions explained{.num_regressors = c.value("num_regressors", 0)};
  if (c.contains("class_aggregation"))
    explained.class_aggregation = c["class_aggregation"].is_null() ? "none" : c["class_aggregation"].get<std::string>();
  return std::make_shared<R2Score>(explained);
}

std::shared_ptr<Metric> metric_of(const json& test) {
  const std::string name = test["metric"];
  const json& config = test["config"];
  if (const std::shared_ptr<Metric> metric = confusion_metric_of(name, config)) return metric;
  const json& first = test["updates"][0];
  if (name == "mean") return std::make_shared<Mean>();
  if (name == "accuracy") return std::make_shared<Accuracy>();
  if (name == "auc")
    return std::make_shared<AUC>(AUCOptions{.num_thresholds = config.value("num_thresholds", 200),
                                            .curve = config.value("curve", "ROC"),
                                            .summation_method = config.value("summation_method", "interpolation"),
                                            .thresholds = config.value("thresholds", std::vector<double>()),
                                            .multi_label = config.value("multi_label", false),
                                            .num_labels = config.value("num_labels", 0),
                                            .label_weights = config.value("label_weights", std::vector<double>()),
                                            .from_logits = config.value("from_logits", false)});
  if (name == "f1") {
    F1Options options{.average = config["average"], .classes = first["y_pred"]["shape"][1]};
    if (config.contains("threshold")) options.threshold = config["threshold"].get<double>();
    return std::make_shared<F1Score>(options);
  }
  DecisionOptions thresholds;
  if (config.contains("thresholds"))
    thresholds.thresholds = config["thresholds"].is_array() ? config["thresholds"].get<std::vector<double>>()
                                                            : std::vector{config["thresholds"].get<double>()};
  if (config.contains("top_k")) thresholds.top_k = config["top_k"].get<int64_t>();
  if (config.contains("class_id")) thresholds.class_id = config["class_id"].get<int64_t>();
  if (name == "precision") return std::make_shared<Precision>(thresholds);
  if (name == "recall") return std::make_shared<Recall>(thresholds);
  if (config.contains("threshold")) return std::make_shared<BinaryAccuracy>(config["threshold"].get<double>());
  if (name == "top_k_categorical_accuracy") return std::make_shared<TopKCategoricalAccuracy>(config["k"]);
  if (name == "sparse_top_k_categorical_accuracy") return std::make_shared<SparseTopKCategoricalAccuracy>(config["k"]);
  return AnyMetric(name).resolve(tensor_of(first["y_true"]).spec(), tensor_of(first["y_pred"]).spec());
}

void update(Metric& metric, const json& step) {
  const Tensor weight = tensor_of(step["sample_weight"]);
  if (step.contains("values"))
    metric.update({}, tensor_of(step["values"]), weight);
  else
    metric.update(tensor_of(step["y_true"]), tensor_of(step["y_pred"]), weight);
}

void expect_result(const Metric& metric, const json& step) {
  EXPECT_THAT(metric.result().to_vector<double>(),
              testing::Pointwise(testing::DoubleNear(2e-6), step["result"].get<std::vector<double>>()));
}

TEST(Metrics, ResultsAreThoseOfKerasAfterEveryBatch) {
  const json file = reference::read_file("losses.json");
  ASSERT_GT(file["metrics"].size(), 30u);
  for (const json& test : file["metrics"]) {
    SCOPED_TRACE(test["metric"].get<std::string>() + " " + test["config"].dump());
    const std::shared_ptr<Metric> metric = metric_of(test);
    for (const json& step : test["updates"]) {
      update(*metric, step);
      expect_result(*metric, step);
    }
    // What was counted before a reset is forgotten.
    metric->reset();
    update(*metric, test["updates"][0]);
    expect_result(*metric, test["updates"][0]);
  }
}

TEST(Metrics, AccuracyPicksItsFormByTheShapes) {
  const auto accuracy = [](const Tensor& y, const Tensor& p) {
    const std::shared_ptr<Metric> metric = AnyMetric("accuracy").resolve(y.spec(), p.spec());
    metric->update(y, p, {});
    EXPECT_EQ(metric->name(), "accuracy");
    return metric->result().item();
  };
  EXPECT_DOUBLE_EQ(accuracy(tensor({{1.f}, {0.f}}), tensor({{0.9f}, {0.8f}})), 0.5);
  EXPECT_DOUBLE_EQ(accuracy(tensor({1.f, 0.f, 1.f, 1.f}), tensor({0.9f, 0.8f, 0.7f, 0.6f})), 0.75);
  const Tensor scores = tensor({{0.9f, 0.1f}, {0.8f, 0.2f}, {0.3f, 0.7f}, {0.4f, 0.6f}});
  EXPECT_DOUBLE_EQ(accuracy(tensor({0, 1, 1, 1}), scores), 0.75);
  EXPECT_DOUBLE_EQ(accuracy(tensor({{1.f, 0.f}, {1.f, 0.f}, {1.f, 0.f}, {1.f, 0.f}}), scores), 0.5);
}

// Decisions 0, 2, 2, 1 for classes 0, 1, 2, 0, by hand: hits 1, 0, 1 of 1, 1, 2 decided and 2, 1, 1 actual.
// A loop of one's own, with Keras' names.
TEST(Metrics, AreUpdatedAndResetByHand) {
  const Tensor labels = tensor({0, 1, 2, 1}), scores = one_hot(tensor({0, 1, 1, 1}), 3);
  SparseCategoricalAccuracy accuracy;
  accuracy.update_state(labels, scores);
  EXPECT_EQ(accuracy.result().item(), 0.75);
  EXPECT_EQ(accuracy(labels, scores, tensor({1.f, 1.f, 2.f, 0.f})).item(), 5.0 / 8);
  accuracy.reset_state();
  EXPECT_EQ(accuracy.result().item(), 0);
  Mean loss;
  loss.update_state(tensor({1.f, 3.f}));
  EXPECT_EQ(loss(scalar(8)).item(), 4);
}

TEST(Metrics, F1OfEveryClassAndItsAverages) {
  const Tensor y = tensor({{1.f, 0.f, 0.f}, {0.f, 1.f, 0.f}, {0.f, 0.f, 1.f}, {1.f, 0.f, 0.f}});
  const Tensor p = tensor({{.8f, .1f, .1f}, {.1f, .2f, .7f}, {.1f, .3f, .6f}, {.2f, .5f, .3f}});
  const auto f1 = [&](const char* average) {
    F1Score metric({.average = average});
    metric.update(y, p, {});
    return metric.result().to_vector<double>();
  };
  EXPECT_THAT(f1("none"), testing::Pointwise(testing::DoubleNear(1e-6), {2.0 / 3, 0.0, 2.0 / 3}));
  EXPECT_THAT(f1("macro"), testing::Pointwise(testing::DoubleNear(1e-6), {4.0 / 9}));
  EXPECT_THAT(f1("weighted"), testing::Pointwise(testing::DoubleNear(1e-6), {0.5}));
  EXPECT_THAT(f1("micro"), testing::Pointwise(testing::DoubleNear(1e-6), {0.5}));
}

TEST(Metrics, NamesOfLossesAreTheirMeans) {
  const Tensor y = tensor({{1.f, 2.f}, {3.f, 4.f}}), p = tensor({{1.f, 3.f}, {3.f, 2.f}});
  const std::shared_ptr<Metric> metric = AnyMetric("mape").resolve(y.spec(), p.spec());
  EXPECT_EQ(metric->name(), "mape");
  metric->update(y, p, {});
  EXPECT_NEAR(metric->result().item(), 25, 1e-4);
  const std::shared_ptr<Metric> likeness = AnyMetric("cosine_similarity").resolve(y.spec(), y.spec());
  likeness->update(y, y, {});
  EXPECT_NEAR(likeness->result().item(), 1, 1e-6);
}

// The k largest scores by bfloat16, whose numbers are far apart.
TEST(Metrics, TopKOfNarrowScores) {
  Precision precision({.top_k = 1});
  precision.update(tensor({{1.f, 0.f, 0.f}}), cast(tensor({{0.7f, 0.2f, 0.1f}}), DType::bfloat16), {});
  EXPECT_EQ(precision.result().item(), 1);
}

TEST(Metrics, TopKAccuracyOfScoresThatAreNotFinite) {
  const auto accuracy = [](const Tensor& labels, const Tensor& scores) {
    SparseTopKCategoricalAccuracy metric(2);
    metric.update(labels, scores, {});
    return metric.result().item();
  };
  // Classes that can't be have a score of minus infinity.
  const Tensor scores = tensor({{1.f, 2.f, 3.f, -INFINITY}, {2.f, 1.f, 3.f, -INFINITY}});
  EXPECT_EQ(accuracy(tensor({0, 0}), scores), 0.5);
  EXPECT_EQ(accuracy(tensor({3, 3}), scores), 0);
  EXPECT_EQ(accuracy(tensor({0}), tensor({{NAN, 1.f, 2.f}})), 0);
  EXPECT_EQ(accuracy(tensor({-1}), tensor({{3.f, 1.f, 2.f}})), 0);
}

TEST(Metrics, F1OverSequences) {
  const Tensor y = tensor({{1.f, 0.f}, {0.f, 1.f}, {0.f, 1.f}, {1.f, 0.f}}),
               p = tensor({{.9f, .1f}, {.6f, .4f}, {.2f, .8f}, {.7f, .3f}}), weight = tensor({1.f, 2.f, 1.f, 0.5f});
  F1Score rows({.average = "macro"}), steps({.average = "macro"});
  rows.update(y, p, weight);
  steps.update(reshape(y, {2, 2, 2}), reshape(p, {2, 2, 2}), reshape(weight, {2, 2}));
  EXPECT_EQ(steps.result().item(), rows.result().item());
}

TEST(Metrics, NothingSeenIsZero) {
  EXPECT_EQ(Mean().result().item(), 0);
  EXPECT_EQ(Precision().result().item(), 0);
  EXPECT_EQ(AUC().result().item(), 0);
  EXPECT_EQ(AUC({.multi_label = true}).result().item(), 0);
  EXPECT_EQ(F1Score().result().item(), 0);
  EXPECT_EQ(MeanIoU(3).result().item(), 0);
  EXPECT_EQ(PrecisionAtRecall(0.5).result().item(), 0);
  EXPECT_EQ(R2Score().result().item(), 0);
}

TEST(Metrics, SayWhatDoesNotFit) {
  const TensorSpec spec{DType::float32, {4, 1}};
  EXPECT_EQ(AnyMetric("AUC").resolve(spec, spec)->name(), "auc");
  EXPECT_EQ(AnyMetric("TopKCategoricalAccuracy").resolve(spec, spec)->name(), "top_k_categorical_accuracy");
  EXPECT_ERROR(AnyMetric("acuracy").resolve(spec, spec), ValueError, "did you mean \"accuracy\"?");
  EXPECT_ERROR(Precision({.thresholds = {0.5, 1.5}}), ValueError, "[precision] thresholds must be in [0, 1], got 1.5");
  EXPECT_ERROR(Precision({.top_k = 0}), ValueError, "top_k must not be 0");
  EXPECT_ERROR(Recall({.class_id = 4}).update(zeros({2, 4}), zeros({2, 4}), {}), ValueError,
               "class_id 4 is not among 4 columns");
  EXPECT_ERROR(AUC({.num_thresholds = 1}), ValueError, "at least 2 thresholds, got 1");
  EXPECT_ERROR(AUC({.num_thresholds = -1}), ValueError, "at least 2 thresholds, got -1");
  EXPECT_ERROR(AUC({.curve = "roc"}), ValueError, "unknown curve \"roc\"");
  EXPECT_ERROR(AUC({.summation_method = "major"}), ValueError, "unknown summation_method \"major\"");
  EXPECT_ERROR(AUC({.thresholds = {0.5, 1.5}}), ValueError, "in [0, 1], got 1.5");
  EXPECT_ERROR(AUC({.num_labels = 3}), ValueError, "num_labels is for multi_label");
  EXPECT_ERROR(AUC({.multi_label = true, .num_labels = 3}).update(zeros({2, 4}), zeros({2, 4}), {}), ShapeError,
               "made for 3 labels, got predictions (2, 4)");
  EXPECT_ERROR(AUC({.label_weights = {1, 2}}).update(zeros({2, 4}), zeros({2, 4}), {}), ShapeError, "2 label_weights");
  EXPECT_ERROR(TopKCategoricalAccuracy(0), ValueError, "k must be at least 1, got 0");
  EXPECT_ERROR(SparseCategoricalAccuracy().update(zeros({4}), zeros({4, 4, 3}), {}), ShapeError,
               "targets (4,) for predictions (4, 4)");
  EXPECT_ERROR(CategoricalAccuracy().update(zeros({4, 3}), zeros({4, 4, 3}), {}), ShapeError,
               "needs a target for each");
  EXPECT_ERROR(SparseTopKCategoricalAccuracy(2).update(zeros({4}), zeros({4, 4, 3}), {}), ShapeError,
               "needs a target for each");
  EXPECT_ERROR(F1Score().update(zeros({4}), zeros({4}), {}), ShapeError, "a row of scores for each example");
  EXPECT_ERROR(TruePositives({.thresholds = {1.5}}), ValueError,
               "[true_positives] thresholds must be in [0, 1], got 1.5");
  EXPECT_ERROR(RecallAtPrecision(2), ValueError, "must be in [0, 1], got 2");
  EXPECT_ERROR(PrecisionAtRecall(0.5, {.num_thresholds = 0}), ValueError, "at least 1, got 0");
  EXPECT_ERROR(IoU(2, {2}), ValueError, "must be in [0, 2), got (2)");
  EXPECT_ERROR(MeanIoU(0), ValueError, "num_classes must be positive, got 0");
  EXPECT_ERROR(MeanIoU(3).update(zeros({4}), zeros({4, 3}), {}), ShapeError, "set sparse_y_pred = false");
  EXPECT_ERROR(R2Score({.class_aggregation = "mean"}), ValueError, "unknown class_aggregation");
  EXPECT_ERROR(F1Score({.average = "mean"}), ValueError, "unknown average");
  EXPECT_ERROR(F1Score({.average = "macro", .classes = 3}).update(zeros({2, 4}), zeros({2, 4}), {}), ShapeError,
               "3 classes");
  EXPECT_ERROR(Precision().update(zeros({4, 2}), zeros({4, 3}), {}), ShapeError, "same shape");
}

TEST(Metrics, AreListedOnce) {
  try {
    AnyMetric("what is this").resolve({DType::float32, {2}}, {DType::float32, {2}});
    FAIL();
  } catch (const ValueError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find(" mse,"), text.rfind(" mse,"));
    EXPECT_NE(text.find(" mse,"), std::string::npos);
  }
}

}  // namespace
}  // namespace isochron
