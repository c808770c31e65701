#include "isochron/nn/auc.h"

#include <algorithm>

#include "isochron/base/names.h"
#include "isochron/nn/metric_inputs.h"
#include "isochron/ops/ops.h"

namespace isochron {
namespace {

// All but the last, and all but the first, along the thresholds.
Tensor head(const Tensor& x) { return slice(x, {0}, {-1}); }
Tensor tail(const Tensor& x) { return slice(x, {1}, {kEnd}); }

void need_one_of(const char* what, const std::string& given, const std::vector<std::string_view>& known) {
  if (std::find(known.begin(), known.end(), given) == known.end())
    fail<ValueError>("AUC", "unknown {} \"{}\"{}", what, given, did_you_mean(given, known));
}

// From just below 0 to just above 1, so that the curve has both its ends.
std::vector<float> edges_of(const AUCOptions& o) {
  std::vector<double> inner = o.thresholds;
  for (const double threshold : inner)
    if (!(threshold >= 0 && threshold <= 1)) fail<ValueError>("AUC", "thresholds must be in [0, 1], got {}", threshold);
  std::sort(inner.begin(), inner.end());
  if (inner.empty()) {
    if (o.num_thresholds < 2) fail<ValueError>("AUC", "needs at least 2 thresholds, got {}", o.num_thresholds);
    for (int64_t i = 1; i < o.num_thresholds - 1; ++i)
      inner.push_back(static_cast<double>(i) / static_cast<double>(o.num_thresholds - 1));
  }
  std::vector<float> edges{-1e-7f};
  edges.insert(edges.end(), inner.begin(), inner.end());
  edges.push_back(1.f + 1e-7f);
  return edges;
}

Tensor weights_of_labels(const AUCOptions& o) { return cast(tensor(o.label_weights), DType::float32); }

}  // namespace

AUC::AUC(AUCOptions o) : Metric(o.name), options_(std::move(o)) {
  std::vector<float> edges = edges_of(options_);
  const auto count = static_cast<int64_t>(edges.size());
  thresholds_ = Tensor::from_buffer(std::move(edges), {count, 1, 1});
  need_one_of("curve", options_.curve, {"ROC", "PR", "PRGAIN"});
  need_one_of("summation_method", options_.summation_method, {"interpolation", "minoring", "majoring"});
  if (options_.num_labels < 0 || (options_.num_labels > 0 && !options_.multi_label))
    fail<ValueError>("AUC", "num_labels is for multi_label and not negative, got {}", options_.num_labels);
  if (!options_.multi_label || options_.num_labels > 0) make_counters(std::max<int64_t>(options_.num_labels, 1));
}

void AUC::make_counters(int64_t labels) {
  const Shape shape{thresholds_.shape()[0], labels};
  true_positives_ = add_variable("true_positives", shape);
  false_positives_ = add_variable("false_positives", shape);
  true_negatives_ = add_variable("true_negatives", shape);
  false_negatives_ = add_variable("false_negatives", shape);
}

void AUC::update(const Tensor& y, const Tensor& p, const Tensor& weight) {
  const auto [t, scores] = lined_up("auc", y, cast(p, DType::float32));
  const Tensor q = options_.from_logits ? sigmoid(scores) : clip(scores, 0, 1);
  const int64_t columns = q.rank() > 1 ? q.shape()[-1] : 1, labels = options_.multi_label ? columns : 1;
  if (!true_positives_.defined()) make_counters(labels);
  if (true_positives_.shape()[1] != labels)
    fail<ShapeError>("AUC", "was made for {} labels, got predictions {}", true_positives_.shape()[1], p.shape());
  Tensor w = row_weights(weight, q);
  if (!options_.label_weights.empty()) {
    if (static_cast<int64_t>(options_.label_weights.size()) != columns)
      fail<ShapeError>("AUC", "has {} label_weights, got predictions {}", options_.label_weights.size(), p.shape());
    // The mean over areas is weighted in the end.
    if (!options_.multi_label)
      w = weighted(broadcast_to(weights_of_labels(options_), q.rank() > 1 ? q.shape() : Shape{1}), w);
  }
  // (1, labels, examples)
  const auto by_label = [&](const Tensor& x) {
    return labels == 1 ? reshape(x, {1, 1, -1}) : expand_dims(transpose(reshape(x, {-1, labels})), 0);
  };
  const Tensor actual = by_label(number(t > 0.5)), positive = number(by_label(q) > thresholds_);
  const Tensor shares = w.defined() ? by_label(w) : Tensor();
  const auto count = [&](const Tensor& hits) { return sum(weighted(hits, shares), {2}); };
  true_positives_.assign_add(count(positive * actual));
  false_positives_.assign_add(count(positive * (1 - actual)));
  false_negatives_.assign_add(count((1 - positive) * actual));
  true_negatives_.assign_add(count((1 - positive) * (1 - actual)));
}

Tensor AUC::result() const {
  if (!true_positives_.defined()) return scalar(0);
  const bool curved = options_.curve == "PR" && options_.summation_method == "interpolation";
  const Tensor areas = curved ? interpolated_precision_recall() : sum_of_rectangles();
  if (!options_.multi_label || options_.label_weights.empty()) return mean(areas);
  const Tensor weights = weights_of_labels(options_);
  return ratio(sum(areas * weights), sum(weights));
}

AUC::Points AUC::points() const {
  const Tensor recall = ratio(true_positives_, true_positives_ + false_negatives_);
  if (options_.curve == "ROC") return {ratio(false_positives_, false_positives_ + true_negatives_), recall};
  if (options_.curve == "PR") return {recall, ratio(true_positives_, true_positives_ + false_positives_)};
  // Gains over always saying yes. Without true positives recall gains nothing and precision is whole.
  const Tensor scale = ratio(true_positives_ + false_negatives_, true_negatives_ + false_positives_);
  const auto gain = [&](const Tensor& wrong, double without) {
    return where(equal(true_positives_, 0), without, 1 - scale * ratio(wrong, true_positives_));
  };
  return {maximum(gain(false_negatives_, 0), 0), gain(false_positives_, 1)};
}

Tensor AUC::sum_of_rectangles() const {
  const auto [x, y] = points();
  const Tensor heights = options_.summation_method == "minoring"   ? minimum(head(y), tail(y))
                         : options_.summation_method == "majoring" ? maximum(head(y), tail(y))
                                                                   : (head(y) + tail(y)) * 0.5;
  return sum((head(x) - tail(x)) * heights, {0});
}

// Between two thresholds true positives grow in line with all positives, so precision follows a curve: its integral.
Tensor AUC::interpolated_precision_recall() const {
  const Tensor positives = true_positives_ + false_positives_;
  const Tensor gained = head(true_positives_) - tail(true_positives_);
  const Tensor slope = ratio(gained, head(positives) - tail(positives));
  const Tensor intercept = tail(true_positives_) - slope * tail(positives);
  const Tensor growth =
      where(logical_and(head(positives) > 0, tail(positives) > 0), ratio(head(positives), tail(positives)), 1);
  const Tensor actual = tail(true_positives_) + tail(false_negatives_);
  return sum(ratio(slope * (gained + intercept * log(growth)), actual), {0});
}

}  // namespace isochron
