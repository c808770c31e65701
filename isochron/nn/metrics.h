// The metrics, with Keras' names and formulas. All of them keep their sums in variables updated by the step's plan.
//
//   model.compile({…, .metrics = {"accuracy", Precision({.thresholds = {0.7}}), AUC()}});
#pragma once

#include <functional>
#include <optional>

#include "isochron/nn/auc.h"
#include "isochron/nn/metric.h"

namespace isochron {

// The mean of a function of target and prediction, one value an example.
class MeanMetric : public Mean {
 public:
  using Function = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;
  using Metric::update_state;  // of targets and predictions, not of values as Mean's
  using Metric::operator();
  MeanMetric(std::string name, Function function) : Mean(std::move(name)), function_(std::move(function)) {}
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weight) override;

 private:
  Function function_;
};

// How often prediction and target are the same number.
class Accuracy : public MeanMetric {
 public:
  explicit Accuracy(std::string name = "accuracy");
  ISO_ARGUMENTS(name())
};
class BinaryAccuracy : public MeanMetric {
 public:
  explicit BinaryAccuracy(double threshold = 0.5, std::string name = "binary_accuracy");
  ISO_ARGUMENTS(threshold_, name())

 private:
  double threshold_;
};
class CategoricalAccuracy : public MeanMetric {
 public:
  explicit CategoricalAccuracy(std::string name = "categorical_accuracy");
  ISO_ARGUMENTS(name())
};
class SparseCategoricalAccuracy : public MeanMetric {
 public:
  explicit SparseCategoricalAccuracy(std::string name = "sparse_categorical_accuracy");
  ISO_ARGUMENTS(name())
};
class TopKCategoricalAccuracy : public MeanMetric {
 public:
  // ValueError unless k is positive.
  explicit TopKCategoricalAccuracy(int64_t k = 5, std::string name = "top_k_categorical_accuracy");
  ISO_ARGUMENTS(k_, name())

 private:
  int64_t k_;
};
class SparseTopKCategoricalAccuracy : public MeanMetric {
 public:
  explicit SparseTopKCategoricalAccuracy(int64_t k = 5, std::string name = "sparse_top_k_categorical_accuracy");
  ISO_ARGUMENTS(k_, name())

 private:
  int64_t k_;
};
class MeanSquaredErrorMetric : public MeanMetric {
 public:
  explicit MeanSquaredErrorMetric(std::string name = "mean_squared_error");
  ISO_ARGUMENTS(name())
};
class MeanAbsoluteErrorMetric : public MeanMetric {
 public:
  explicit MeanAbsoluteErrorMetric(std::string name = "mean_absolute_error");
  ISO_ARGUMENTS(name())
};
class RootMeanSquaredError : public MeanMetric {
 public:
  explicit RootMeanSquaredError(std::string name = "root_mean_squared_error");
  ISO_ARGUMENTS(name())
  Tensor result() const override;
};

struct DecisionOptions {
  std::vector<double> thresholds =
      {};  // above which a score is a yes: 0.5, or with top_k none; several give several values
  std::optional<int64_t> top_k = {};     // only the k largest scores of a row may be a yes
  std::optional<int64_t> class_id = {};  // only this column counts
  std::string name = {};
};
ISO_OPTIONS(DecisionOptions, thresholds, top_k, class_id, name)
// Counts of right and wrong decisions. With several thresholds the result is a vector, which fit() logs as precision_0,
// precision_1, ….
class DecisionMetric : public Metric {
 public:
  ISO_ARGUMENTS(options_)
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weight) override;
  Tensor result() const override;

 protected:
  // ValueError for a top_k or class_id that can't be.
  DecisionMetric(const char* kind, const char* wrong, DecisionOptions options);
  // What is wrong beside the true positives: (thresholds, examples) of zeros and ones.
  virtual Tensor mistakes(const Tensor& decided, const Tensor& actual) const = 0;

 private:
  const char* kind_;
  DecisionOptions options_;
  Variable true_positives_, mistakes_;
};
class Precision : public DecisionMetric {
 public:
  explicit Precision(DecisionOptions options = {})
      : DecisionMetric("precision", "false_positives", std::move(options)) {}

 protected:
  Tensor mistakes(const Tensor& decided, const Tensor& actual) const override;
};
class Recall : public DecisionMetric {
 public:
  explicit Recall(DecisionOptions options = {}) : DecisionMetric("recall", "false_negatives", std::move(options)) {}

 protected:
  Tensor mistakes(const Tensor& decided, const Tensor& actual) const override;
};

// F1 of each class: averaged by "macro", "micro" or "weighted", or with "none" one value a class, which fit() logs as
// f1_score_0, f1_score_1, ….
struct F1Options {
  std::string average = "none";
  std::optional<double> threshold = {};
  int64_t classes = 0;  // 0: as many as the predictions have columns
  std::string name = "f1_score";
};
ISO_OPTIONS(F1Options, average, threshold, classes, name)
class F1Score : public Metric {
 public:
  explicit F1Score(F1Options options = {});
  ISO_ARGUMENTS(options_)
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weight) override;
  Tensor result() const override;

 private:
  void make_counters();
  F1Options options_;
  Variable true_positives_, predicted_, actual_;  // undefined until the classes are known
};

}  // namespace isochron
