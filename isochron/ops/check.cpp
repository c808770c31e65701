#include "isochron/ops/check.h"

#include "isochron/ops/op.h"

namespace isochron {
namespace {

// Attribute "what": a line for each input.
const Op& kCheckFinite = register_op({.name = "check_finite",
                                      .doc = "x, or an error when it holds a NaN or an infinity.",
                                      .arity = -1,
                                      .rule = [](const RuleContext& c) -> Specs {
                                        for (const TensorSpec& input : c.inputs)
                                          if (!is_floating(input.dtype))
                                            fail<DTypeError>(c.op, "needs a floating tensor, got {}", input.dtype);
                                        return {c[0]};
                                      },
                                      .gradient = [](const GradientContext& g) -> Gradients {
                                        Gradients out(g.inputs());
                                        out[0] = g.grad();
                                        return out;
                                      }});

}  // namespace

Tensor check_finite(const Operand& x, const std::string& what, const std::vector<Watched>& also) {
  std::vector<Tensor> inputs{x.tensor()};
  std::string names = what;
  for (const Watched& watched : also) {
    inputs.push_back(watched.tensor);
    names += '\n' + watched.what;
  }
  return apply(kCheckFinite, inputs, {{"what", names}}, x.where());
}

}  // namespace isochron
