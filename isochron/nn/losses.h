// The losses, with Keras' names, formulas and defaults.
//
//   SparseCategoricalCrossentropy loss({.from_logits = true});
//   Tensor value = loss(labels, logits);                       // labels (batch) of integers, logits (batch, classes)
//
// PyTorch's are in nn/torch_losses.h.
// A label outside [0, classes) is reported with its row and value when the step runs.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "isochron/nn/loss.h"

namespace isochron {

struct LossOptions {
  LossReduction reduction = LossReduction::sum_over_batch_size;
};
ISO_OPTIONS(LossOptions, reduction)
struct CrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0;
  LossReduction reduction = LossReduction::sum_over_batch_size;
};
ISO_OPTIONS(CrossentropyOptions, from_logits, label_smoothing, reduction)
struct SparseCrossentropyOptions {
  bool from_logits = false;
  std::optional<int64_t> ignore_class = {};  // labels that do not count, such as -1 for what is unknown
  LossReduction reduction = LossReduction::sum_over_batch_size;
};
ISO_OPTIONS(SparseCrossentropyOptions, from_logits, ignore_class, reduction)
// Crossentropy that counts less what is predicted well already: each term times (1 - its probability)^gamma.
struct BinaryFocalOptions {
  bool apply_class_balancing = false;  // class 1 by alpha, class 0 by 1 - alpha
  double alpha = 0.25, gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  LossReduction reduction = LossReduction::sum_over_batch_size;
};
ISO_OPTIONS(BinaryFocalOptions, apply_class_balancing, alpha, gamma, from_logits, label_smoothing, reduction)
struct CategoricalFocalOptions {
  std::vector<double> alpha = {0.25};  // of all classes, or one for each
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  LossReduction reduction = LossReduction::sum_over_batch_size;
};
ISO_OPTIONS(CategoricalFocalOptions, alpha, gamma, from_logits, label_smoothing, reduction)
// How little target and prediction overlap, along these axes; along all of them when there are none.
struct DiceOptions {
  std::vector<int64_t> axis = {};
  LossReduction reduction = LossReduction::sum_over_batch_size;
};
ISO_OPTIONS(DiceOptions, axis, reduction)
struct TverskyOptions {
  double alpha = 0.5, beta = 0.5;  // what is missed counts by alpha, what is predicted wrongly by beta, as in Keras
  std::vector<int64_t> axis = {};
  LossReduction reduction = LossReduction::sum_over_batch_size;
};
ISO_OPTIONS(TverskyOptions, alpha, beta, axis, reduction)
struct HuberOptions {
  double delta = 1;
  LossReduction reduction = LossReduction::sum_over_batch_size;
};
ISO_OPTIONS(HuberOptions, delta, reduction)

struct CosineSimilarityOptions {
  int64_t axis = -1;  // along which similarity is taken
  LossReduction reduction = LossReduction::sum_over_batch_size;
};
ISO_OPTIONS(CosineSimilarityOptions, axis, reduction)

// Values of each example: the mean over the last axis, or what the name says.
namespace losses {
Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred);
Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred);
Tensor mean_absolute_percentage_error(const Tensor& y_true, const Tensor& y_pred);
Tensor mean_squared_logarithmic_error(const Tensor& y_true, const Tensor& y_pred);
Tensor huber(const Tensor& y_true, const Tensor& y_pred, double delta = 1);
Tensor log_cosh(const Tensor& y_true, const Tensor& y_pred);
Tensor binary_crossentropy(const Tensor& y_true, const Tensor& y_pred, const CrossentropyOptions& options = {});
Tensor categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, const CrossentropyOptions& options = {});
// Values of ignored labels are 0, and masked (nn/masking.h).
Tensor sparse_categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                       const SparseCrossentropyOptions& options = {});
Tensor binary_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred, const BinaryFocalOptions& options = {});
Tensor categorical_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                      const CategoricalFocalOptions& options = {});
Tensor dice(const Tensor& y_true, const Tensor& y_pred, const DiceOptions& options = {});
Tensor tversky(const Tensor& y_true, const Tensor& y_pred, const TverskyOptions& options = {});
Tensor kl_divergence(const Tensor& y_true, const Tensor& y_pred);
Tensor hinge(const Tensor& y_true, const Tensor& y_pred);
Tensor squared_hinge(const Tensor& y_true, const Tensor& y_pred);
Tensor categorical_hinge(const Tensor& y_true, const Tensor& y_pred);
Tensor cosine_similarity(const Tensor& y_true, const Tensor& y_pred, int64_t axis = -1);
Tensor poisson(const Tensor& y_true, const Tensor& y_pred);
}  // namespace losses

// By which compile() takes losses, and metrics that are the mean of one.
std::vector<std::string_view> loss_names();

#define ISO_LOSS(Class, function)                                                                   \
  class Class : public Loss {                                                                       \
   public:                                                                                          \
    explicit Class(LossOptions options = {}) : Loss(#function, options.reduction) {}                \
    ISO_ARGUMENTS(LossOptions{reduction()})                                                         \
    Tensor call(const Tensor& t, const Tensor& p) const override { return losses::function(t, p); } \
  }
ISO_LOSS(MeanSquaredError, mean_squared_error);
ISO_LOSS(MeanAbsoluteError, mean_absolute_error);
ISO_LOSS(MeanAbsolutePercentageError, mean_absolute_percentage_error);
ISO_LOSS(MeanSquaredLogarithmicError, mean_squared_logarithmic_error);
ISO_LOSS(LogCosh, log_cosh);
ISO_LOSS(KLDivergence, kl_divergence);
ISO_LOSS(Hinge, hinge);
ISO_LOSS(SquaredHinge, squared_hinge);
ISO_LOSS(CategoricalHinge, categorical_hinge);
ISO_LOSS(Poisson, poisson);
#undef ISO_LOSS

class Huber : public Loss {
 public:
  explicit Huber(HuberOptions options = {}) : Loss("huber", options.reduction), options_(options) {}
  ISO_ARGUMENTS(options_)
  Tensor call(const Tensor& t, const Tensor& p) const override { return losses::huber(t, p, options_.delta); }

 private:
  HuberOptions options_;
};

class CosineSimilarity : public Loss {
 public:
  explicit CosineSimilarity(CosineSimilarityOptions options = {})
      : Loss("cosine_similarity", options.reduction), options_(options) {}
  ISO_ARGUMENTS(options_)
  Tensor call(const Tensor& t, const Tensor& p) const override {
    return losses::cosine_similarity(t, p, options_.axis);
  }

 private:
  CosineSimilarityOptions options_;
};

#define ISO_LOSS_OF(Class, function, Options)                                                                  \
  class Class : public Loss {                                                                                  \
   public:                                                                                                     \
    explicit Class(Options options = {}) : Loss(#function, options.reduction), options_(std::move(options)) {} \
    ISO_ARGUMENTS(options_)                                                                                    \
    Tensor call(const Tensor& t, const Tensor& p) const override { return losses::function(t, p, options_); }  \
                                                                                                               \
   private:                                                                                                    \
    Options options_;                                                                                          \
  }
ISO_LOSS_OF(BinaryCrossentropy, binary_crossentropy, CrossentropyOptions);
ISO_LOSS_OF(CategoricalCrossentropy, categorical_crossentropy, CrossentropyOptions);
ISO_LOSS_OF(SparseCategoricalCrossentropy, sparse_categorical_crossentropy, SparseCrossentropyOptions);
ISO_LOSS_OF(BinaryFocalCrossentropy, binary_focal_crossentropy, BinaryFocalOptions);
ISO_LOSS_OF(CategoricalFocalCrossentropy, categorical_focal_crossentropy, CategoricalFocalOptions);
ISO_LOSS_OF(Dice, dice, DiceOptions);
ISO_LOSS_OF(Tversky, tversky, TverskyOptions);
#undef ISO_LOSS_OF

}  // namespace isochron
