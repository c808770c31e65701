// R2Score: how much of the targets' variance is explained, 1 - squared errors / squared distances from the mean.
#pragma once

#include "isochron/nn/metric.h"

namespace isochron {

struct R2ScoreOptions {
  std::string class_aggregation = "uniform_average";  // or "variance_weighted_average", "none": one value a column
  int64_t num_regressors = 0;                         // more than 0: adjusted for so many features
  std::string name = "r2_score";
};
ISO_OPTIONS(R2ScoreOptions, class_aggregation, num_regressors, name)

class R2Score : public Metric {
 public:
  // ValueError for another aggregation, or a negative number.
  explicit R2Score(R2ScoreOptions options = {});
  ISO_ARGUMENTS(options_)
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weight) override;
  Tensor result() const override;

 private:
  R2ScoreOptions options_;
  Variable sum_, squares_, errors_, count_, samples_;  // undefined until the columns are known
};

}  // namespace isochron
