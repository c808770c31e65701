// Numbers computed while compiling. Tensors of one number stay symbolic: broadcast_to(constant).
#include "isochron/passes/constants.h"
#include "isochron/passes/known_ops.h"
#include "isochron/passes/rewrites.h"

namespace isochron {
namespace {

std::optional<ValueId> fold_node(Rewriter& r, ValueId v) {
  const KnownOps& k = known_ops();
  const GraphNode& node = r.graph[v];
  const TensorSpec spec = node.outputs[0];
  if (node.op == k.constant || node.op == k.broadcast_to || node.inputs.empty()) return std::nullopt;
  SmallVector<double, 3> numbers;
  for (ValueId in : node.inputs) {
    const std::optional<double> number = splat_of(r.graph, in);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  const DType in = r.graph.spec(node.inputs[0]).dtype;
  std::optional<double> result;
  if (node.op == k.reshape || node.op == k.transpose)
    result = numbers[0];
  else if (node.op == k.mean || node.op == k.max || node.op == k.min)
    result = r.graph.spec(node.inputs[0]).shape.elements() ? std::optional(numbers[0]) : std::nullopt;
  else if (node.op == k.where)
    result = numbers[0] != 0 ? numbers[1] : numbers[2];
  else if (node.op->elementwise)
    result = fold(*node.op, numbers, in, spec.dtype);
  if (!result) return std::nullopt;
  return add_splat(r, *result, spec, v);
}

}  // namespace

void fold_constants(Graph& graph) { rewrite(graph, fold_node); }

}  // namespace isochron
