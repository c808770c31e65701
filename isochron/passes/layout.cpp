// Moves of elements that need not happen: chains of reshapes, transposes and broadcasts become one or none, a
// transpose goes into the product that reads or makes it, and elementwise ops broadcast by themselves.
#include <algorithm>
#include <numeric>

#include "isochron/passes/constants.h"
#include "isochron/passes/known_ops.h"
#include "isochron/passes/rewrites.h"

namespace isochron {
namespace {

using Ints = std::vector<int64_t>;
using Result = std::optional<ValueId>;

ValueId reshaped(Rewriter& r, ValueId x, const Shape& shape, ValueId like) {
  if (r.graph.spec(x).shape == shape) return x;
  if (r.graph[x].op == known_ops().reshape) return reshaped(r, r.graph[x].inputs[0], shape, like);
  return r.add(*known_ops().reshape, {x}, {{"shape", shape.to_vector()}}, like);
}

Result drop_reshape(Rewriter& r, ValueId v, ValueId x, const Shape& shape) {
  if (r.graph.spec(x).shape == shape) return x;
  if (r.graph[x].op != known_ops().reshape) return std::nullopt;
  return reshaped(r, x, shape, v);
}

Result drop_broadcast(Rewriter& r, ValueId v, ValueId x, const Shape& shape) {
  const Shape from = r.graph.spec(x).shape;
  if (from == shape) return x;
  // A constant stays what passes know as a tensor of one number.
  const bool moves_nothing = from.elements() == shape.elements() && from.elements() > 0;
  if (moves_nothing && r.graph[x].op != known_ops().constant) return reshaped(r, x, shape, v);
  if (r.graph[x].op != known_ops().broadcast_to) return std::nullopt;
  return r.add(*known_ops().broadcast_to, {r.graph[x].inputs[0]}, {{"shape", shape.to_vector()}}, v);
}

bool swaps_last_two(const Ints& order) {
  const size_t n = order.size();
  if (n < 2) return false;
  for (size_t i = 0; i + 2 < n; ++i)
    if (order[i] != static_cast<int64_t>(i)) return false;
  return order[n - 2] == static_cast<int64_t>(n - 1);
}

// Only axes of extent 1 change their place.
bool keeps_order(const Ints& order, const Shape& from) {
  int64_t last = -1;
  for (int64_t axis : order) {
    if (from[static_cast<int>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

Result drop_transpose(Rewriter& r, ValueId v, ValueId x, const Shape& shape) {
  const KnownOps& k = known_ops();
  const Ints order = r.graph[v].attributes.get<Ints>("permutation");
  if (keeps_order(order, r.graph.spec(x).shape)) return reshaped(r, x, shape, v);
  const GraphNode& inner = r.graph[x];
  if (inner.op == k.transpose) {
    const Ints& first = inner.attributes.get<Ints>("permutation");
    Ints both;
    for (int64_t axis : order) both.push_back(first[static_cast<size_t>(axis)]);
    return r.add(*k.transpose, {inner.inputs[0]}, {{"permutation", std::move(both)}}, v);
  }
  return std::nullopt;
}

Result absorb_transposes(Rewriter& r, ValueId v) {
  const KnownOps& k = known_ops();
  const GraphNode& node = r.graph[v];
  ValueId operands[] = {node.inputs[0], node.inputs[1]};
  bool flags[] = {node.attributes.get<bool>("transpose_a"), node.attributes.get<bool>("transpose_b")};
  bool changed = false;
  for (int i = 0; i < 2; ++i) {
    const GraphNode& in = r.graph[operands[i]];
    if (in.op != k.transpose || !swaps_last_two(in.attributes.get<Ints>("permutation"))) continue;
    operands[i] = in.inputs[0];
    flags[i] = !flags[i];
    changed = true;
  }
  if (!changed) return std::nullopt;
  return r.add(*k.matmul, {operands[0], operands[1]}, {{"transpose_a", flags[0]}, {"transpose_b", flags[1]}}, v);
}

// Over axes of extent 1, or along which a broadcast repeats its operand.
Result drop_reduction(Rewriter& r, ValueId v, ValueId x, const TensorSpec& spec) {
  const KnownOps& k = known_ops();
  const Op* op = r.graph[v].op;
  const Shape from = r.graph.spec(x).shape;
  if (from.elements() == spec.shape.elements() && from.elements() > 0) return reshaped(r, x, spec.shape, v);
  if (r.graph[x].op != k.broadcast_to || op == k.prod || from.elements() == 0) return std::nullopt;
  const ValueId source = r.graph[x].inputs[0];
  const Shape small = r.graph.spec(source).shape;
  const Ints axes = r.graph[v].attributes.get<Ints>("axes");
  const int extra = from.rank() - small.rank();
  for (int i = 0; i < from.rank(); ++i) {
    const bool repeated = i < extra || small[i - extra] != from[i];
    if (repeated != std::binary_search(axes.begin(), axes.end(), i) && from[i] != 1) return std::nullopt;
  }
  const ValueId kept = reshaped(r, source, spec.shape, v);
  if (op != k.sum) return kept;
  const double count = static_cast<double>(from.elements() / std::max<int64_t>(spec.shape.elements(), 1));
  return r.add(*k.mul, {kept, add_splat(r, count, {spec.dtype, {}}, v)}, {}, v);
}

// Operands that were broadcast before an op that does it anyway.
void read_through_broadcasts(Rewriter& r, GraphNode& node) {
  const KnownOps& k = known_ops();
  const Graph& graph = r.graph;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (graph[node.inputs[i]].op != k.broadcast_to) continue;
    const ValueId source = graph[node.inputs[i]].inputs[0];
    Shape shape = graph.spec(source).shape;
    for (size_t j = 0; j < node.inputs.size(); ++j)
      if (j != i) shape = broadcast(node.op->name, shape, graph.spec(node.inputs[j]).shape);
    if (shape != node.outputs[0].shape) continue;
    node.inputs[i] = source;
    r.edited = true;
  }
}

Result drop_moves(Rewriter& r, ValueId v) {
  const KnownOps& k = known_ops();
  GraphNode& node = r.graph[v];
  const Op* op = node.op;
  if (node.inputs.empty()) return std::nullopt;
  const ValueId x = node.inputs[0];
  const TensorSpec spec = node.outputs[0];
  if (op == k.reshape) return drop_reshape(r, v, x, spec.shape);
  if (op == k.broadcast_to) return drop_broadcast(r, v, x, spec.shape);
  if (op == k.transpose) return drop_transpose(r, v, x, spec.shape);
  if (op == k.matmul) return absorb_transposes(r, v);
  if (op == k.sum || op == k.mean || op == k.max || op == k.min || op == k.prod) return drop_reduction(r, v, x, spec);
  if (op == k.concat && node.inputs.size() == 1) return x;
  if (op == k.slice || op == k.pad) {
    if (r.graph.spec(x).shape != spec.shape) return std::nullopt;
    // A slice of the whole shape may still go backwards.
    if (op == k.pad) return x;
    const Ints& step = node.attributes.get<Ints>("step");
    if (std::all_of(step.begin(), step.end(), [](int64_t s) { return s == 1; })) return x;
    return std::nullopt;
  }
  if (op->elementwise && node.inputs.size() > 1) read_through_broadcasts(r, node);
  return std::nullopt;
}

}  // namespace

void choose_layout(Graph& graph) { rewrite(graph, drop_moves); }

}  // namespace isochron
