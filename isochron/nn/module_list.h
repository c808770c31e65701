// Modules made of others: a chain, a list, a dictionary; and a list of parameters.
//
//   nn::Sequential net{nn::Flatten(), nn::Linear(784, 128), nn::ReLU(), nn::Dropout(0.2), nn::Linear(128, 10)};
#pragma once

#include <concepts>
#include <initializer_list>
#include <utility>

#include "isochron/nn/module.h"

namespace isochron::nn {

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

// Modules by name, in the order in which they came.
//
//   nn::ModuleDict heads{{"age", nn::Linear(64, 1)}, {"name", nn::Linear(64, 100)}};
//   heads["age"](x);
class ModuleDict : public Module {
 public:
  ModuleDict(std::initializer_list<std::pair<std::string, AnyModule>> modules = {});
  // ValueError for a name that is taken.
  void insert(const std::string& name, const AnyModule& module);
  size_t size() const { return modules_->size(); }
  bool contains(const std::string& name) const;
  // ValueError with a suggestion for a name that is not there.
  Module& operator[](const std::string& name) const;
  auto begin() const { return modules_->begin(); }
  auto end() const { return modules_->end(); }

 private:
  std::shared_ptr<std::vector<std::pair<std::string, std::shared_ptr<Module>>>> modules_;  // of all copies
};

// Parameters in a list, registered as "0", "1", …
class ParameterList : public Module {
 public:
  ParameterList(std::initializer_list<Tensor> values = {});
  Variable append(const Tensor& value);
  size_t size() const { return parameters_->size(); }
  // Negative: from the end. IndexError.
  const Variable& operator[](int64_t index) const;

 private:
  std::shared_ptr<std::vector<Variable>> parameters_;
};

// Modules one after the other, registered as "0", "1", …
class Sequential : public Module {
 public:
  Sequential(std::initializer_list<AnyModule> modules);
  // In parentheses; one chain alone is copied.
  template <std::derived_from<Module> First, std::derived_from<Module>... More>
  requires(sizeof...(More) > 0 || !std::is_base_of_v<Sequential, First>) explicit Sequential(const First& first,
                                                                                             const More&... more)
      : Sequential({AnyModule(first), AnyModule(more)...}) {}
  Tensor forward(Tensor x) override;

 private:
  std::vector<std::shared_ptr<Module>> modules_;
};

}  // namespace isochron::nn
