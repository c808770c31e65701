#include "isochron/nn/pair_losses.h"

#include <cmath>
#include <numbers>

#include "isochron/nn/torch_reduction.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

// PyTorch would broadcast; two examples of one shape can't be mixed up.
void need_same(const char* loss, const char* what, const Tensor& a, const Tensor& b) {
  if (!is_floating(a.dtype())) fail<DTypeError>(loss, "needs floating tensors, got {}", a.dtype());
  if (a.shape() != b.shape())
    fail<ShapeError>(loss, "{} must have the same shape, got {} and {}", what, a.shape(), b.shape());
}

// log(1 + exp(x)), which does not overflow.
Tensor log_one_plus_exp(const Tensor& x) { return relu(x) + log1p(exp(-abs(x))); }

}  // namespace

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, SimilarityOptions o) {
  need_same("cosine_similarity", "both", x1, x2);
  const auto length = [&](const Tensor& x) { return maximum(sqrt(sum(square(x), {o.dim})), o.eps); };
  return sum(x1 * x2, {o.dim}) / (length(x1) * length(x2));
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, DistanceOptions o) {
  need_same("pairwise_distance", "both", x1, x2);
  if (!(o.p > 0)) fail<ValueError>("pairwise_distance", "p must be positive, got {}", o.p);
  const Tensor difference = x1 - x2 + o.eps;
  if (o.p == 2) return sqrt(sum(square(difference), {-1}, o.keepdim));
  if (o.p == 1) return sum(abs(difference), {-1}, o.keepdim);
  if (std::isinf(o.p)) return max(abs(difference), {-1}, o.keepdim);
  return pow(sum(pow(abs(difference), o.p), {-1}, o.keepdim), 1 / o.p);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginOptions& o) {
  constexpr const char* kName = "triplet_margin_loss";
  need_same(kName, "anchor and positive", anchor, positive);
  need_same(kName, "anchor and negative", anchor, negative);
  if (!(o.margin > 0)) fail<ValueError>(kName, "margin must be positive, got {}", o.margin);
  const auto distance = [&](const Tensor& a, const Tensor& b) { return pairwise_distance(a, b, {o.p, o.eps}); };
  Tensor apart = distance(anchor, negative);
  if (o.swap) apart = minimum(apart, distance(positive, negative));
  return torch_reduced(kName, relu(distance(anchor, positive) - apart + o.margin), o.reduction);
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, const MarginOptions& o) {
  constexpr const char* kName = "margin_ranking_loss";
  need_same(kName, "both inputs", input1, input2);
  need_same(kName, "input and target", input1, target);
  return torch_reduced(kName, relu(cast(target, input1.dtype()) * (input2 - input1) + o.margin), o.reduction);
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, const MarginOptions& o) {
  constexpr const char* kName = "cosine_embedding_loss";
  need_same(kName, "both inputs", input1, input2);
  if (input1.rank() < 1 || target.shape() != input1.shape().erase(-1))
    fail<ShapeError>(kName, "needs one target for each of the vectors {}, got {}", input1.shape(), target.shape());
  constexpr double kLeast = 1e-12;  // PyTorch's
  const auto squares = [&](const Tensor& x) { return sum(square(x), {-1}) + kLeast; };
  const Tensor cosine = sum(input1 * input2, {-1}) / sqrt(squares(input1) * squares(input2));
  return torch_reduced(kName, where(target > 0, 1 - cosine, relu(cosine - o.margin)), o.reduction);
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, const HingeEmbeddingOptions& o) {
  need_same("hinge_embedding_loss", "input and target", input, target);
  return torch_reduced("hinge_embedding_loss", where(target > 0, input, relu(o.margin - input)), o.reduction);
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target, LossReduction reduction) {
  need_same("soft_margin_loss", "input and target", input, target);
  return torch_reduced("soft_margin_loss", log_one_plus_exp(-cast(target, input.dtype()) * input), reduction);
}

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, const MultilabelOptions& o) {
  constexpr const char* kName = "multilabel_soft_margin_loss";
  need_same(kName, "input and target", input, target);
  const Tensor t = cast(target, input.dtype());
  Tensor terms = t * log_one_plus_exp(-input) + (1 - t) * log_one_plus_exp(input);
  if (o.weight.defined()) {
    if (!broadcasts_to(o.weight.shape(), terms.shape()))
      fail<ShapeError>(kName, "weight must fit the classes of {}, got {}", input.shape(), o.weight.shape());
    terms = terms * cast(o.weight, input.dtype());
  }
  return torch_reduced(kName, mean(terms, {-1}), o.reduction);
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonNLLOptions& o) {
  need_same("poisson_nll_loss", "input and target", input, target);
  const Tensor t = cast(target, input.dtype());
  Tensor values = o.log_input ? exp(input) - t * input : input - t * log(input + o.eps);
  if (o.full) {
    const Tensor large = t > 1, safe = where(large, t, 1);
    values = values + where(large, safe * log(safe) - safe + 0.5 * log(2 * std::numbers::pi * safe), 0);
  }
  return torch_reduced("poisson_nll_loss", values, o.reduction);
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var, const GaussianNLLOptions& o) {
  constexpr const char* kName = "gaussian_nll_loss";
  need_same(kName, "input and target", input, target);
  if (!broadcasts_to(var.shape(), input.shape()))
    fail<ShapeError>(kName, "var must fit the input {}, got {}", input.shape(), var.shape());
  // Raised to the least without a kink: the gradient is that at the raised value.
  const Tensor variance = var + stop_gradient(maximum(var, o.eps) - var);
  Tensor values = 0.5 * (log(variance) + square(input - cast(target, input.dtype())) / variance);
  if (o.full) values = values + 0.5 * std::log(2 * std::numbers::pi);
  return torch_reduced(kName, values, o.reduction);
}

}  // namespace isochron
