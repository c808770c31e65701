#include "isochron/nn/r2_score.h"

#include "isochron/base/names.h"
#include "isochron/nn/metric_inputs.h"
#include "isochron/ops/ops.h"

namespace isochron {

R2Score::R2Score(R2ScoreOptions options) : Metric(options.name), options_(std::move(options)) {
  const std::vector<std::string_view> known = {"uniform_average", "variance_weighted_average", "none"};
  if (std::find(known.begin(), known.end(), options_.class_aggregation) == known.end())
    fail<ValueError>("R2Score", "unknown class_aggregation \"{}\"{}", options_.class_aggregation,
                     did_you_mean(options_.class_aggregation, known));
  if (options_.num_regressors < 0)
    fail<ValueError>("R2Score", "num_regressors must not be negative, got {}", options_.num_regressors);
}

void R2Score::update(const Tensor& y, const Tensor& p, const Tensor& weight) {
  auto [t, q] = lined_up("r2_score", y, cast(p, DType::float32));
  if (t.rank() == 1) {
    t = expand_dims(t, -1);
    q = expand_dims(q, -1);
  }
  if (t.rank() != 2) fail<ShapeError>("R2Score", "takes (batch, columns), got {}", p.shape());
  const Shape columns{t.shape()[1]};
  if (!sum_.defined()) {
    sum_ = add_variable("sum", columns);
    squares_ = add_variable("squared_sum", columns);
    errors_ = add_variable("residual", columns);
    count_ = add_variable("count", columns);
    samples_ = add_variable("num_samples");
  }
  if (sum_.shape() != columns)
    fail<ShapeError>("R2Score", "was made for {} columns, got predictions {}", sum_.elements(), p.shape());
  const Tensor w = row_weights(weight, t), ones_of = w.defined() ? w : ones_like(t);
  sum_.assign_add(sum(t * ones_of, {0}));
  squares_.assign_add(sum(square(t) * ones_of, {0}));
  errors_.assign_add(sum(square(t - q) * ones_of, {0}));
  count_.assign_add(sum(ones_of, {0}));
  samples_.assign_add(constant(static_cast<double>(t.elements())));
}

Tensor R2Score::result() const {
  if (!sum_.defined()) return scalar(0);
  const Tensor total = squares_ - sum_ * ratio(sum_, count_);
  const Tensor each = where(total > 0, 1 - errors_ / where(total > 0, total, 1), 0);
  Tensor score = options_.class_aggregation == "uniform_average" ? mean(each)
                 : options_.class_aggregation == "none"          ? (each.elements() == 1 ? reshape(each, {}) : each)
                                                                 : ratio(sum(total * each), sum(total));
  if (options_.num_regressors == 0) return score;
  // Where there are not more rows than features, the score stays as it is, as in Keras.
  const Tensor left = samples_ - static_cast<double>(options_.num_regressors + 1);
  return where(left > 0, 1 - (1 - score) * (samples_ - 1) / where(left > 0, left, 1), score);
}

}  // namespace isochron
