// The optimizers of PyTorch, with its names, arguments, defaults and formulas.
//
//   iso::optim::SGD optimizer(net.parameters(), {.lr = 0.1, .momentum = 0.9});
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
class SGD : public FusedOptimizer {
 public:
  explicit SGD(const Parameters& parameters, SGDOptions options = {});
};

struct AdamOptions {
  LearningRate lr = 0.001;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;
};
class Adam : public FusedOptimizer {
 public:
  explicit Adam(const Parameters& parameters, AdamOptions options = {});
};

struct AdamWOptions {
  LearningRate lr = 0.001;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool amsgrad = false;
};
class AdamW : public FusedOptimizer {
 public:
  explicit AdamW(const Parameters& parameters, AdamWOptions options = {});
};

struct RMSpropOptions {
  LearningRate lr = 0.01;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;
};
class RMSprop : public FusedOptimizer {
 public:
  explicit RMSprop(const Parameters& parameters, RMSpropOptions options = {});
};

struct AdamaxOptions {
  LearningRate lr = 0.002;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
};
class Adamax : public FusedOptimizer {
 public:
  explicit Adamax(const Parameters& parameters, AdamaxOptions options = {});
};

struct NAdamOptions {
  LearningRate lr = 0.002;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum_decay = 0.004;
};
class NAdam : public FusedOptimizer {
 public:
  explicit NAdam(const Parameters& parameters, NAdamOptions options = {});
};

struct AdagradOptions {
  LearningRate lr = 0.01;
  double weight_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;
};
class Adagrad : public FusedOptimizer {
 public:
  explicit Adagrad(const Parameters& parameters, AdagradOptions options = {});
};

struct AdadeltaOptions {
  LearningRate lr = 1.0;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0;
};
class Adadelta : public FusedOptimizer {
 public:
  explicit Adadelta(const Parameters& parameters, AdadeltaOptions options = {});
};

}  // namespace isochron::optim
