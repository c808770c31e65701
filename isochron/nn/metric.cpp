#include "isochron/nn/metric.h"

#include <cstring>

#include "isochron/exec/variables.h"
#include "isochron/nn/initializers.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/reduce.h"

namespace isochron {

Variable Metric::add_variable(const std::string& variable_name, const Shape& shape) {
  variables_.emplace_back(initializers::zeros()(shape),
                          VariableOptions{.name = name_ + "/" + variable_name, .trainable = false});
  return variables_.back();
}

void Metric::reset() {
  for (const Variable& variable : variables_) {
    variable.eval();
    std::memset(writable_bytes(*variable.state()), 0, static_cast<size_t>(variable.spec().bytes()));
    bytes_overwritten(*variable.state());
  }
}

Mean::Mean(std::string name) : Metric(std::move(name)), total_(add_variable("total")), count_(add_variable("count")) {}

void Mean::update(const Tensor&, const Tensor& y_pred, const Tensor& weight) { add(y_pred, weight); }

void Mean::add(const Tensor& values, const Tensor& weight) {
  const Tensor v = cast(values, DType::float32);
  if (weight.defined()) {
    const Tensor w = cast(weight, DType::float32);
    total_.assign_add(sum(v * w));
    count_.assign_add(sum(w));
  } else {
    total_.assign_add(sum(v));
    count_.assign_add(constant(static_cast<double>(v.elements())));
  }
}

Tensor Mean::result() const { return total_ / where(count_ > 0, count_, 1); }

}  // namespace isochron
