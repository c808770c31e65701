// The ops that passes look for, by name, looked up once.
#pragma once

#include "isochron/ops/op.h"

namespace isochron {

struct KnownOps {
// clang-format off
#define ISO_KNOWN_OPS(X)                                                                                              \
  X(abs)                                                                                                              \
  X(add)                                                                                                              \
  X(broadcast_to)                                                                                                     \
  X(cast)                                                                                                             \
  X(conv)                                                                                                             \
  X(ceil) X(concat) X(constant) X(div) X(elu) X(equal) X(floor) X(gelu) X(greater) X(greater_equal) X(leaky_relu)     \
      X(less) X(less_equal) X(logical_and) X(logical_not) X(logical_or) X(logical_xor) X(matmul) X(max) X(maximum)    \
          X(mean) X(min) X(minimum) X(mul) X(neg) X(not_equal) X(pad) X(pow) X(prod) X(recompute) X(reciprocal) X(relu) X(reshape) \
              X(round) X(rsqrt) X(selu) X(sigmoid) X(sign) X(silu) X(slice) X(softplus) X(sqrt) X(square)             \
                  X(stop_gradient) X(sub) X(sum) X(tanh) X(transpose) X(where)
// clang-format on
#define ISO_KNOWN_OP(name) const Op* name = &op_named(#name);
  ISO_KNOWN_OPS(ISO_KNOWN_OP)
#undef ISO_KNOWN_OP
#undef ISO_KNOWN_OPS
  const Op* assign = find_op("assign");
};

inline const KnownOps& known_ops() {
  static const KnownOps ops;
  return ops;
}

}  // namespace isochron
