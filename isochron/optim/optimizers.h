// The optimizers of Keras 3, with its names, arguments (in its order), defaults and formulas.
//
//   iso::SGD({.learning_rate = 0.01, .momentum = 0.9, .nesterov = true});
//   iso::SGD(0.01, 0.9, true);                                   // the same by place
//   iso::Adam({.learning_rate = 1e-3, .amsgrad = true, .global_clipnorm = 1.0});
//   iso::AdamW({.learning_rate = iso::CosineDecay({.initial_learning_rate = 1e-3, .decay_steps = 1000})});
//
// Those of PyTorch are in optim/torch_optimizers.h. A bad option is a ValueError that names it.
#pragma once

#include "isochron/optim/fused.h"

namespace isochron {

// What every optimizer takes besides its own options: see OptimizerOptions.
#define ISO_COMMON_OPTIONS                                 \
  std::optional<double> clipnorm = {};                     \
  std::optional<double> clipvalue = {};                    \
  std::optional<double> global_clipnorm = {};              \
  bool use_ema = false;                                    \
  double ema_momentum = 0.99;                              \
  std::optional<int64_t> ema_overwrite_frequency = {};     \
  std::optional<double> loss_scale_factor = {};            \
  std::optional<int64_t> gradient_accumulation_steps = {}; \
  std::string name = {}

#define ISO_COMMON_OPTION_NAMES                                                                            \
  clipnorm, clipvalue, global_clipnorm, use_ema, ema_momentum, ema_overwrite_frequency, loss_scale_factor, \
      gradient_accumulation_steps, name

struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0.0;
  bool nesterov = false;
  std::optional<double> weight_decay = {};
  ISO_COMMON_OPTIONS;
};
ISO_OPTIONS(SGDOptions, learning_rate, momentum, nesterov, weight_decay, ISO_COMMON_OPTION_NAMES)
class SGD : public FusedOptimizer {
 public:
  explicit SGD(SGDOptions options = {});
  explicit SGD(LearningRate rate) : SGD(SGDOptions{.learning_rate = std::move(rate)}) {}
  SGD(LearningRate rate, double momentum, bool nesterov = false)
      : SGD(SGDOptions{std::move(rate), momentum, nesterov}) {}
  ISO_ARGUMENTS(options_)

 private:
  SGDOptions options_;
};

struct RMSpropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-7;
  bool centered = false;
  std::optional<double> weight_decay = {};
  ISO_COMMON_OPTIONS;
};
ISO_OPTIONS(RMSpropOptions, learning_rate, rho, momentum, epsilon, centered, weight_decay, ISO_COMMON_OPTION_NAMES)
class RMSprop : public FusedOptimizer {
 public:
  explicit RMSprop(RMSpropOptions options = {});
  explicit RMSprop(LearningRate rate) : RMSprop(RMSpropOptions{.learning_rate = std::move(rate)}) {}
  RMSprop(LearningRate rate, double rho, double momentum = 0.0, double epsilon = 1e-7)
      : RMSprop(RMSpropOptions{std::move(rate), rho, momentum, epsilon}) {}
  ISO_ARGUMENTS(options_)

 private:
  RMSpropOptions options_;
};

struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  std::optional<double> weight_decay = {};
  ISO_COMMON_OPTIONS;
};
ISO_OPTIONS(AdamOptions, learning_rate, beta_1, beta_2, epsilon, amsgrad, weight_decay, ISO_COMMON_OPTION_NAMES)
class Adam : public FusedOptimizer {
 public:
  explicit Adam(AdamOptions options = {});
  explicit Adam(LearningRate rate) : Adam(AdamOptions{.learning_rate = std::move(rate)}) {}
  Adam(LearningRate rate, double beta_1, double beta_2 = 0.999, double epsilon = 1e-7, bool amsgrad = false)
      : Adam(AdamOptions{std::move(rate), beta_1, beta_2, epsilon, amsgrad}) {}
  ISO_ARGUMENTS(options_)

 private:
  AdamOptions options_;
};

struct AdamWOptions {
  LearningRate learning_rate = 0.001;
  std::optional<double> weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  ISO_COMMON_OPTIONS;
};
ISO_OPTIONS(AdamWOptions, learning_rate, weight_decay, beta_1, beta_2, epsilon, amsgrad, ISO_COMMON_OPTION_NAMES)
class AdamW : public FusedOptimizer {
 public:
  explicit AdamW(AdamWOptions options = {});
  explicit AdamW(LearningRate rate) : AdamW(AdamWOptions{.learning_rate = std::move(rate)}) {}
  AdamW(LearningRate rate, double weight_decay, double beta_1 = 0.9, double beta_2 = 0.999, double epsilon = 1e-7,
        bool amsgrad = false)
      : AdamW(AdamWOptions{std::move(rate), weight_decay, beta_1, beta_2, epsilon, amsgrad}) {}
  ISO_ARGUMENTS(options_)

 private:
  AdamWOptions options_;
};

struct AdamaxOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = {};
  ISO_COMMON_OPTIONS;
};
ISO_OPTIONS(AdamaxOptions, learning_rate, beta_1, beta_2, epsilon, weight_decay, ISO_COMMON_OPTION_NAMES)
class Adamax : public FusedOptimizer {
 public:
  explicit Adamax(AdamaxOptions options = {});
  explicit Adamax(LearningRate rate) : Adamax(AdamaxOptions{.learning_rate = std::move(rate)}) {}
  Adamax(LearningRate rate, double beta_1, double beta_2 = 0.999, double epsilon = 1e-7)
      : Adamax(AdamaxOptions{std::move(rate), beta_1, beta_2, epsilon}) {}
  ISO_ARGUMENTS(options_)

 private:
  AdamaxOptions options_;
};

using NadamOptions = AdamaxOptions;
class Nadam : public FusedOptimizer {
 public:
  explicit Nadam(NadamOptions options = {});
  explicit Nadam(LearningRate rate) : Nadam(NadamOptions{.learning_rate = std::move(rate)}) {}
  Nadam(LearningRate rate, double beta_1, double beta_2 = 0.999, double epsilon = 1e-7)
      : Nadam(NadamOptions{std::move(rate), beta_1, beta_2, epsilon}) {}
  ISO_ARGUMENTS(options_)

 private:
  NadamOptions options_;
};

struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = {};
  ISO_COMMON_OPTIONS;
};
ISO_OPTIONS(AdagradOptions, learning_rate, initial_accumulator_value, epsilon, weight_decay, ISO_COMMON_OPTION_NAMES)
class Adagrad : public FusedOptimizer {
 public:
  explicit Adagrad(AdagradOptions options = {});
  explicit Adagrad(LearningRate rate) : Adagrad(AdagradOptions{.learning_rate = std::move(rate)}) {}
  Adagrad(LearningRate rate, double initial_accumulator_value, double epsilon = 1e-7)
      : Adagrad(AdagradOptions{std::move(rate), initial_accumulator_value, epsilon}) {}
  ISO_ARGUMENTS(options_)

 private:
  AdagradOptions options_;
};

struct AdadeltaOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.95;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = {};
  ISO_COMMON_OPTIONS;
};
ISO_OPTIONS(AdadeltaOptions, learning_rate, rho, epsilon, weight_decay, ISO_COMMON_OPTION_NAMES)
class Adadelta : public FusedOptimizer {
 public:
  explicit Adadelta(AdadeltaOptions options = {});
  explicit Adadelta(LearningRate rate) : Adadelta(AdadeltaOptions{.learning_rate = std::move(rate)}) {}
  Adadelta(LearningRate rate, double rho, double epsilon = 1e-7)
      : Adadelta(AdadeltaOptions{std::move(rate), rho, epsilon}) {}
  ISO_ARGUMENTS(options_)

 private:
  AdadeltaOptions options_;
};

struct LionOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.99;
  std::optional<double> weight_decay = {};
  ISO_COMMON_OPTIONS;
};
ISO_OPTIONS(LionOptions, learning_rate, beta_1, beta_2, weight_decay, ISO_COMMON_OPTION_NAMES)
class Lion : public FusedOptimizer {
 public:
  explicit Lion(LionOptions options = {});
  explicit Lion(LearningRate rate) : Lion(LionOptions{.learning_rate = std::move(rate)}) {}
  Lion(LearningRate rate, double beta_1, double beta_2 = 0.99) : Lion(LionOptions{std::move(rate), beta_1, beta_2}) {}
  ISO_ARGUMENTS(options_)

 private:
  LionOptions options_;
};

struct FtrlOptions {
  LearningRate learning_rate = 0.001;
  double learning_rate_power = -0.5;
  double initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0.0;
  double l2_regularization_strength = 0.0;
  double l2_shrinkage_regularization_strength = 0.0;
  double beta = 0.0;
  std::optional<double> weight_decay = {};
  ISO_COMMON_OPTIONS;
};
ISO_OPTIONS(FtrlOptions, learning_rate, learning_rate_power, initial_accumulator_value, l1_regularization_strength,
            l2_regularization_strength, l2_shrinkage_regularization_strength, beta, weight_decay,
            ISO_COMMON_OPTION_NAMES)
class Ftrl : public Optimizer {
 public:
  explicit Ftrl(FtrlOptions options = {});
  explicit Ftrl(LearningRate rate) : Ftrl(FtrlOptions{.learning_rate = std::move(rate)}) {}
  ISO_ARGUMENTS(options_)

 protected:
  void update_one(const Tensor& gradient, const Variable& variable, const Tensor& learning_rate) override;
  std::vector<Slot> slots(const Variable& variable) const override;

 private:
  FtrlOptions options_;
};

// Each variable steps by its own norm.
using LambOptions = AdamaxOptions;
class Lamb : public Optimizer {
 public:
  explicit Lamb(LambOptions options = {});
  explicit Lamb(LearningRate rate) : Lamb(LambOptions{.learning_rate = std::move(rate)}) {}
  Lamb(LearningRate rate, double beta_1, double beta_2 = 0.999, double epsilon = 1e-7)
      : Lamb(LambOptions{std::move(rate), beta_1, beta_2, epsilon}) {}
  ISO_ARGUMENTS(options_)

 protected:
  void update_one(const Tensor& gradient, const Variable& variable, const Tensor& learning_rate) override;
  std::vector<Slot> slots(const Variable& variable) const override;

 private:
  LambOptions options_;
};

// Of a variable with two axes or more it keeps a mean square for each row and each column. relative_step has no effect
// in Keras 3, which bounds the rate by 1 / sqrt(step) in either case; it is kept so that configurations can be carried
// over.
struct AdafactorOptions {
  LearningRate learning_rate = 0.001;
  double beta_2_decay = -0.8;
  double epsilon_1 = 1e-30;
  double epsilon_2 = 1e-3;
  double clip_threshold = 1.0;
  bool relative_step = true;
  std::optional<double> weight_decay = {};
  ISO_COMMON_OPTIONS;
};
ISO_OPTIONS(AdafactorOptions, learning_rate, beta_2_decay, epsilon_1, epsilon_2, clip_threshold, relative_step,
            weight_decay, ISO_COMMON_OPTION_NAMES)
class Adafactor : public Optimizer {
 public:
  explicit Adafactor(AdafactorOptions options = {});
  explicit Adafactor(LearningRate rate) : Adafactor(AdafactorOptions{.learning_rate = std::move(rate)}) {}
  ISO_ARGUMENTS(options_)

 protected:
  void update_one(const Tensor& gradient, const Variable& variable, const Tensor& learning_rate) override;
  std::vector<Slot> slots(const Variable& variable) const override;

 private:
  AdafactorOptions options_;
};

// Matrices step by their momentum made orthogonal; everything else (biases, kernels of convolutions, embeddings, names
// that match one of the regular expressions of exclude_layers) by Adam.
struct MuonOptions {
  LearningRate learning_rate = 0.001;
  double adam_beta_1 = 0.9;
  double adam_beta_2 = 0.999;
  std::optional<double> adam_weight_decay = 0.004;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = 0.004;
  ISO_COMMON_OPTIONS;
  std::vector<std::string> exclude_layers = {};
  bool exclude_embeddings = true;
  double muon_a = 3.4445;
  double muon_b = -4.7750;
  double muon_c = 2.0315;
  double adam_lr_ratio = 1;
  double momentum = 0.95;
  int64_t ns_steps = 5;
  bool nesterov = true;
  std::optional<double> rms_rate = 0.2;
};
ISO_OPTIONS(MuonOptions, learning_rate, adam_beta_1, adam_beta_2, adam_weight_decay, epsilon, weight_decay,
            ISO_COMMON_OPTION_NAMES, exclude_layers, exclude_embeddings, muon_a, muon_b, muon_c, adam_lr_ratio,
            momentum, ns_steps, nesterov, rms_rate)
class Muon : public FusedOptimizer {
 public:
  explicit Muon(MuonOptions options = {});
  explicit Muon(LearningRate rate) : Muon(MuonOptions{.learning_rate = std::move(rate)}) {}
  ISO_ARGUMENTS(options_)

 protected:
  void update_all(const std::vector<Update>& updates, const Shared& shared) override;
  void update_one(const Tensor& gradient, const Variable& variable, const Tensor& learning_rate) override;
  std::vector<Slot> slots(const Variable& variable) const override;

 private:
  bool takes_adam(const Variable& variable) const;
  MuonOptions options_;
};

#undef ISO_COMMON_OPTIONS
#undef ISO_COMMON_OPTION_NAMES

}  // namespace isochron
