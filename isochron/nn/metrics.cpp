#include "isochron/nn/metrics.h"

#include <map>

#include "isochron/base/names.h"
#include "isochron/nn/confusion_metrics.h"
#include "isochron/nn/losses.h"
#include "isochron/nn/metric_inputs.h"
#include "isochron/nn/r2_score.h"
#include "isochron/ops/ops.h"

namespace isochron {
namespace {

// Integer labels without their trailing axis of extent 1.
Tensor plain_labels(const Tensor& y, const Tensor& p) {
  Tensor labels = y;
  if (labels.rank() == p.rank() && labels.shape()[-1] == 1)
    labels = reshape(labels, labels.shape().erase(-1).to_vector());
  return cast(labels, DType::int64);
}

void need_one_each(const char* metric, const Shape& targets, const Shape& predictions) {
  if (targets != predictions)
    fail<ShapeError>(metric, "needs a target for each prediction, got targets {} for predictions {}", targets,
                     predictions);
}

// 1 where both name the same class.
Tensor agree(const char* metric, const Tensor& labels, const Tensor& decided) {
  need_one_each(metric, labels.shape(), decided.shape());
  return number(equal(labels, decided));
}

// 1 where the label's own score is among the k largest; a label that is no class is never right.
Tensor in_top_k(const char* metric, const Tensor& labels, const Tensor& p, int64_t k) {
  need_one_each(metric, labels.shape(), p.shape().erase(-1));
  const Tensor place = one_hot(labels, p.shape()[-1], DType::boolean);
  const Tensor own = sum(where(place, p, 0), {-1}, true);
  const Tensor known = any(logical_and(place, logical_not(is_nan(p))), {-1});
  return number(logical_and(known, sum(number(p > own), {-1}) < static_cast<double>(k)));
}
int64_t checked_k(const char* metric, int64_t k) {
  if (k < 1) fail<ValueError>(metric, "k must be at least 1, got {}", k);
  return k;
}

}  // namespace

void MeanMetric::update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weight) {
  const Tensor values = cast(function_(y_true, y_pred), DType::float32);
  add(values, row_weights(weight, values));
}

Accuracy::Accuracy(std::string name)
    : MeanMetric(std::move(name), [](const Tensor& y, const Tensor& p) {
        const auto [t, q] = lined_up("accuracy", y, p);
        return number(equal(t, q));
      }) {}
BinaryAccuracy::BinaryAccuracy(double threshold, std::string name)
    : MeanMetric(std::move(name),
                 [threshold](const Tensor& y, const Tensor& p) {
                   const auto [t, q] = lined_up("binary_accuracy", y, p);
                   return mean(number(equal(t, cast(q > threshold, q.dtype()))), {-1});
                 }),
      threshold_(threshold) {}
CategoricalAccuracy::CategoricalAccuracy(std::string name)
    : MeanMetric(std::move(name),
                 [](const Tensor& y, const Tensor& p) { return agree("categorical_accuracy", argmax(y), argmax(p)); }) {
}
SparseCategoricalAccuracy::SparseCategoricalAccuracy(std::string name)
    : MeanMetric(std::move(name), [](const Tensor& y, const Tensor& p) {
        return agree("sparse_categorical_accuracy", plain_labels(y, p), argmax(p));
      }) {}
TopKCategoricalAccuracy::TopKCategoricalAccuracy(int64_t k, std::string name)
    : MeanMetric(
          std::move(name),
          [k](const Tensor& y, const Tensor& p) { return in_top_k("top_k_categorical_accuracy", argmax(y), p, k); }),
      k_(checked_k("TopKCategoricalAccuracy", k)) {}
SparseTopKCategoricalAccuracy::SparseTopKCategoricalAccuracy(int64_t k, std::string name)
    : MeanMetric(std::move(name),
                 [k](const Tensor& y, const Tensor& p) {
                   return in_top_k("sparse_top_k_categorical_accuracy", plain_labels(y, p), p, k);
                 }),
      k_(checked_k("SparseTopKCategoricalAccuracy", k)) {}
MeanSquaredErrorMetric::MeanSquaredErrorMetric(std::string name)
    : MeanMetric(std::move(name), [](const Tensor& y, const Tensor& p) {
        const auto [t, q] = lined_up("mean_squared_error", y, p);
        return mean(square(q - t), {-1});
      }) {}
MeanAbsoluteErrorMetric::MeanAbsoluteErrorMetric(std::string name)
    : MeanMetric(std::move(name), [](const Tensor& y, const Tensor& p) {
        const auto [t, q] = lined_up("mean_absolute_error", y, p);
        return mean(abs(q - t), {-1});
      }) {}
RootMeanSquaredError::RootMeanSquaredError(std::string name)
    : MeanMetric(std::move(name), [](const Tensor& y, const Tensor& p) {
        const auto [t, q] = lined_up("root_mean_squared_error", y, p);
        return square(q - t);
      }) {}
Tensor RootMeanSquaredError::result() const { return sqrt(Mean::result()); }

DecisionMetric::DecisionMetric(const char* kind, const char* wrong, DecisionOptions o)
    : Metric(o.name.empty() ? kind : o.name), kind_(kind), options_(std::move(o)) {
  for (const auto& [option, value] : {std::pair("top_k", options_.top_k), std::pair("class_id", options_.class_id)})
    if (value && *value < (option == std::string_view("top_k") ? 1 : 0))
      fail<ValueError>(kind, "{} must not be {}", option, *value);
  for (const double threshold : options_.thresholds)
    if (!(threshold >= 0 && threshold <= 1)) fail<ValueError>(kind, "thresholds must be in [0, 1], got {}", threshold);
  const auto counters = static_cast<int64_t>(std::max<size_t>(1, options_.thresholds.size()));
  true_positives_ = add_variable("true_positives", {counters});
  mistakes_ = add_variable(wrong, {counters});
}
void DecisionMetric::update(const Tensor& y, const Tensor& p, const Tensor& weight) {
  constexpr double kNever = -1e10;  // below every score
  auto [t, q] = lined_up(kind_, y, cast(p, DType::float32));
  Tensor w = row_weights(weight, q);
  const int64_t columns = q.rank() > 0 ? q.shape()[-1] : 1;
  if (options_.top_k) {
    const Tensor places = top_k(q, std::min(columns, *options_.top_k)).indices;
    q = where(sum(one_hot(places, columns), {-2}) > 0, q, kNever);
  }
  if (options_.class_id) {
    if (*options_.class_id >= columns)
      fail<ValueError>(kind_, "class_id {} is not among {} columns", *options_.class_id, columns);
    const auto column = [&](const Tensor& x) {
      return gather(x, scalar(static_cast<double>(*options_.class_id), DType::int64), -1);
    };
    t = column(t);
    q = column(q);
    if (w.defined()) w = column(w);
  }
  const auto flat = [](const Tensor& x) { return reshape(x, {1, -1}); };
  const std::vector<double> edges = !options_.thresholds.empty() ? options_.thresholds
                                    : options_.top_k             ? std::vector<double>{kNever}
                                                                 : std::vector<double>{0.5};
  const Tensor limits = cast(tensor(edges, {static_cast<int64_t>(edges.size()), 1}), DType::float32);
  const Tensor decided = number(flat(q) > limits), actual = number(flat(t) > 0.5);
  const Tensor flat_weight = w.defined() ? flat(w) : Tensor();
  true_positives_.assign_add(sum(weighted(decided * actual, flat_weight), {1}));
  mistakes_.assign_add(sum(weighted(mistakes(decided, actual), flat_weight), {1}));
}
Tensor DecisionMetric::result() const {
  const Tensor each = ratio(true_positives_, true_positives_ + mistakes_);
  return options_.thresholds.size() > 1 ? each : reshape(each, {});
}
Tensor Precision::mistakes(const Tensor& decided, const Tensor& actual) const { return decided * (1 - actual); }
Tensor Recall::mistakes(const Tensor& decided, const Tensor& actual) const { return (1 - decided) * actual; }

F1Score::F1Score(F1Options o) : Metric(o.name), options_(std::move(o)) {
  static const std::vector<std::string_view> kAverages = {"none", "macro", "micro", "weighted"};
  const std::string& average = options_.average;
  if (std::find(kAverages.begin(), kAverages.end(), average) == kAverages.end())
    fail<ValueError>("F1Score", "unknown average \"{}\"{}", average, did_you_mean(average, kAverages));
  if (options_.classes < 0) fail<ValueError>("F1Score", "classes must not be negative, got {}", options_.classes);
  if (options_.classes > 0) make_counters();
}
void F1Score::make_counters() {
  true_positives_ = add_variable("true_positives", {options_.classes});
  predicted_ = add_variable("predicted", {options_.classes});
  actual_ = add_variable("actual", {options_.classes});
}
void F1Score::update(const Tensor& y, const Tensor& p, const Tensor& weight) {
  const auto [t, q] = lined_up("f1_score", y, p);
  if (q.rank() < 2)
    fail<ShapeError>("F1Score", "needs a row of scores for each example, (batch, …, classes), got {}", p.shape());
  if (options_.classes == 0) {
    options_.classes = q.shape()[-1];
    make_counters();
  }
  if (q.shape()[-1] != options_.classes)
    fail<ShapeError>("F1Score", "was made for {} classes, got predictions {}", options_.classes, q.shape());
  // Without a threshold the largest score of a row is its decision.
  const Tensor decided = options_.threshold      ? number(q > *options_.threshold)
                         : options_.classes == 1 ? number(q > 0.5)
                                                 : one_hot(argmax(q), options_.classes);
  const Tensor w = row_weights(weight, q), actual = number(t > 0.5);
  const auto count = [&](const Tensor& hits) { return sum(reshape(weighted(hits, w), {-1, options_.classes}), {0}); };
  true_positives_.assign_add(count(decided * actual));
  predicted_.assign_add(count(decided));
  actual_.assign_add(count(actual));
}
Tensor F1Score::result() const {
  if (options_.classes == 0) return scalar(0);
  const auto f1 = [](const Tensor& tp, const Tensor& predicted, const Tensor& actual) {
    return ratio(2 * tp, predicted + actual);
  };
  if (options_.average == "micro") return f1(sum(true_positives_), sum(predicted_), sum(actual_));
  const Tensor each = f1(true_positives_, predicted_, actual_);
  if (options_.average == "weighted") return sum(each * ratio(actual_, broadcast_to(sum(actual_), actual_.shape())));
  if (options_.average == "none") return options_.classes == 1 ? reshape(each, {}) : each;
  return mean(each);
}

AnyMetric::AnyMetric(const char* name) {
  if (!name) fail<ValueError>("metric", "needs a name or a metric, got nullptr");
  name_ = name;
}

std::shared_ptr<Metric> AnyMetric::resolve(const TensorSpec& y_true, const TensorSpec& y_pred) const {
  if (metric_) return metric_;
  using Maker = std::shared_ptr<Metric> (*)(const std::string& name);
  static const std::map<std::string_view, Maker> makers = {
      {"binary_accuracy",
       [](const std::string& n) -> std::shared_ptr<Metric> { return std::make_shared<BinaryAccuracy>(0.5, n); }},
      {"categorical_accuracy",
       [](const std::string& n) -> std::shared_ptr<Metric> { return std::make_shared<CategoricalAccuracy>(n); }},
      {"sparse_categorical_accuracy",
       [](const std::string& n) -> std::shared_ptr<Metric> { return std::make_shared<SparseCategoricalAccuracy>(n); }},
      {"top_k_categorical_accuracy",
       [](const std::string& n) -> std::shared_ptr<Metric> { return std::make_shared<TopKCategoricalAccuracy>(5, n); }},
      {"sparse_top_k_categorical_accuracy",
       [](const std::string& n) -> std::shared_ptr<Metric> {
         return std::make_shared<SparseTopKCategoricalAccuracy>(5, n);
       }},
      {"mse",
       [](const std::string& n) -> std::shared_ptr<Metric> { return std::make_shared<MeanSquaredErrorMetric>(n); }},
      {"mean_squared_error",
       [](const std::string& n) -> std::shared_ptr<Metric> { return std::make_shared<MeanSquaredErrorMetric>(n); }},
      {"mae",
       [](const std::string& n) -> std::shared_ptr<Metric> { return std::make_shared<MeanAbsoluteErrorMetric>(n); }},
      {"mean_absolute_error",
       [](const std::string& n) -> std::shared_ptr<Metric> { return std::make_shared<MeanAbsoluteErrorMetric>(n); }},
      {"rmse",
       [](const std::string& n) -> std::shared_ptr<Metric> { return std::make_shared<RootMeanSquaredError>(n); }},
      {"root_mean_squared_error",
       [](const std::string& n) -> std::shared_ptr<Metric> { return std::make_shared<RootMeanSquaredError>(n); }},
      // As a metric, not a loss to be made small: 1 for vectors that agree.
      {"cosine_similarity",
       [](const std::string& n) -> std::shared_ptr<Metric> {
         return std::make_shared<MeanMetric>(
             n, [](const Tensor& t, const Tensor& p) { return -losses::cosine_similarity(t, p); });
       }},
      {"precision",
       [](const std::string& n) -> std::shared_ptr<Metric> {
         return std::make_shared<Precision>(DecisionOptions{.name = n});
       }},
      {"recall",
       [](const std::string& n) -> std::shared_ptr<Metric> {
         return std::make_shared<Recall>(DecisionOptions{.name = n});
       }},
      {"f1_score",
       [](const std::string& n) -> std::shared_ptr<Metric> { return std::make_shared<F1Score>(F1Options{.name = n}); }},
      {"true_positives",
       [](const std::string& n) -> std::shared_ptr<Metric> {
         return std::make_shared<TruePositives>(CountOptions{.name = n});
       }},
      {"false_positives",
       [](const std::string& n) -> std::shared_ptr<Metric> {
         return std::make_shared<FalsePositives>(CountOptions{.name = n});
       }},
      {"true_negatives",
       [](const std::string& n) -> std::shared_ptr<Metric> {
         return std::make_shared<TrueNegatives>(CountOptions{.name = n});
       }},
      {"false_negatives",
       [](const std::string& n) -> std::shared_ptr<Metric> {
         return std::make_shared<FalseNegatives>(CountOptions{.name = n});
       }},
      {"r2_score",
       [](const std::string& n) -> std::shared_ptr<Metric> {
         return std::make_shared<R2Score>(R2ScoreOptions{.name = n});
       }},
      {"auc",
       [](const std::string& n) -> std::shared_ptr<Metric> { return std::make_shared<AUC>(AUCOptions{.name = n}); }},
  };
  if (name_ == "accuracy" || name_ == "acc") {
    // As Keras chooses: one output is binary, equal shapes are one-hot, anything else is class indices.
    const int64_t classes = y_pred.shape.rank() > 1 ? y_pred.shape[-1] : 1;
    if (classes == 1) return makers.at("binary_accuracy")(name_);
    if (y_true.shape == y_pred.shape) return makers.at("categorical_accuracy")(name_);
    return makers.at("sparse_categorical_accuracy")(name_);
  }
  const auto found = find_by_name(makers, name_);
  if (found != makers.end()) return found->second(std::string(found->first));
  // The mean of a loss, by its name.
  std::vector<std::string_view> known = loss_names();
  if (std::find(known.begin(), known.end(), name_) != known.end())
    return std::make_shared<MeanMetric>(
        name_, [loss = AnyLoss(name_)](const Tensor& t, const Tensor& p) { return loss->call(t, p); });
  known.push_back("accuracy");
  for (const auto& [key, maker] : makers)
    if (std::find(known.begin(), known.end(), key) == known.end()) known.push_back(key);
  fail<ValueError>("metric", "unknown metric \"{}\"{}", name_, did_you_mean(name_, known));
}

}  // namespace isochron
