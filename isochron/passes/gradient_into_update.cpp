// A gradient that is a product X^T dY and goes into an update alone is never stored: the update takes X and dY and
// applies each block of the product while it is in cache. Such parameters get an update node of their own (attribute
// "product"), whose groups are (parameter, X, slots…, dY).
#include "isochron/passes/known_ops.h"
#include "isochron/passes/rewriter.h"
#include "isochron/passes/rewrites.h"

namespace isochron {
namespace {

class GradientMove {
 public:
  explicit GradientMove(Graph& graph) : graph_(graph), rewriter_(graph), uses_(graph.use_counts()) {}

  void run() {
    const auto count = static_cast<int32_t>(graph_.nodes.size());
    for (int32_t i = 0; i < count; ++i) {
      const GraphNode& node = graph_.nodes[static_cast<size_t>(i)];
      if (node.op && !node.op->updates.empty() && node.attributes.find("shared") && !node.attributes.find("product"))
        split(i);
    }
    rewriter_.finish();
  }

 private:
  // A variable may be overwritten by the very node that would read it as an operand.
  bool is_variable(ValueId v) const {
    while (graph_[v].op == known_ops().reshape) v = graph_[v].inputs[0];
    return !graph_[v].op && graph_[v].role == LeafRole::variable;
  }
  // Measured: storing and reading a gradient costs more than the finer steps of the product only when it leaves the
  // cache and few rows go into each element. One row is an outer product, which is never formed.
  static constexpr int64_t kLargeGradient = 1 << 18, kFewRows = 64;
  bool worth_it(ValueId gradient) const {
    const GraphNode& node = graph_[gradient];
    if (node.op != known_ops().matmul || uses_[static_cast<size_t>(gradient.node)][0] != 1) return false;
    if (!node.attributes.get<bool>("transpose_a") || node.attributes.get<bool>("transpose_b")) return false;
    if (is_variable(node.inputs[0]) || is_variable(node.inputs[1])) return false;
    const TensorSpec& x = graph_.spec(node.inputs[0]);
    if (x.dtype != DType::float32 || x.shape.rank() != 2 || graph_.spec(node.inputs[1]).shape.rank() != 2) return false;
    return x.shape[0] == 1 || (x.shape[0] <= kFewRows && graph_.spec(gradient).shape.elements() >= kLargeGradient);
  }

  void split(int32_t at) {
    const GraphNode& node = graph_.nodes[static_cast<size_t>(at)];
    const auto shared = static_cast<size_t>(node.attributes.get<int64_t>("shared"));
    const size_t results = node.op->updates.size(), group_inputs = results + 1;
    GraphNode parts[2] = {node, node};              // plain gradients, products
    std::vector<std::pair<size_t, size_t>> places;  // by group: part, first output
    for (GraphNode& part : parts) {
      part.inputs = SmallVector<ValueId, 3>(node.inputs.begin(), node.inputs.begin() + shared);
      part.outputs.clear();
    }
    for (size_t first = shared; first < node.inputs.size(); first += group_inputs) {
      const ValueId gradient = node.inputs[first + 1];
      const bool product = worth_it(gradient);
      GraphNode& part = parts[product];
      places.emplace_back(product, part.outputs.size());
      part.inputs.append(node.inputs.begin() + first, node.inputs.begin() + first + group_inputs);
      if (product) {
        part.inputs[part.inputs.size() - group_inputs + 1] = graph_[gradient].inputs[0];
        part.inputs.push_back(graph_[gradient].inputs[1]);
      }
      const size_t output = (first - shared) / group_inputs * results;
      part.outputs.append(node.outputs.begin() + output, node.outputs.begin() + output + results);
    }
    if (parts[1].outputs.empty()) return;
    parts[1].attributes.set("product", true);
    int32_t index[2] = {-1, -1};
    for (const size_t p : {0, 1}) {
      if (parts[p].outputs.empty()) continue;
      index[p] = static_cast<int32_t>(graph_.nodes.size());
      graph_.nodes.push_back(std::move(parts[p]));
    }
    for (size_t g = 0; g < places.size(); ++g)
      for (size_t r = 0; r < results; ++r)
        rewriter_.replace({at, static_cast<int32_t>(g * results + r)},
                          {index[places[g].first], static_cast<int32_t>(places[g].second + r)});
  }

  Graph& graph_;
  Rewriter rewriter_;
  std::vector<SmallVector<int32_t, 1>> uses_;
};

}  // namespace

void move_gradients_into_updates(Graph& graph) { GradientMove(graph).run(); }

}  // namespace isochron
