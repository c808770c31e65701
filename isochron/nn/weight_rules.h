// What weights are held to: penalties that pull on them (regularisers) and limits put on them after each update
// (constraints).
//
//   Dense(64, {.kernel_regularizer = l2(1e-4), .kernel_constraint = max_norm(3)});
#pragma once

#include <functional>
#include <string>

#include "isochron/tensor/tensor.h"

namespace isochron {

// The penalty of a weight, a scalar; empty: none. By name: "l1", "l2", "l1_l2" with Keras' factor 0.01.
struct Regularizer {
  std::function<Tensor(const Tensor&)> penalty;
  Regularizer() = default;
  Regularizer(std::function<Tensor(const Tensor&)> f) : penalty(std::move(f)) {}
  Regularizer(const char* name);
  explicit operator bool() const { return static_cast<bool>(penalty); }
};
Regularizer l1(double factor = 0.01);
Regularizer l2(double factor = 0.01);
Regularizer l1_l2(double l1_factor = 0.01, double l2_factor = 0.01);

// The weight as it should be after an update; empty: as it is. By name: "max_norm", "non_neg", "unit_norm",
// "min_max_norm".
struct Constraint {
  std::function<Tensor(const Tensor&)> project;
  Constraint() = default;
  Constraint(std::function<Tensor(const Tensor&)> f) : project(std::move(f)) {}
  Constraint(const char* name);
  explicit operator bool() const { return static_cast<bool>(project); }
};
Constraint max_norm(double most = 2, int64_t axis = 0);
Constraint non_neg();
Constraint unit_norm(int64_t axis = 0);
Constraint min_max_norm(double least = 0, double most = 1, double rate = 1, int64_t axis = 0);

}  // namespace isochron
