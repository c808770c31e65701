#include "isochron/nn/losses.h"

#include <cmath>
#include <map>
#include <numbers>

#include "isochron/base/names.h"
#include "isochron/nn/ctc.h"
#include "isochron/nn/masking.h"
#include "isochron/ops/ops.h"

namespace isochron {
namespace {

constexpr double kEpsilon = 1e-7;

struct Pair {
  Tensor t, p;
};

// Target and prediction of one dtype and shape. (batch) beside (batch, 1) lines up, as in Keras.
Pair paired(const char* loss, const Tensor& y_true, const Tensor& y_pred) {
  if (!is_floating(y_pred.dtype())) fail<DTypeError>(loss, "the prediction must be floating, got {}", y_pred.dtype());
  Tensor t = cast(y_true, y_pred.dtype()), p = y_pred;
  if (t.rank() == p.rank() + 1 && t.shape()[-1] == 1) t = reshape(t, p.shape().to_vector());
  if (p.rank() == t.rank() + 1 && p.shape()[-1] == 1) t = expand_dims(t, -1);
  if (t.shape() != p.shape())
    fail<ShapeError>(
        loss, "target and prediction must have the same shape, got {} and {}{}", y_true.shape(), y_pred.shape(),
        loss == std::string_view("categorical_crossentropy") ? "; class numbers go with sparse_categorical_crossentropy"
                                                             : "");
  return {t, p};
}

Tensor last_mean(const Tensor& x) { return x.rank() ? mean(x, {-1}) : x; }

// Keras counts {0, 1} targets of the hinge losses as {-1, 1}.
Tensor signed_target(const Tensor& t) {
  const Tensor zeros_and_ones = all(logical_or(equal(t, 0), equal(t, 1)));
  return where(zeros_and_ones, 2 * t - 1, t);
}

Tensor smoothed(const Tensor& t, double smoothing, double parts) {
  return smoothing > 0 ? t * (1 - smoothing) + smoothing / parts : t;
}

void check_smoothing(const char* loss, double smoothing) {
  if (!(smoothing >= 0 && smoothing <= 1))
    fail<ValueError>(loss, "label_smoothing must be in [0, 1], got {}", smoothing);
}

// Crossentropy of each probability by itself.
Tensor binary_terms(const Tensor& t, const Tensor& p) {
  const Tensor q = clip(p, kEpsilon, 1 - kEpsilon);
  return -(t * log(q) + (1 - t) * log(1 - q));
}

void check_gamma(const char* loss, double gamma) {
  if (!(gamma >= 0)) fail<ValueError>(loss, "gamma must not be negative, got {}", gamma);
}

// Probabilities of classes that add up to 1 and have logarithms.
Tensor class_shares(const Tensor& p) { return clip(p / sum(p, {-1}, true), kEpsilon, 1 - kEpsilon); }

Tensor normalized(const Tensor& x, int64_t axis) { return x / sqrt(maximum(sum(square(x), {axis}, true), 1e-12)); }

}  // namespace

namespace losses {

Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred) {
  const auto [t, p] = paired("mean_squared_error", y_true, y_pred);
  return last_mean(square(p - t));
}
Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred) {
  const auto [t, p] = paired("mean_absolute_error", y_true, y_pred);
  return last_mean(abs(p - t));
}
Tensor mean_absolute_percentage_error(const Tensor& y_true, const Tensor& y_pred) {
  const auto [t, p] = paired("mean_absolute_percentage_error", y_true, y_pred);
  return 100 * last_mean(abs((t - p) / maximum(abs(t), kEpsilon)));
}
Tensor mean_squared_logarithmic_error(const Tensor& y_true, const Tensor& y_pred) {
  const auto [t, p] = paired("mean_squared_logarithmic_error", y_true, y_pred);
  return last_mean(square(log(maximum(p, kEpsilon) + 1) - log(maximum(t, kEpsilon) + 1)));
}
Tensor huber(const Tensor& y_true, const Tensor& y_pred, double delta) {
  if (!(delta > 0)) fail<ValueError>("huber", "delta must be positive, got {}", delta);
  const auto [t, p] = paired("huber", y_true, y_pred);
  const Tensor error = p - t, size = abs(error);
  return last_mean(where(size <= delta, 0.5 * square(error), delta * size - 0.5 * delta * delta));
}
Tensor log_cosh(const Tensor& y_true, const Tensor& y_pred) {
  const auto [t, p] = paired("log_cosh", y_true, y_pred);
  const Tensor error = p - t;
  return last_mean(error + softplus(error * -2) - std::numbers::ln2);
}

Tensor binary_crossentropy(const Tensor& y_true, const Tensor& y_pred, const CrossentropyOptions& o) {
  check_smoothing("binary_crossentropy", o.label_smoothing);
  const auto [target, p] = paired("binary_crossentropy", y_true, y_pred);
  const Tensor t = smoothed(target, o.label_smoothing, 2);
  // With logits: max(x, 0) - x t + log(1 + exp(-|x|)), which never overflows.
  if (o.from_logits) return last_mean(relu(p) - p * t + log1p(exp(-abs(p))));
  return last_mean(binary_terms(t, p));
}

Tensor binary_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred, const BinaryFocalOptions& o) {
  constexpr const char* kName = "binary_focal_crossentropy";
  check_smoothing(kName, o.label_smoothing);
  check_gamma(kName, o.gamma);
  const auto [target, output] = paired(kName, y_true, y_pred);
  const Tensor t = smoothed(target, o.label_smoothing, 2), p = o.from_logits ? sigmoid(output) : output;
  const Tensor right = t * p + (1 - t) * (1 - p);
  Tensor terms = pow(1 - right, o.gamma) * binary_terms(t, p);
  if (o.apply_class_balancing) terms = (t * o.alpha + (1 - t) * (1 - o.alpha)) * terms;
  return last_mean(terms);
}

Tensor categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, const CrossentropyOptions& o) {
  check_smoothing("categorical_crossentropy", o.label_smoothing);
  const auto [target, p] = paired("categorical_crossentropy", y_true, y_pred);
  if (p.rank() < 1) fail<ShapeError>("categorical_crossentropy", "needs an axis of classes, got a scalar");
  const Tensor t = smoothed(target, o.label_smoothing, static_cast<double>(p.shape()[-1]));
  if (o.from_logits) return softmax_cross_entropy(p, t);
  return -sum(t * log(class_shares(p)), {-1});
}

Tensor categorical_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred, const CategoricalFocalOptions& o) {
  constexpr const char* kName = "categorical_focal_crossentropy";
  check_smoothing(kName, o.label_smoothing);
  check_gamma(kName, o.gamma);
  const auto [target, output] = paired(kName, y_true, y_pred);
  if (output.rank() < 1) fail<ShapeError>(kName, "needs an axis of classes, got a scalar");
  const int64_t classes = output.shape()[-1];
  if (o.alpha.size() != 1 && std::ssize(o.alpha) != classes)
    fail<ValueError>(kName, "alpha must be one number, or one for each of {} classes, got {}", classes, o.alpha.size());
  const Tensor t = smoothed(target, o.label_smoothing, static_cast<double>(classes));
  const Tensor q = class_shares(o.from_logits ? softmax(output) : output);
  const Tensor alpha = cast(tensor(o.alpha), q.dtype());
  return -sum(alpha * pow(1 - q, o.gamma) * t * log(q), {-1});
}

Tensor sparse_categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, const SparseCrossentropyOptions& o) {
  constexpr const char* kName = "sparse_categorical_crossentropy";
  if (y_pred.rank() < 2) fail<ShapeError>(kName, "the prediction must be (batch, …, classes), got {}", y_pred.shape());
  Tensor labels = y_true;
  if (labels.rank() == y_pred.rank() && labels.shape()[-1] == 1)
    labels = reshape(labels, labels.shape().erase(-1).to_vector());
  const Shape rows = y_pred.shape().erase(-1);
  if (labels.shape() != rows)
    fail<ShapeError>(kName,
                     "labels must be {} for predictions {}, got {}; use categorical_crossentropy for one-hot targets",
                     rows, y_pred.shape(), y_true.shape());
  if (labels.dtype() == DType::boolean) labels = cast(labels, DType::int64);
  // Probabilities become logits by their logarithm; Keras clips them first.
  const Tensor logits = o.from_logits ? y_pred : log(clip(y_pred, kEpsilon, 1 - kEpsilon));
  if (!o.ignore_class) return sparse_softmax_cross_entropy(logits, labels);
  const Tensor counts = not_equal(labels, *o.ignore_class);
  const Tensor values = where(counts, sparse_softmax_cross_entropy(logits, where(counts, labels, 0)), 0);
  set_mask(values, counts);
  return values;
}

Tensor dice(const Tensor& y_true, const Tensor& y_pred, const DiceOptions& o) {
  const auto [t, p] = paired("dice", y_true, y_pred);
  return 1 - 2 * sum(t * p, o.axis) / (sum(t, o.axis) + sum(p, o.axis) + kEpsilon);
}
Tensor tversky(const Tensor& y_true, const Tensor& y_pred, const TverskyOptions& o) {
  const auto [t, p] = paired("tversky", y_true, y_pred);
  const Tensor both = sum(t * p, o.axis), missed = sum((1 - p) * t, o.axis), wrong = sum(p * (1 - t), o.axis);
  return 1 - both / (both + missed * o.alpha + wrong * o.beta + kEpsilon);
}

Tensor kl_divergence(const Tensor& y_true, const Tensor& y_pred) {
  const auto [target, prediction] = paired("kl_divergence", y_true, y_pred);
  const Tensor t = clip(target, kEpsilon, 1), p = clip(prediction, kEpsilon, 1);
  return sum(t * log(t / p), {-1});
}
Tensor hinge(const Tensor& y_true, const Tensor& y_pred) {
  const auto [t, p] = paired("hinge", y_true, y_pred);
  return last_mean(relu(1 - signed_target(t) * p));
}
Tensor squared_hinge(const Tensor& y_true, const Tensor& y_pred) {
  const auto [t, p] = paired("squared_hinge", y_true, y_pred);
  return last_mean(square(relu(1 - signed_target(t) * p)));
}
Tensor categorical_hinge(const Tensor& y_true, const Tensor& y_pred) {
  const auto [t, p] = paired("categorical_hinge", y_true, y_pred);
  const Tensor positive = sum(t * p, {-1}), negative = max((1 - t) * p, {-1});
  return relu(negative - positive + 1);
}
Tensor cosine_similarity(const Tensor& y_true, const Tensor& y_pred, int64_t axis) {
  const auto [t, p] = paired("cosine_similarity", y_true, y_pred);
  return -sum(normalized(t, axis) * normalized(p, axis), {axis});
}
Tensor poisson(const Tensor& y_true, const Tensor& y_pred) {
  const auto [t, p] = paired("poisson", y_true, y_pred);
  return last_mean(p - t * log(p + kEpsilon));
}

}  // namespace losses

namespace {
const std::map<std::string_view, AnyLoss (*)()>& loss_makers() {
  static const std::map<std::string_view, AnyLoss (*)()> makers = {
      {"mse", [] { return AnyLoss(MeanSquaredError()); }},
      {"mean_squared_error", [] { return AnyLoss(MeanSquaredError()); }},
      {"mae", [] { return AnyLoss(MeanAbsoluteError()); }},
      {"mean_absolute_error", [] { return AnyLoss(MeanAbsoluteError()); }},
      {"mape", [] { return AnyLoss(MeanAbsolutePercentageError()); }},
      {"mean_absolute_percentage_error", [] { return AnyLoss(MeanAbsolutePercentageError()); }},
      {"msle", [] { return AnyLoss(MeanSquaredLogarithmicError()); }},
      {"mean_squared_logarithmic_error", [] { return AnyLoss(MeanSquaredLogarithmicError()); }},
      {"huber", [] { return AnyLoss(Huber()); }},
      {"log_cosh", [] { return AnyLoss(LogCosh()); }},
      {"logcosh", [] { return AnyLoss(LogCosh()); }},
      {"bce", [] { return AnyLoss(BinaryCrossentropy()); }},
      {"binary_crossentropy", [] { return AnyLoss(BinaryCrossentropy()); }},
      {"categorical_crossentropy", [] { return AnyLoss(CategoricalCrossentropy()); }},
      {"sparse_categorical_crossentropy", [] { return AnyLoss(SparseCategoricalCrossentropy()); }},
      {"binary_focal_crossentropy", [] { return AnyLoss(BinaryFocalCrossentropy()); }},
      {"categorical_focal_crossentropy", [] { return AnyLoss(CategoricalFocalCrossentropy()); }},
      {"dice", [] { return AnyLoss(Dice()); }},
      {"tversky", [] { return AnyLoss(Tversky()); }},
      {"kl_divergence", [] { return AnyLoss(KLDivergence()); }},
      {"kld", [] { return AnyLoss(KLDivergence()); }},
      {"hinge", [] { return AnyLoss(Hinge()); }},
      {"squared_hinge", [] { return AnyLoss(SquaredHinge()); }},
      {"categorical_hinge", [] { return AnyLoss(CategoricalHinge()); }},
      {"cosine_similarity", [] { return AnyLoss(CosineSimilarity()); }},
      {"poisson", [] { return AnyLoss(Poisson()); }},
      {"ctc", [] { return AnyLoss(CTC()); }},
  };
  return makers;
}
}  // namespace

std::vector<std::string_view> loss_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, maker] : loss_makers()) names.push_back(name);
  return names;
}

AnyLoss::AnyLoss(const char* name) {
  if (!name) fail<ValueError>("loss", "needs a name, a loss or a function, got nullptr; leave it out for none");
  const auto found = find_by_name(loss_makers(), name);
  if (found == loss_makers().end())
    fail<ValueError>("loss", "unknown loss \"{}\"{}", name, did_you_mean(name, loss_names()));
  *this = found->second();
}

}  // namespace isochron
