// Metrics of right and wrong decisions, with Keras' names, options and formulas.
//
//   TruePositives();  FalseNegatives({.thresholds = {0.3, 0.7}});          // counts, weighted by the rows
//   SensitivityAtSpecificity(0.9);                                         // the best recall with so few false alarms
//   PrecisionAtRecall(0.8, {.num_thresholds = 100});
#pragma once

#include "isochron/nn/metric.h"

namespace isochron {

// What they share: true and false positives and negatives at several thresholds.
class ConfusionMetric : public Metric {
 public:
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weight) override;

 protected:
  ConfusionMetric(const char* kind, std::string name, std::vector<double> thresholds,
                  std::optional<int64_t> class_id = {});
  Variable true_positives_, false_positives_, true_negatives_, false_negatives_;  // (thresholds)

 private:
  const char* kind_;
  Tensor thresholds_;  // (thresholds, 1)
  std::optional<int64_t> class_id_;
};

struct CountOptions {
  std::vector<double> thresholds = {0.5};  // above which a score is a yes; several give several values
  std::string name = {};
};
ISO_OPTIONS(CountOptions, thresholds, name)
class CountMetric : public ConfusionMetric {
 public:
  ISO_ARGUMENTS(options_)
  Tensor result() const override;

 protected:
  // ValueError without thresholds, or for one outside [0, 1].
  CountMetric(const char* kind, CountOptions options);
  virtual const Variable& count() const = 0;

 private:
  CountOptions options_;
};
#define ISO_COUNT_METRIC(Class, name, counted)                                           \
  class Class : public CountMetric {                                                     \
   public:                                                                               \
    explicit Class(CountOptions options = {}) : CountMetric(name, std::move(options)) {} \
                                                                                         \
   protected:                                                                            \
    const Variable& count() const override { return counted; }                           \
  }
ISO_COUNT_METRIC(TruePositives, "true_positives", true_positives_);
ISO_COUNT_METRIC(FalsePositives, "false_positives", false_positives_);
ISO_COUNT_METRIC(TrueNegatives, "true_negatives", true_negatives_);
ISO_COUNT_METRIC(FalseNegatives, "false_negatives", false_negatives_);
#undef ISO_COUNT_METRIC

struct OperatingPointOptions {
  int64_t num_thresholds = 200;
  std::optional<int64_t> class_id = {};  // only this column counts
  std::string name = {};
};
ISO_OPTIONS(OperatingPointOptions, num_thresholds, class_id, name)
// The best of one share over the thresholds at which another is at least a value; 0 where there is none.
class OperatingPoint : public ConfusionMetric {
 public:
  Tensor result() const override;

 protected:
  // ValueError unless the value is in [0, 1] and there is a threshold.
  OperatingPoint(const char* kind, double at_least, OperatingPointOptions options);
  struct Shares {
    Tensor bound, wanted;
  };
  virtual Shares shares() const = 0;
  Tensor sensitivity() const, specificity() const, precision() const;

  double at_least_;
  OperatingPointOptions options_;
};
#define ISO_OPERATING_POINT(Class, name, value, of_bound, of_wanted)     \
  class Class : public OperatingPoint {                                  \
   public:                                                               \
    explicit Class(double given, OperatingPointOptions options = {})     \
        : OperatingPoint(name, given, std::move(options)) {}             \
    ISO_ARGUMENTS(value(), options_)                                     \
    double value() const { return at_least_; }                           \
                                                                         \
   protected:                                                            \
    Shares shares() const override { return {of_bound(), of_wanted()}; } \
  }
ISO_OPERATING_POINT(SensitivityAtSpecificity, "sensitivity_at_specificity", specificity_value, specificity,
                    sensitivity);
ISO_OPERATING_POINT(SpecificityAtSensitivity, "specificity_at_sensitivity", sensitivity_value, sensitivity,
                    specificity);
ISO_OPERATING_POINT(PrecisionAtRecall, "precision_at_recall", recall, sensitivity, precision);
ISO_OPERATING_POINT(RecallAtPrecision, "recall_at_precision", least_precision, precision, sensitivity);
#undef ISO_OPERATING_POINT

}  // namespace isochron
