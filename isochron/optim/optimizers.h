// The optimizers of Keras 3, with its names, arguments (in its order), defaults and formulas.
//
//   iso::SGD({.learning_rate = 0.01, .momentum = 0.9, .nesterov = true});
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
  ISO_ARGUMENTS(options_)

 private:
  AdamaxOptions options_;
};

using NadamOptions = AdamaxOptions;
class Nadam : public FusedOptimizer {
 public:
  explicit Nadam(NadamOptions options = {});
  explicit Nadam(LearningRate rate) : Nadam(NadamOptions{.learning_rate = std::move(rate)}) {}
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
  ISO_ARGUMENTS(options_)

 private:
  LionOptions options_;
};

#undef ISO_COMMON_OPTIONS
#undef ISO_COMMON_OPTION_NAMES

}  // namespace isochron
