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

// A product whose two operands come first, with its results once or, when the values before the activation are kept,
// twice.
template <const char* const& product>
Specs product_specs(const RuleContext& c) {
  const TensorSpec result = infer(op_named(product), c.inputs.first(2), c.attributes)[0];
  if (c.attributes.get<bool>("pre_activation")) return {result, result};
  if (c.attributes.get_or("column_sums", false)) return {result, {result.dtype, {result.shape[-1]}}};
  return {result};
}
template <const char* const& product>
Cost product_cost(const RuleContext& c, std::span<const TensorSpec> outputs) {
  return cost_of(op_named(product), c.inputs.first(2), outputs, c.attributes);
}
constexpr const char* kMatmul = "matmul";
constexpr const char* kConv = "conv";

const Op& kMatmulEpilogue =
    register_op({.name = "matmul_epilogue",
                 .doc = "Matrix product with bias and activation applied while its blocks are in cache.",
                 .arity = -1,
                 .rule = product_specs<kMatmul>,
                 .no_gradient = kAfterwards,
                 .cost = product_cost<kMatmul>});

const Op& kConvEpilogue =
    register_op({.name = "conv_epilogue",
                 .doc = "Convolution with bias and activation applied while its blocks are in cache.",
                 .arity = -1,
                 .rule = product_specs<kConv>,
                 .no_gradient = kAfterwards,
                 .cost = product_cost<kConv>});

}  // namespace

const Op& fused_op() { return kFused; }
const Op& fused_reduce_op() { return kFusedReduce; }
const Op& matmul_epilogue_op() { return kMatmulEpilogue; }
const Op& conv_epilogue_op() { return kConvEpilogue; }

}  // namespace isochron
