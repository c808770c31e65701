// PyTorch's L-BFGS: a quasi-Newton method for small problems whose loss can be computed again and again.
//
//   iso::optim::LBFGS optimizer(net.parameters(), {.lr = 1, .line_search_fn = "strong_wolfe"});
//   for (int i = 0; i < 20; ++i)
//     optimizer.step([&] {
//       optimizer.zero_grad();
//       const Tensor loss = mse_loss(net(x), y);
//       loss.backward();
//       return loss;
//     });
//
// One step() takes up to max_iter steps of the method and calls the closure for each. It is for loops of one's own:
// apply_gradients(), step() without a closure and fit are a StateError. All parameters are one group of one dtype. The
// history is part of variables() and snapshot(): up to 2 * history_size copies of the parameters.
#pragma once

#include "isochron/optim/optimizer.h"

namespace isochron::optim {

struct LBFGSOptions {
  LearningRate lr = 1.0;
  int64_t max_iter = 20;
  std::optional<int64_t> max_eval = {};  // calls of the closure in one step(); max_iter * 5 / 4 when not given
  double tolerance_grad = 1e-7;
  double tolerance_change = 1e-9;
  int64_t history_size = 100;
  std::optional<std::string> line_search_fn = {};  // "strong_wolfe"
};

class LBFGS : public Optimizer {
 public:
  explicit LBFGS(const Parameters& parameters, LBFGSOptions options = {});
  LBFGS(const Parameters& parameters, double lr) : LBFGS(parameters, LBFGSOptions{.lr = lr}) {}
  using Optimizer::step;
  // The loss before the step.
  Tensor step(const std::function<Tensor()>& closure) override;

 protected:
  void update_all(const std::vector<Update>& updates, const Shared& shared) override;

 private:
  // What is known after an earlier step: a vector of all parameters by name, made of zeros at first, or a number.
  Variable vector(const std::string& name, int64_t elements, DType dtype) const;
  Variable number(const char* name) const { return global_slot(name, 0); }
  // Takes a pair into the history, the oldest one's place when it is full.
  void remember(const Tensor& gradient_change, const Tensor& taken_step) const;
  Tensor newton_direction(const Tensor& gradient) const;

  LBFGSOptions options_;
};

}  // namespace isochron::optim
