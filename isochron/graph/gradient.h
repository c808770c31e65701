// Reverse-mode differentiation on pending nodes. The result is pending nodes again, so it can be
// differentiated once more and is compiled into the same plan as everything else.
#pragma once

#include <span>
#include <vector>

#include "isochron/ops/op.h"

namespace isochron {

// StateError when the history of a value was too long to be kept.
void check_history(const Node& node);

// d(sum over targets of target * seed) / d(source) for each source; undefined where a source has no influence.
// A seed may be undefined: ones. StateError when a target's history was released; ValueError when a path runs
// through an op that has no gradient and is neither constant nor bool.
// `end_at_sources`: what lies below a source is not looked at.
std::vector<Tensor> gradients(std::span<const Tensor> targets, std::span<const Tensor> seeds,
                              std::span<const Tensor> sources, bool end_at_sources = false);

// d(target)/d(variable) for every variable below it, by the variable's id, in a fixed order.
struct VariableGradient {
  uint64_t variable;
  Tensor gradient;
};
std::vector<VariableGradient> variable_gradients(const Tensor& target, const Tensor& seed = {});

}  // namespace isochron
