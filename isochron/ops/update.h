// Updates of parameters by their gradients: one op per method, one node for all parameters of a model.
//
//   std::vector<Tensor> in = {learning_rate, step, gradient_scale, enabled, w, dw, w_m, w_v, b, db, b_m, b_v};
//   std::vector<Tensor> out = apply_many(op_named("adam_update"), in, {{"shared", int64_t{4}}, {"beta_1", 0.9}, …});
//   // out: w, w_m, w_v, b, b_m, b_v; each takes the place of the input it is the new value of
//
// The shared inputs come first, then one group (parameter, gradient, slots…) per parameter. All parameters of a node
// have one dtype, float32 or float64. Numbers that do not change are attributes (doubles): beta_1, beta_2, epsilon,
// weight_decay, dampening, momentum_decay; flags (bools): nesterov, pytorch, coupled_decay. kernels/optimizer/update.h
// has the formulas.
//
// With product=true (a pass sets it) a group is (parameter, x, slots…, dy) and its gradient is x^T dy. With rows=true
// it is (parameter, indices, slots…, dy): dy holds the gradients of the rows at the indices, which may repeat, and the
// other rows are left alone.
#pragma once

#include <span>
#include <vector>

#include "isochron/ops/op.h"

namespace isochron {

// The scalars every update op takes, in this order.
enum UpdateShared : int64_t {
  kUpdateLearningRate,   // float32 or float64
  kUpdateStep,           // int64: updates made before this one
  kUpdateGradientScale,  // float32 or float64: gradients are multiplied by it
  kUpdateEnabled,        // bool: when false nothing changes
  kUpdateSharedInputs,
  kUpdateMomentumProduct = kUpdateSharedInputs,  // float64, of nadam_update alone: Nesterov's decays multiplied up
};

// How the op named so keeps its state.
struct UpdateFamily {
  const char* op;
  const char* doc;
  int slots;
  int64_t shared = kUpdateSharedInputs;
};
std::span<const UpdateFamily> update_families();

}  // namespace isochron
