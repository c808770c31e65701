// A gradient that is a product X^T dY and goes into an update alone is never stored: the update takes X and dY and
// applies each block of the product while it is in cache. Such parameters get an update node of their own (attribute
// "product"), whose groups are (parameter, X, slots…, dY).
// Likewise the gradient of a table of which rows were picked: the update takes the indices and the rows' gradients
// (attribute "rows"), so that a step costs the same for a table of any size. Only where rows without a gradient stay as
// they are, or where the table asked for it ("lazy").
#include "isochron/passes/known_ops.h"
#include "isochron/passes/rewriter.h"
#include "isochron/passes/rewrites.h"

namespace isochron {
namespace {

class GradientMove {
 public:
  explicit GradientMove(Graph& graph) : graph_(graph), rewriter_(graph), uses_(graph) {}

  void run() {
    const auto count = static_cast<int32_t>(graph_.nodes.size());
    for (int32_t i = 0; i < count; ++i) {
      const GraphNode& node = graph_.nodes[static_cast<size_t>(i)];
      if (node.op && !node.op->updates.empty() && node.attributes.find("shared") && !node.attributes.find("product") &&
          !node.attributes.find("rows"))
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
    if (node.op != known_ops().matmul || uses_.of(gradient) != 1) return false;
    if (!node.attributes.get<bool>("transpose_a") || node.attributes.get<bool>("transpose_b")) return false;
    if (is_variable(node.inputs[0]) || is_variable(node.inputs[1])) return false;
    const TensorSpec& x = graph_.spec(node.inputs[0]);
    if (x.dtype != DType::float32 || x.shape.rank() != 2 || graph_.spec(node.inputs[1]).shape.rank() != 2) return false;
    return x.shape[0] == 1 || (x.shape[0] <= kFewRows && graph_.spec(gradient).shape.elements() >= kLargeGradient);
  }

  bool is_zero(ValueId v) const {
    const KnownOps& k = known_ops();
    while (graph_[v].op == k.broadcast_to || graph_[v].op == k.reshape) v = graph_[v].inputs[0];
    return graph_[v].op == k.constant && graph_[v].attributes.get<double>("value") == 0;
  }
  // A zero gradient changes neither the parameter nor its state.
  static bool idle_without_gradient(const GraphNode& update) {
    const std::string_view op = update.op->name;
    return (op == "sgd_update" || op == "adagrad_update") && update.attributes.get_or("weight_decay", 0.0) == 0;
  }
  bool is_rows(ValueId gradient, const GraphNode& update) const {
    static const Op& scatter_add = op_named("scatter_add");
    const GraphNode& node = graph_[gradient];
    if (node.op != &scatter_add || uses_.of(gradient) != 1) return false;
    if (node.attributes.get<int64_t>("axis") != 0 || !is_zero(node.inputs[0])) return false;
    if (is_variable(node.inputs[1]) || is_variable(node.inputs[2])) return false;
    return idle_without_gradient(update) || node.attributes.get_or("lazy", false);
  }

  // How a gradient reaches its update.
  enum Kind : size_t { kPlain, kProduct, kRows, kKinds };

  void split(int32_t at) {
    const GraphNode& node = graph_.nodes[static_cast<size_t>(at)];
    const auto shared = static_cast<size_t>(node.attributes.get<int64_t>("shared"));
    const size_t results = node.op->updates.size(), group_inputs = results + 1;
    GraphNode parts[kKinds] = {node, node, node};
    std::vector<std::pair<size_t, size_t>> places;  // by group: part, first output
    for (GraphNode& part : parts) {
      part.inputs = SmallVector<ValueId, 3>(node.inputs.begin(), node.inputs.begin() + shared);
      part.outputs.clear();
    }
    for (size_t first = shared; first < node.inputs.size(); first += group_inputs) {
      const ValueId gradient = node.inputs[first + 1];
      const Kind kind = worth_it(gradient) ? kProduct : is_rows(gradient, node) ? kRows : kPlain;
      GraphNode& part = parts[kind];
      places.emplace_back(kind, part.outputs.size());
      part.inputs.append(node.inputs.begin() + first, node.inputs.begin() + first + group_inputs);
      if (kind != kPlain) {
        const size_t skipped = kind == kRows ? 1 : 0;  // scatter_add's first input is the zeros
        part.inputs[part.inputs.size() - group_inputs + 1] = graph_[gradient].inputs[skipped];
        part.inputs.push_back(graph_[gradient].inputs[skipped + 1]);
      }
      const size_t output = (first - shared) / group_inputs * results;
      part.outputs.append(node.outputs.begin() + output, node.outputs.begin() + output + results);
    }
    if (parts[kProduct].outputs.empty() && parts[kRows].outputs.empty()) return;
    parts[kProduct].attributes.set("product", true);
    parts[kRows].attributes.set("rows", true);
    int32_t index[kKinds] = {-1, -1, -1};
    for (size_t p = 0; p < kKinds; ++p) {
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
  UseCounts uses_;
};

}  // namespace

void move_gradients_into_updates(Graph& graph) { GradientMove(graph).run(); }

}  // namespace isochron
