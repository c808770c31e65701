#include "isochron/passes/fused_ops.h"

namespace isochron {
namespace {

constexpr const char* kAfterwards = "it is made after gradients are";

// The body and the pass that made it fix the outputs, so nobody asks this rule.
Specs as_the_pass_says(const RuleContext& c) {
  throw InternalError("a fused node with a body", __FILE__, __LINE__, std::string(c.op));
}

Cost body_cost(const RuleContext& c, std::span<const TensorSpec> outputs) {
  Cost cost;
  int64_t elements = 0;
  for (const TensorSpec& input : c.inputs) {
    cost.bytes += static_cast<double>(input.bytes());
    elements = std::max(elements, input.shape.elements());
  }
  for (const TensorSpec& output : outputs) {
    cost.bytes += static_cast<double>(output.bytes());
    elements = std::max(elements, output.shape.elements());
  }
  cost.flops = static_cast<double>(elements * c.attributes.get<int64_t>("steps"));
  return cost;
}

const Op& kFused = register_op({.name = "fused",
                                .doc = "Elementwise ops done in one pass over the elements.",
                                .arity = -1,
                                .rule = as_the_pass_says,
                                .no_gradient = kAfterwards,
                                .cost = body_cost});

const Op& kFusedReduce = register_op({.name = "fused_reduce",
                                      .doc = "Elementwise ops and a reduction of the last one, in one pass.",
                                      .arity = -1,
                                      .rule = as_the_pass_says,
                                      .no_gradient = kAfterwards,
                                      .cost = body_cost});

const Op& kMatmulEpilogue =
    register_op({.name = "matmul_epilogue",
                 .doc = "Matrix product with bias and activation applied while its blocks are in cache.",
                 .arity = -1,
                 .rule = [](const RuleContext& c) -> Specs {
                   const TensorSpec product = infer(op_named("matmul"), c.inputs.first(2), c.attributes)[0];
                   if (c.attributes.get<bool>("pre_activation")) return {product, product};
                   return {product};
                 },
                 .no_gradient = kAfterwards,
                 .cost = [](const RuleContext& c, std::span<const TensorSpec> outputs) -> Cost {
                   return cost_of(op_named("matmul"), c.inputs.first(2), outputs, c.attributes);
                 }});

}  // namespace

const Op& fused_op() { return kFused; }
const Op& fused_reduce_op() { return kFusedReduce; }
const Op& matmul_epilogue_op() { return kMatmulEpilogue; }

}  // namespace isochron
