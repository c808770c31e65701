#include "isochron/nn/metrics.h"

#include <map>

#include "isochron/base/names.h"
#include "isochron/nn/losses.h"
#include "isochron/ops/ops.h"

namespace isochron {
namespace {

Tensor number(const Tensor& truth) { return cast(truth, DType::float32); }

// Integer labels without their trailing axis of extent 1.
Tensor plain_labels(const Tensor& y, const Tensor& p) {
  Tensor labels = y;
  if (labels.rank() == p.rank() && labels.shape()[-1] == 1)
    labels = reshape(labels, labels.shape().erase(-1).to_vector());
  return cast(labels, DType::int64);
}

// Target and prediction of one shape; a missing trailing 1 is added.
std::pair<Tensor, Tensor> lined_up(const char* metric, const Tensor& y, const Tensor& p) {
  Tensor t = cast(y, p.dtype());
  if (p.rank() == t.rank() + 1 && p.shape()[-1] == 1) t = expand_dims(t, -1);
  if (t.rank() == p.rank() + 1 && t.shape()[-1] == 1) t = reshape(t, p.shape().to_vector());
  if (t.shape() != p.shape())
    fail<ShapeError>(metric, "target and prediction must have the same shape, got {} and {}", y.shape(), p.shape());
  return {t, p};
}

// Rows count as often as their weight says; without weights, once.
Tensor row_weights(const Tensor& weight, const Tensor& like) {
  if (!weight.defined()) return {};
  Tensor w = cast(weight, DType::float32);
  while (w.rank() > like.rank() && w.shape()[-1] == 1) w = reshape(w, w.shape().erase(-1).to_vector());
  while (w.rank() < like.rank()) w = expand_dims(w, -1);
  return broadcast_to(w, like.shape());
}

Tensor weighted(const Tensor& values, const Tensor& weight) { return weight.defined() ? values * weight : values; }

Tensor ratio(const Tensor& a, const Tensor& b) { return where(b > 0, a / where(b > 0, b, 1), 0); }

// All but the last, and all but the first, of a vector.
Tensor head(const Tensor& x) { return slice(x, {0}, {-1}); }
Tensor tail(const Tensor& x) { return slice(x, {1}, {kEnd}); }

// True where the label's own score is among the k largest.
Tensor in_top_k(const Tensor& labels, const Tensor& p, int64_t k) {
  const Tensor own = sum(p * one_hot(labels, p.shape()[-1], p.dtype()), {-1}, true);
  return number(sum(number(p > own), {-1}) < static_cast<double>(k));
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
                 [](const Tensor& y, const Tensor& p) { return number(equal(argmax(y), argmax(p))); }) {}
SparseCategoricalAccuracy::SparseCategoricalAccuracy(std::string name)
    : MeanMetric(std::move(name),
                 [](const Tensor& y, const Tensor& p) { return number(equal(plain_labels(y, p), argmax(p))); }) {}
TopKCategoricalAccuracy::TopKCategoricalAccuracy(int64_t k, std::string name)
    : MeanMetric(std::move(name), [k](const Tensor& y, const Tensor& p) { return in_top_k(argmax(y), p, k); }), k_(k) {}
SparseTopKCategoricalAccuracy::SparseTopKCategoricalAccuracy(int64_t k, std::string name)
    : MeanMetric(std::move(name), [k](const Tensor& y, const Tensor& p) { return in_top_k(plain_labels(y, p), p, k); }),
      k_(k) {}
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
  const auto counters = static_cast<int64_t>(std::max<size_t>(1, options_.thresholds.size()));
  true_positives_ = add_variable("true_positives", {counters});
  mistakes_ = add_variable(wrong, {counters});
}
void DecisionMetric::update(const Tensor& y, const Tensor& p, const Tensor& weight) {
  constexpr double kNever = -1e10;  // below every score
  auto [t, q] = lined_up(kind_, y, p);
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
  const auto flat = [](const Tensor& x) { return reshape(cast(x, DType::float32), {1, -1}); };
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
  true_positives_.assign_add(sum(weighted(decided * actual, w), {0}));
  predicted_.assign_add(sum(weighted(decided, w), {0}));
  actual_.assign_add(sum(weighted(actual, w), {0}));
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

AUC::AUC(AUCOptions o)
    : Metric(o.name),
      options_(o),
      true_positives_(add_variable("true_positives", {o.num_thresholds})),
      false_positives_(add_variable("false_positives", {o.num_thresholds})),
      true_negatives_(add_variable("true_negatives", {o.num_thresholds})),
      false_negatives_(add_variable("false_negatives", {o.num_thresholds})) {
  if (o.num_thresholds < 2) fail<ValueError>("AUC", "needs at least 2 thresholds, got {}", o.num_thresholds);
  if (o.curve != "PR" && o.curve != "ROC")
    fail<ValueError>("AUC", "unknown curve \"{}\"{}", o.curve, did_you_mean(o.curve, {"ROC", "PR"}));
  std::vector<float> edges;
  edges.push_back(-1e-7f);
  for (int64_t i = 1; i < o.num_thresholds - 1; ++i)
    edges.push_back(static_cast<float>(i) / static_cast<float>(o.num_thresholds - 1));
  edges.push_back(1.f + 1e-7f);
  thresholds_ = Tensor::from_buffer(std::move(edges), {o.num_thresholds, 1});
}
void AUC::update(const Tensor& y, const Tensor& p, const Tensor& weight) {
  const auto [t, q] = lined_up("auc", y, p);
  const Tensor w = row_weights(weight, q);
  const Tensor flat = reshape(cast(q, DType::float32), {1, -1}), actual = reshape(number(t > 0.5), {1, -1});
  const Tensor flat_weight = w.defined() ? reshape(w, {1, -1}) : Tensor();
  const Tensor positive = number(flat > thresholds_);  // (thresholds, examples)
  const auto count = [&](const Tensor& hits) { return sum(weighted(hits, flat_weight), {1}); };
  true_positives_.assign_add(count(positive * actual));
  false_positives_.assign_add(count(positive * (1 - actual)));
  false_negatives_.assign_add(count((1 - positive) * actual));
  true_negatives_.assign_add(count((1 - positive) * (1 - actual)));
}
Tensor AUC::result() const { return options_.curve == "PR" ? precision_recall_area() : roc_area(); }

Tensor AUC::roc_area() const {
  const Tensor recall = ratio(true_positives_, true_positives_ + false_negatives_);
  const Tensor false_rate = ratio(false_positives_, false_positives_ + true_negatives_);
  return sum((head(false_rate) - tail(false_rate)) * (head(recall) + tail(recall)) * 0.5);
}

// Between two thresholds true positives grow in line with all positives, so precision follows a curve: its integral.
Tensor AUC::precision_recall_area() const {
  const Tensor positives = true_positives_ + false_positives_;
  const Tensor gained = head(true_positives_) - tail(true_positives_);
  const Tensor slope = ratio(gained, head(positives) - tail(positives));
  const Tensor intercept = tail(true_positives_) - slope * tail(positives);
  const Tensor growth =
      where(logical_and(head(positives) > 0, tail(positives) > 0), ratio(head(positives), tail(positives)), 1);
  const Tensor actual = tail(true_positives_) + tail(false_negatives_);
  return sum(ratio(slope * (gained + intercept * log(growth)), actual));
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
  for (const auto& [key, maker] : makers) known.push_back(key);
  fail<ValueError>("metric", "unknown metric \"{}\"{}", name_, did_you_mean(name_, known));
}

}  // namespace isochron
