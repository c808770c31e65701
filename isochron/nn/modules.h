// All modules: Linear, convolution and pooling, activations, losses, chains and lists of modules, and small ones
// without parameters.
//
//   nn::Sequential net{nn::Flatten(), nn::Linear(784, 128), nn::ReLU(), nn::Dropout(0.2), nn::Linear(128, 10)};
#pragma once

#include <initializer_list>

#include "isochron/nn/activation_modules.h"
#include "isochron/nn/clip_grad.h"
#include "isochron/nn/conv_modules.h"
#include "isochron/nn/linear.h"
#include "isochron/nn/loss_modules.h"
#include "isochron/nn/module.h"
#include "isochron/nn/norm_modules.h"
#include "isochron/nn/sequence_modules.h"

namespace isochron::nn {

struct Identity : Module {
  Tensor forward(Tensor x) override { return x; }
};

// While training, zeroes each element with probability p and scales the others by 1 / (1 - p).
class Dropout : public Module {
 public:
  explicit Dropout(double p = 0.5);  // ValueError unless in [0, 1]
  Tensor forward(Tensor x) override;

 private:
  double p_;
};

// Axes start_dim to end_dim become one.
class Flatten : public Module {
 public:
  explicit Flatten(int64_t start_dim = 1, int64_t end_dim = -1);
  Tensor forward(Tensor x) override;

 private:
  int64_t start_dim_, end_dim_;
};

// Any module as an argument.
class AnyModule {
 public:
  template <class M>
  requires std::is_base_of_v<Module, M> AnyModule(const M& module) : module_(std::make_shared<M>(module)) {}
  const std::shared_ptr<Module>& get() const { return module_; }

 private:
  std::shared_ptr<Module> module_;
};

// Modules in a list, registered as "0", "1", …; its owner says what is done with them.
//
//   nn::ModuleList blocks;                                   // a member; register_module("blocks", blocks)
//   for (int i = 0; i < 6; ++i) blocks.append(Block(64));
//   for (const auto& block : blocks) x = (*block)(x);
class ModuleList : public Module {
 public:
  ModuleList(std::initializer_list<AnyModule> modules = {});
  void append(const AnyModule& module);
  size_t size() const { return modules_->size(); }
  // Negative: from the end. IndexError.
  Module& operator[](int64_t index) const;
  auto begin() const { return modules_->begin(); }
  auto end() const { return modules_->end(); }

 private:
  std::shared_ptr<std::vector<std::shared_ptr<Module>>> modules_;  // of all copies
};

// Modules one after the other, registered as "0", "1", …
class Sequential : public Module {
 public:
  Sequential(std::initializer_list<AnyModule> modules);
  Tensor forward(Tensor x) override;

 private:
  std::vector<std::shared_ptr<Module>> modules_;
};

}  // namespace isochron::nn
