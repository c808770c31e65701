#include "isochron/ops/update.h"

namespace isochron {
namespace {

constexpr UpdateFamily kFamilies[] = {
    {"sgd_update", "Gradient descent.", 0},
    {"sgd_momentum_update", "Gradient descent with momentum, plain or Nesterov's.", 1},
    {"rmsprop_update", "RMSprop.", 1},
    {"rmsprop_momentum_update", "RMSprop with momentum.", 2},
    {"rmsprop_centered_update", "RMSprop that subtracts the mean gradient.", 2},
    {"rmsprop_centered_momentum_update", "RMSprop that subtracts the mean gradient, with momentum.", 3},
    {"adam_update", "Adam, and AdamW when decay is not coupled.", 2},
    {"amsgrad_update", "Adam that divides by the largest second moment seen.", 3},
    {"adamax_update", "Adam with the infinity norm.", 2},
    {"nadam_update", "Adam with Nesterov's momentum.", 2, kUpdateMomentumProduct + 1},
    {"radam_update", "Adam whose first steps wait for second moments that can be trusted.", 2},
    {"adagrad_update", "Adagrad.", 1},
    {"adadelta_update", "Adadelta.", 2},
    {"lion_update", "Lion: steps of one size in the direction of the momentum's sign.", 1},
};

bool computes_in(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

void check_shared(const RuleContext& c, int64_t shared) {
  constexpr const char* names[] = {"learning rate", "step", "gradient scale", "enabled", "momentum product"};
  for (int64_t i = 0; i < shared; ++i) {
    const TensorSpec& spec = c[static_cast<size_t>(i)];
    const bool fits = i == kUpdateStep      ? spec.dtype == DType::int64
                      : i == kUpdateEnabled ? spec.dtype == DType::boolean
                                            : computes_in(spec.dtype);
    if (spec.shape.rank() != 0 || !fits) fail<DTypeError>(c.op, "{} can't be {}", names[i], to_string(spec));
  }
}

// A gradient in two parts takes the place of one: X and dY of a product, or the indices and values of rows.
bool in_parts(const RuleContext& c) {
  return c.attributes.get_or("product", false) || c.attributes.get_or("rows", false);
}
template <size_t slots>
size_t group_inputs(const RuleContext& c) {
  return 2 + slots + (in_parts(c) ? 1 : 0);
}

template <size_t slots>
Specs updated_specs(const RuleContext& c) {
  const size_t group = group_inputs<slots>(c);
  const int64_t shared = c.attributes.get<int64_t>("shared");
  ISO_CHECK(c.inputs.size() > static_cast<size_t>(shared) &&
            (c.inputs.size() - static_cast<size_t>(shared)) % group == 0);
  check_shared(c, shared);
  Specs outputs;
  const DType dtype = c.dtype(static_cast<size_t>(shared));
  for (size_t at = static_cast<size_t>(shared); at < c.inputs.size(); at += group) {
    const TensorSpec& parameter = c[at];
    if (!computes_in(parameter.dtype))
      fail<DTypeError>(c.op,
                       "parameters must be float32 or float64, got {}; keep a float32 copy of the weights and cast it "
                       "where it is used",
                       parameter.dtype);
    if (parameter.dtype != dtype)
      fail<DTypeError>(c.op, "all parameters of one update need one dtype, got {} and {}", dtype, parameter.dtype);
    for (size_t i = in_parts(c) ? 2 : 1; i < 2 + slots; ++i)
      if (c[at + i] != parameter)
        fail<ShapeError>(c.op, "the {} of a {} parameter must be like it, got {}", i == 1 ? "gradient" : "state",
                         to_string(parameter), to_string(c[at + i]));
    for (size_t i = 0; i < 2 + slots; ++i)
      if (i != 1) outputs.push_back(parameter);
  }
  return outputs;
}

// An operation for each element written, and what its gradient takes where the update works it out.
template <size_t slots>
Cost update_cost(const RuleContext& c, std::span<const TensorSpec>) {
  const size_t group = group_inputs<slots>(c);
  const bool product = c.attributes.get_or("product", false), rows = c.attributes.get_or("rows", false);
  Cost cost;
  for (size_t at = static_cast<size_t>(c.attributes.get<int64_t>("shared")); at < c.inputs.size(); at += group) {
    const TensorSpec &gradient = c[at + 1], &last = c[at + group - 1];
    // Of a table only the rows that were picked are touched, each value of their gradient once.
    const auto elements = static_cast<double>((rows ? last : c[at]).shape.elements());
    cost.flops += elements * (1 + slots);
    cost.bytes += 2 * elements * (1 + slots) * static_cast<double>(size_of(c[at].dtype));
    cost.bytes += static_cast<double>(gradient.bytes() + (in_parts(c) ? last.bytes() : 0));
    if (product) cost.flops += 2 * elements * static_cast<double>(gradient.shape[0]);
  }
  return cost;
}

[[maybe_unused]] const bool kRegistered = [] {
  constexpr Specs (*rules[])(const RuleContext&) = {updated_specs<0>, updated_specs<1>, updated_specs<2>,
                                                    updated_specs<3>};
  constexpr Cost (*costs[])(const RuleContext&, std::span<const TensorSpec>) = {update_cost<0>, update_cost<1>,
                                                                                update_cost<2>, update_cost<3>};
  for (const UpdateFamily& family : kFamilies) {
    std::vector<int> updates = {0};
    for (int slot = 0; slot < family.slots; ++slot) updates.push_back(2 + slot);
    register_op({.name = family.op,
                 .doc = family.doc,
                 .arity = -1,
                 .rule = rules[family.slots],
                 .no_gradient = "it overwrites its parameters; differentiate through a step written with plain ops",
                 .updates = updates,
                 .cost = costs[family.slots]});
  }
  return true;
}();

}  // namespace

std::span<const UpdateFamily> update_families() { return kFamilies; }

}  // namespace isochron
