// The optimizers of PyTorch, with its names, arguments, defaults and formulas.
//
//   iso::optim::SGD optimizer(net.parameters(), {.lr = 0.1, .momentum = 0.9});
//   iso::optim::Adam other(net.parameters(), 1e-3);
//   optimizer.zero_grad(); loss.backward(); optimizer.step();
//   optimizer.add_param_group({.params = head.parameters(), .lr = 0.01});
//
// Weight decay is added to the gradient (L2), except in AdamW; epsilon stands outside the square root; SGD's momentum
// is not scaled by the learning rate. lr may be a schedule.
#pragma once

#include <utility>

#include "isochron/optim/fused.h"

namespace isochron::optim {

struct SGDOptions {
  LearningRate lr = 0.001;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
};
ISO_OPTIONS(SGDOptions, lr, momentum, dampening, weight_decay, nesterov)
class SGD : public FusedOptimizer {
 public:
  explicit SGD(const Parameters& parameters, SGDOptions options = {});
  SGD(const Parameters& parameters, double lr) : SGD(parameters, SGDOptions{.lr = lr}) {}
  ISO_ARGUMENTS(options_)
  static SGD from_arguments(SGDOptions options) { return SGD(Parameters(), options); }

 private:
  SGDOptions options_;
};

struct AdamOptions {
  LearningRate lr = 0.001;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;
};
ISO_OPTIONS(AdamOptions, lr, betas, eps, weight_decay, amsgrad)
class Adam : public FusedOptimizer {
 public:
  explicit Adam(const Parameters& parameters, AdamOptions options = {});
  Adam(const Parameters& parameters, double lr) : Adam(parameters, AdamOptions{.lr = lr}) {}
  ISO_ARGUMENTS(options_)
  static Adam from_arguments(AdamOptions options) { return Adam(Parameters(), options); }

 private:
  AdamOptions options_;
};

struct AdamWOptions {
  LearningRate lr = 0.001;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool amsgrad = false;
};
ISO_OPTIONS(AdamWOptions, lr, betas, eps, weight_decay, amsgrad)
class AdamW : public FusedOptimizer {
 public:
  explicit AdamW(const Parameters& parameters, AdamWOptions options = {});
  AdamW(const Parameters& parameters, double lr) : AdamW(parameters, AdamWOptions{.lr = lr}) {}
  ISO_ARGUMENTS(options_)
  static AdamW from_arguments(AdamWOptions options) { return AdamW(Parameters(), options); }

 private:
  AdamWOptions options_;
};

struct RMSpropOptions {
  LearningRate lr = 0.01;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;
};
ISO_OPTIONS(RMSpropOptions, lr, alpha, eps, weight_decay, momentum, centered)
class RMSprop : public FusedOptimizer {
 public:
  explicit RMSprop(const Parameters& parameters, RMSpropOptions options = {});
  RMSprop(const Parameters& parameters, double lr) : RMSprop(parameters, RMSpropOptions{.lr = lr}) {}
  ISO_ARGUMENTS(options_)
  static RMSprop from_arguments(RMSpropOptions options) { return RMSprop(Parameters(), options); }

 private:
  RMSpropOptions options_;
};

struct AdamaxOptions {
  LearningRate lr = 0.002;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
};
ISO_OPTIONS(AdamaxOptions, lr, betas, eps, weight_decay)
class Adamax : public FusedOptimizer {
 public:
  explicit Adamax(const Parameters& parameters, AdamaxOptions options = {});
  Adamax(const Parameters& parameters, double lr) : Adamax(parameters, AdamaxOptions{.lr = lr}) {}
  ISO_ARGUMENTS(options_)
  static Adamax from_arguments(AdamaxOptions options) { return Adamax(Parameters(), options); }

 private:
  AdamaxOptions options_;
};

struct NAdamOptions {
  LearningRate lr = 0.002;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum_decay = 0.004;
};
ISO_OPTIONS(NAdamOptions, lr, betas, eps, weight_decay, momentum_decay)
class NAdam : public FusedOptimizer {
 public:
  explicit NAdam(const Parameters& parameters, NAdamOptions options = {});
  NAdam(const Parameters& parameters, double lr) : NAdam(parameters, NAdamOptions{.lr = lr}) {}
  ISO_ARGUMENTS(options_)
  static NAdam from_arguments(NAdamOptions options) { return NAdam(Parameters(), options); }

 private:
  NAdamOptions options_;
};

struct RAdamOptions {
  LearningRate lr = 0.001;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled_weight_decay = false;
};
ISO_OPTIONS(RAdamOptions, lr, betas, eps, weight_decay, decoupled_weight_decay)
class RAdam : public FusedOptimizer {
 public:
  explicit RAdam(const Parameters& parameters, RAdamOptions options = {});
  RAdam(const Parameters& parameters, double lr) : RAdam(parameters, RAdamOptions{.lr = lr}) {}
  ISO_ARGUMENTS(options_)
  static RAdam from_arguments(RAdamOptions options) { return RAdam(Parameters(), options); }

 private:
  RAdamOptions options_;
};

struct AdagradOptions {
  LearningRate lr = 0.01;
  double weight_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;
};
ISO_OPTIONS(AdagradOptions, lr, weight_decay, initial_accumulator_value, eps)
class Adagrad : public FusedOptimizer {
 public:
  explicit Adagrad(const Parameters& parameters, AdagradOptions options = {});
  Adagrad(const Parameters& parameters, double lr) : Adagrad(parameters, AdagradOptions{.lr = lr}) {}
  ISO_ARGUMENTS(options_)
  static Adagrad from_arguments(AdagradOptions options) { return Adagrad(Parameters(), options); }

 private:
  AdagradOptions options_;
};

struct AdadeltaOptions {
  LearningRate lr = 1.0;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0;
};
ISO_OPTIONS(AdadeltaOptions, lr, rho, eps, weight_decay)
class Adadelta : public FusedOptimizer {
 public:
  explicit Adadelta(const Parameters& parameters, AdadeltaOptions options = {});
  Adadelta(const Parameters& parameters, double lr) : Adadelta(parameters, AdadeltaOptions{.lr = lr}) {}
  ISO_ARGUMENTS(options_)
  static Adadelta from_arguments(AdadeltaOptions options) { return Adadelta(Parameters(), options); }

 private:
  AdadeltaOptions options_;
};

}  // namespace isochron::optim
