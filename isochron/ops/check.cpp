#include "isochron/ops/check.h"

#include "isochron/ops/op.h"

namespace isochron {
namespace {

const Op& kCheckFinite = register_op({.name = "check_finite",
                                      .doc = "x, or an error when it holds a NaN or an infinity.",
                                      .arity = 1,
                                      .rule = [](const RuleContext& c) -> Specs {
                                        if (!is_floating(c.dtype()))
                                          fail<DTypeError>(c.op, "needs a floating tensor, got {}", c.dtype());
                                        return {c[0]};
                                      },
                                      .gradient = [](const GradientContext& g) -> Gradients { return {g.grad()}; }});

}  // namespace

Tensor check_finite(const Operand& x, const std::string& what) {
  return apply(kCheckFinite, {x.tensor()}, {{"what", what}}, x.where());
}

}  // namespace isochron
