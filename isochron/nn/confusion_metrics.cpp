#include "isochron/nn/confusion_metrics.h"

#include "isochron/nn/metric_inputs.h"
#include "isochron/ops/ops.h"

namespace isochron {
namespace {

// From just below 0 to just above 1, as far apart as one another.
std::vector<double> even_thresholds(const char* metric, int64_t count) {
  if (count < 1) fail<ValueError>(metric, "num_thresholds must be at least 1, got {}", count);
  if (count == 1) return {0.5};
  std::vector<double> edges;
  for (int64_t i = 0; i < count; ++i) edges.push_back(static_cast<double>(i) / static_cast<double>(count - 1));
  edges.front() = -1e-7;
  edges.back() = 1 + 1e-7;
  return edges;
}

}  // namespace

ConfusionMetric::ConfusionMetric(const char* kind, std::string name, std::vector<double> thresholds,
                                 std::optional<int64_t> class_id)
    : Metric(name.empty() ? kind : std::move(name)), kind_(kind), class_id_(class_id) {
  const auto count = static_cast<int64_t>(thresholds.size());
  if (class_id && *class_id < 0) fail<ValueError>(kind, "class_id must not be {}", *class_id);
  thresholds_ = cast(tensor(thresholds, {count, 1}), DType::float32).eval();
  true_positives_ = add_variable("true_positives", {count});
  false_positives_ = add_variable("false_positives", {count});
  true_negatives_ = add_variable("true_negatives", {count});
  false_negatives_ = add_variable("false_negatives", {count});
}

void ConfusionMetric::update(const Tensor& y, const Tensor& p, const Tensor& weight) {
  auto [t, q] = lined_up(kind_, y, cast(p, DType::float32));
  Tensor w = row_weights(weight, q);
  if (class_id_) {
    const int64_t columns = q.rank() > 1 ? q.shape()[-1] : 1;
    if (*class_id_ >= columns) fail<ValueError>(kind_, "class_id {} is not among {} columns", *class_id_, columns);
    const Tensor place = scalar(static_cast<double>(*class_id_), DType::int64);
    t = gather(t, place, -1);
    q = gather(q, place, -1);
    if (w.defined()) w = gather(w, place, -1);
  }
  const auto flat = [](const Tensor& x) { return reshape(x, {1, -1}); };
  const Tensor decided = number(flat(q) > thresholds_), actual = number(flat(t) > 0.5);
  const Tensor flat_weight = w.defined() ? flat(w) : Tensor();
  const auto add = [&](const Variable& to, const Tensor& hits) {
    to.assign_add(sum(weighted(hits, flat_weight), {1}));
  };
  add(true_positives_, decided * actual);
  add(false_positives_, decided * (1 - actual));
  add(true_negatives_, (1 - decided) * (1 - actual));
  add(false_negatives_, (1 - decided) * actual);
}

CountMetric::CountMetric(const char* kind, CountOptions options)
    : ConfusionMetric(kind, options.name, options.thresholds), options_(std::move(options)) {
  if (options_.thresholds.empty()) fail<ValueError>(kind, "needs at least one threshold");
  for (const double threshold : options_.thresholds)
    if (!(threshold >= 0 && threshold <= 1)) fail<ValueError>(kind, "thresholds must be in [0, 1], got {}", threshold);
}
Tensor CountMetric::result() const { return options_.thresholds.size() > 1 ? Tensor(count()) : reshape(count(), {}); }

OperatingPoint::OperatingPoint(const char* kind, double at_least, OperatingPointOptions options)
    : ConfusionMetric(kind, options.name, even_thresholds(kind, options.num_thresholds), options.class_id),
      at_least_(at_least),
      options_(std::move(options)) {
  if (!(at_least >= 0 && at_least <= 1)) fail<ValueError>(kind, "the value must be in [0, 1], got {}", at_least);
}
Tensor OperatingPoint::result() const {
  const auto [bound, wanted] = shares();
  return max(where(bound >= at_least_, wanted, 0));
}
Tensor OperatingPoint::sensitivity() const { return ratio(true_positives_, true_positives_ + false_negatives_); }
Tensor OperatingPoint::specificity() const { return ratio(true_negatives_, true_negatives_ + false_positives_); }
Tensor OperatingPoint::precision() const { return ratio(true_positives_, true_positives_ + false_positives_); }

}  // namespace isochron
