// Losses of PyTorch that compare examples with one another, and those of counts and of predicted variances, with its
// names, order of arguments, options and defaults.
//
//   Tensor loss = triplet_margin_loss(anchor, positive, negative, {.margin = 0.5});     // (B, features) each
//   nn::CosineEmbeddingLoss()(a, b, same);                                              // same: 1 or -1 for each row
//   gaussian_nll_loss(mean, target, variance);
#pragma once

#include "isochron/nn/loss_modules.h"

namespace isochron {

struct SimilarityOptions {
  int64_t dim = 1;
  double eps = 1e-8;  // the least norm
};
// 1 for vectors along `dim` that point the same way.
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, SimilarityOptions options = {});

struct DistanceOptions {
  double p = 2;  // which norm
  double eps = 1e-6;
  bool keepdim = false;
};
// The norm of x1 - x2 + eps along the last axis.
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, DistanceOptions options = {});

struct TripletMarginOptions {
  double margin = 1;
  double p = 2;
  double eps = 1e-6;
  bool swap = false;  // from the positive to the negative, where that is nearer
  LossReduction reduction = LossReduction::mean;
};
// How much nearer than `margin` the negative is than the positive.
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginOptions& options = {});

struct MarginOptions {
  double margin = 0;
  LossReduction reduction = LossReduction::mean;
};
// target 1: the first should be larger; -1: the second.
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           const MarginOptions& options = {});
// Vectors (B, features), target 1 for those that belong together, -1 for others.
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const MarginOptions& options = {});
struct HingeEmbeddingOptions {
  double margin = 1;
  LossReduction reduction = LossReduction::mean;
};
// A distance where the target is 1, what it lacks to the margin where it is -1.
Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, const HingeEmbeddingOptions& options = {});
// log(1 + exp(-target * input)), targets 1 and -1.
Tensor soft_margin_loss(const Tensor& input, const Tensor& target, LossReduction reduction = LossReduction::mean);

struct MultilabelOptions {
  Tensor weight = {};  // of the classes
  LossReduction reduction = LossReduction::mean;
};
// Logits (…, classes), targets of zeros and ones: the mean over classes.
Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, const MultilabelOptions& options = {});

struct PoissonNLLOptions {
  bool log_input = true;  // the input is the logarithm of the rate
  bool full = false;      // with Stirling's formula for log(target!)
  double eps = 1e-8;
  LossReduction reduction = LossReduction::mean;
};
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonNLLOptions& options = {});

struct GaussianNLLOptions {
  bool full = false;  // with the constant
  double eps = 1e-6;  // the least variance
  LossReduction reduction = LossReduction::mean;
};
// The variance has the input's shape, or 1 as its last extent.
Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var,
                         const GaussianNLLOptions& options = {});

namespace nn {

// A function of tensors, and the options it is called with.
template <auto function, class Options>
class ComparingLoss {
 public:
  explicit ComparingLoss(Options options = {}) : options_(std::move(options)) {}
  template <class... Tensors>
  Tensor operator()(const Tensors&... tensors) const {
    return function(tensors..., options_);
  }

 private:
  Options options_;
};

using CosineSimilarity = ComparingLoss<cosine_similarity, SimilarityOptions>;
using PairwiseDistance = ComparingLoss<pairwise_distance, DistanceOptions>;
using TripletMarginLoss = ComparingLoss<triplet_margin_loss, TripletMarginOptions>;
using MarginRankingLoss = ComparingLoss<margin_ranking_loss, MarginOptions>;
using CosineEmbeddingLoss = ComparingLoss<cosine_embedding_loss, MarginOptions>;
using HingeEmbeddingLoss = ComparingLoss<hinge_embedding_loss, HingeEmbeddingOptions>;
using SoftMarginLoss = ReducedLoss<soft_margin_loss>;
using MultiLabelSoftMarginLoss = ComparingLoss<multilabel_soft_margin_loss, MultilabelOptions>;
using PoissonNLLLoss = ComparingLoss<poisson_nll_loss, PoissonNLLOptions>;
using GaussianNLLLoss = ComparingLoss<gaussian_nll_loss, GaussianNLLOptions>;

}  // namespace nn
}  // namespace isochron
