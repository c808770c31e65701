// Gradients of pooling carry as many numbers as there are windows, spread over all inputs; what is done to each of them
// is done before they are spread:
//   where(x > 0, max_pool_backward(d, x), 0)  =  max_pool_backward(where(max_pool(x) > 0, d, 0), x)
//   sum of max_pool_backward(d, x) over all axes but the channels  =  that of d
#include <numeric>

#include "isochron/passes/constants.h"
#include "isochron/passes/known_ops.h"
#include "isochron/passes/rewrites.h"

namespace isochron {
namespace {

using Result = std::optional<ValueId>;

const Op* max_pool_backward() {
  static const Op* op = &op_named("max_pool_backward");
  return op;
}

Result mask_before(Rewriter& r, ValueId v) {
  const KnownOps& k = known_ops();
  const GraphNode& node = r.graph[v];
  const GraphNode &mask = r.graph[node.inputs[0]], &spread = r.graph[node.inputs[1]];
  if (spread.op != max_pool_backward() || mask.op != k.greater || splat_of(r.graph, node.inputs[2]) != 0.0)
    return std::nullopt;
  const ValueId gradient = spread.inputs[0], x = spread.inputs[1];
  if (mask.inputs[0] != x || splat_of(r.graph, mask.inputs[1]) != 0.0) return std::nullopt;
  if (node.outputs[0] != r.graph.spec(x)) return std::nullopt;
  const Attributes windows = spread.attributes;
  const ValueId zero = add_splat(r, 0, {r.graph.spec(x).dtype, {}}, v);
  const ValueId pooled = r.add(op_named("max_pool"), {x}, windows, v);
  const ValueId kept = r.add(*k.where, {r.add(*k.greater, {pooled, zero}, {}, v), gradient, zero}, {}, v);
  return r.add(*max_pool_backward(), {kept, x}, windows, v);
}

Result sum_before(Rewriter& r, ValueId v) {
  const GraphNode& node = r.graph[v];
  const GraphNode& spread = r.graph[node.inputs[0]];
  if (spread.op != max_pool_backward()) return std::nullopt;
  std::vector<int64_t> all(static_cast<size_t>(spread.outputs[0].shape.rank() - 1));
  std::iota(all.begin(), all.end(), 0);
  if (node.attributes.get<std::vector<int64_t>>("axes") != all) return std::nullopt;
  return r.add(*known_ops().sum, {spread.inputs[0]}, node.attributes, v);
}

Result rule(Rewriter& r, ValueId v) {
  const Op* op = r.graph[v].op;
  if (op == known_ops().where) return mask_before(r, v);
  if (op == known_ops().sum) return sum_before(r, v);
  return std::nullopt;
}

}  // namespace

void shrink_pooling_gradients(Graph& graph) { rewrite(graph, rule); }

}  // namespace isochron
