#include "isochron/optim/fused.h"

#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/update.h"

namespace isochron {

FusedOptimizer::FusedOptimizer(OptimizerOptions options, Method method)
    : Optimizer(std::move(options)),
      method_(std::move(method)),
      nadam_(method_.op == std::string_view("nadam_update")) {
  if (nadam_) global_slot("momentum_product", 1);
}

const char* FusedOptimizer::rmsprop_op(bool centered, bool momentum) {
  if (centered) return momentum ? "rmsprop_centered_momentum_update" : "rmsprop_centered_update";
  return momentum ? "rmsprop_momentum_update" : "rmsprop_update";
}

void FusedOptimizer::begin_update(const Shared& shared) {
  if (!nadam_) return;
  const double beta_1 = method_.attributes.get<double>("beta_1");
  const double momentum_decay = method_.attributes.get<double>("momentum_decay");
  const Variable product = global_slot("momentum_product", 1);
  const Tensor step = cast(shared.step, DType::float64) + 1;
  const Tensor next = product * (beta_1 * (1 - 0.5 * pow(0.96, step * momentum_decay)));
  product.assign(shared.enabled.defined() ? where(shared.enabled, next, product) : next);
}

void FusedOptimizer::update_all(const std::vector<Update>& updates, const Shared& shared) {
  const Op& op = op_named(method_.op);
  std::vector<Tensor> inputs = {shared.learning_rate, shared.step,
                                shared.gradient_scale.defined() ? shared.gradient_scale : constant(1, DType::float64),
                                shared.enabled.defined() ? shared.enabled : constant(1, DType::boolean)};
  if (nadam_) inputs.push_back(global_slot("momentum_product", 1));
  Attributes attributes = method_.attributes;
  attributes.set("shared", static_cast<int64_t>(inputs.size()));
  attributes.set("weight_decay", shared.weight_decay);
  for (const Update& update : updates) {
    inputs.push_back(update.variable);
    inputs.push_back(update.gradient);
    inputs.insert(inputs.end(), update.slots.begin(), update.slots.end());
  }
  const std::vector<Tensor> outputs = apply_many(op, inputs, std::move(attributes));
  size_t output = 0;
  for (const Update& update : updates) {
    update.variable.assign(outputs[output++]);
    for (const Variable& slot : update.slots) slot.assign(outputs[output++]);
  }
}

}  // namespace isochron
