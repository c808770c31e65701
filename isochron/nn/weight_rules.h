// What weights are held to: penalties that pull on them (regularisers) and limits put on them after each update
// (constraints).
//
//   Dense(64, {.kernel_regularizer = l2(1e-4), .kernel_constraint = max_norm(3)});
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "isochron/base/options.h"
#include "isochron/tensor/tensor.h"

namespace isochron {

class Config;  // config.h

struct PenaltyOptions {
  double l1 = 0;
  double l2 = 0;
};
ISO_OPTIONS(PenaltyOptions, l1, l2)
struct NormOptions {
  double least = 0;
  double most = 1;
  double rate = 1;
  int64_t axis = 0;
};
ISO_OPTIONS(NormOptions, least, most, rate, axis)

// The penalty of a weight, a scalar; empty: none. By name: "l1", "l2", "l1_l2" with Keras' factor 0.01.
struct Regularizer {
  std::function<Tensor(const Tensor&)> penalty;
  std::shared_ptr<const Config> recipe;
  Regularizer() = default;
  // `recipe` says how to make it again (named_recipe()); without one it can't be saved with a model.
  Regularizer(std::function<Tensor(const Tensor&)> f, std::shared_ptr<const Config> how = {})
      : penalty(std::move(f)), recipe(std::move(how)) {}
  Regularizer(const char* name);  // nullptr: none
  explicit operator bool() const { return static_cast<bool>(penalty); }
};
Regularizer l1(double factor = 0.01);
Regularizer l2(double factor = 0.01);
Regularizer l1_l2(double l1_factor = 0.01, double l2_factor = 0.01);

// The weight as it should be after an update; empty: as it is. By name: "max_norm", "non_neg", "unit_norm",
// "min_max_norm".
struct Constraint {
  std::function<Tensor(const Tensor&)> project;
  std::shared_ptr<const Config> recipe;
  Constraint() = default;
  Constraint(std::function<Tensor(const Tensor&)> f, std::shared_ptr<const Config> how = {})
      : project(std::move(f)), recipe(std::move(how)) {}
  Constraint(const char* name);  // nullptr: as it is
  explicit operator bool() const { return static_cast<bool>(project); }
};
Constraint max_norm(double most = 2, int64_t axis = 0);
Constraint non_neg();
Constraint unit_norm(int64_t axis = 0);
Constraint min_max_norm(double least = 0, double most = 1, double rate = 1, int64_t axis = 0);

}  // namespace isochron
