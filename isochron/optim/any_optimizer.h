// A handle on any optimizer, for compile(): by name, with its defaults, or an optimizer of any kind.
//
//   model.compile({.optimizer = "adam", …});
//   model.compile({.optimizer = iso::SGD({.learning_rate = 0.1}), …});
//
// Copies of the handle and of the optimizer given to it share their state.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "isochron/optim/optimizer.h"

namespace isochron {

class AnyOptimizer {
 public:
  AnyOptimizer() = default;             // none
  AnyOptimizer(std::nullptr_t) {}       // likewise
  AnyOptimizer(std::string_view name);  // ValueError, with a suggestion, for an unknown one
  AnyOptimizer(const char* name) : AnyOptimizer(std::string_view(name)) {}
  AnyOptimizer(const std::string& name) : AnyOptimizer(std::string_view(name)) {}
  template <class O>
  requires std::is_base_of_v<Optimizer, O> AnyOptimizer(O optimizer)
      : optimizer_(std::make_shared<O>(std::move(optimizer))) {}
  AnyOptimizer(std::shared_ptr<Optimizer> optimizer) : optimizer_(std::move(optimizer)) {}

  explicit operator bool() const { return optimizer_ != nullptr; }
  Optimizer* operator->() const { return optimizer_.get(); }
  Optimizer& operator*() const { return *optimizer_; }

 private:
  std::shared_ptr<Optimizer> optimizer_;
};

}  // namespace isochron
