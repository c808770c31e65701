// Area under a curve of decisions at many thresholds, with Keras' options and formulas.
//
//   AUC();                                               // of the receiver operating curve, for probabilities
//   AUC({.curve = "PR", .from_logits = true});           // precision against recall; "PRGAIN": their gains
//   AUC({.multi_label = true});                          // the mean of the areas of the columns
#pragma once

#include "isochron/nn/metric.h"

namespace isochron {

struct AUCOptions {
  int64_t num_thresholds = 200;
  std::string curve = "ROC";  // or "PR", "PRGAIN"
  std::string name = "auc";
  std::string summation_method = "interpolation";  // between thresholds; or "minoring", "majoring": the lower or higher
  std::vector<double> thresholds = {};             // between 0 and 1, which join them; in place of num_thresholds
  bool multi_label = false;                        // columns have a curve each, and the result is the mean of the areas
  int64_t num_labels = 0;                          // with multi_label; 0: as many as the predictions have columns
  std::vector<double> label_weights = {};          // of the columns
  bool from_logits = false;
};
ISO_OPTIONS(AUCOptions, num_thresholds, curve, name, summation_method, thresholds, multi_label, num_labels,
            label_weights, from_logits)

class AUC : public Metric {
 public:
  // ValueError for fewer than 2 thresholds, thresholds outside [0, 1], another curve or method, labels that do not fit.
  explicit AUC(AUCOptions options = {});
  ISO_ARGUMENTS(options_)
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weight) override;
  Tensor result() const override;

 private:
  void make_counters(int64_t labels);
  // The curve at the thresholds.
  struct Points {
    Tensor x, y;
  };
  Points points() const;
  // Areas of the labels.
  Tensor interpolated_precision_recall() const;
  Tensor sum_of_rectangles() const;

  AUCOptions options_;
  Tensor thresholds_;                                                             // (thresholds, 1, 1)
  Variable true_positives_, false_positives_, true_negatives_, false_negatives_;  // (thresholds, labels)
};

}  // namespace isochron
