// activation(a b + bias) as one node, so that the blocks of a matrix product or a convolution are finished while they
// are in cache. Values that others still need before the activation become a second output. A matrix that is added to a
// matrix product (a residual sum, the gradients that meet in a value) is added there as well, and the gradient of relu
// lets the product through where relu did.
#include "isochron/passes/constants.h"
#include "isochron/passes/fused_ops.h"
#include "isochron/passes/known_ops.h"
#include "isochron/passes/rewriter.h"
#include "isochron/passes/rewrites.h"

namespace isochron {
namespace {

bool is_activation(const Op* op) {
  const KnownOps& k = known_ops();
  for (const Op* known : {k.relu, k.sigmoid, k.tanh, k.leaky_relu, k.elu, k.selu, k.gelu, k.silu, k.softplus})
    if (op == known) return true;
  return false;
}

std::string activation_name(const GraphNode& node) {
  if (node.op != known_ops().gelu) return node.op->name;
  return node.attributes.get<bool>("approximate") ? "gelu_tanh" : "gelu_erf";
}

class EpiloguePass {
 public:
  explicit EpiloguePass(Graph& graph) : graph_(graph), rewriter_(graph), uses_(graph) {}

  void run() {
    const auto count = static_cast<int32_t>(graph_.nodes.size());
    for (int32_t i = 0; i < count; ++i) {
      rewriter_.refresh(graph_.nodes[static_cast<size_t>(i)]);
      const GraphNode& node = graph_.nodes[static_cast<size_t>(i)];
      if (node.op == known_ops().add)
        add_bias(i) || add_residual(i);
      else if (node.op == known_ops().where)
        add_gate(i);
      else if (node.op && is_activation(node.op))
        add_activation(i);
    }
    rewriter_.finish();
  }

 private:
  int32_t uses(ValueId v) const { return uses_.of(v); }
  bool is_product(ValueId v) const {
    const DType dtype = graph_.spec(v).dtype;
    const Op* op = graph_[v].op;
    return (op == known_ops().matmul || op == known_ops().conv) && (dtype == DType::float32 || dtype == DType::float64);
  }
  // One number for each column of the product.
  bool is_row(ValueId bias, const Shape& product) const {
    const Shape& shape = graph_.spec(bias).shape;
    return shape.rank() >= 1 && shape[-1] == product[-1] && shape.elements() == product[-1];
  }

  bool add_bias(int32_t at) {
    const GraphNode& node = graph_.nodes[static_cast<size_t>(at)];
    for (size_t side = 0; side < 2; ++side) {
      const ValueId product = node.inputs[side], bias = node.inputs[1 - side];
      if (!is_product(product) || uses(product) != 1) continue;
      if (graph_.spec(product).shape != node.outputs[0].shape || !is_row(bias, node.outputs[0].shape)) continue;
      SmallVector<ValueId, 3> inputs = graph_[product].inputs;
      inputs.push_back(bias);
      epilogue(at, graph_[product], std::move(inputs), "none", 0, false);
      return true;
    }
    return false;
  }

  // A matrix product, maybe with a bias, that nobody else reads and to which nothing has been added yet.
  bool takes_residual(ValueId v) const {
    const GraphNode& node = graph_[v];
    if (node.outputs.size() != 1 || uses(v) != 1) return false;  // an output added by this pass has no count
    if (node.op == known_ops().matmul) return is_product(v);
    return node.op == &matmul_epilogue_op() && node.attributes.get<std::string>("activation") == "none" &&
           !node.attributes.find("residual") && !node.attributes.find("gate");
  }

  bool add_residual(int32_t at) {
    const Shape shape = graph_.nodes[static_cast<size_t>(at)].outputs[0].shape;
    for (size_t side : {1, 0}) {
      const SmallVector<ValueId, 3>& operands = graph_.nodes[static_cast<size_t>(at)].inputs;
      ValueId product = operands[side], residual = operands[1 - side];
      if (graph_.spec(product).shape != shape || graph_.spec(residual).shape != shape) continue;
      const bool reshaped = graph_[product].op == known_ops().reshape && uses(product) == 1;
      if (reshaped) product = graph_[product].inputs[0];
      if (!uses_.knows(product.node) || !takes_residual(product)) continue;
      if (!reshaped) {
        SmallVector<ValueId, 3> inputs = graph_[product].inputs;
        inputs.push_back(residual);
        epilogue(at, graph_[product], std::move(inputs), "none", 0, false);
        graph_.nodes[static_cast<size_t>(at)].attributes.set("residual", true);
        return true;
      }
      // The sum is taken in the product's own shape, and node `at` becomes the reshape.
      const Attributes own{{"shape", graph_.spec(product).shape.to_vector()}};
      residual = rewriter_.add(*known_ops().reshape, {residual}, own, {at, 0});
      GraphNode sum = graph_[product];
      sum.inputs.push_back(residual);
      const auto added = static_cast<int32_t>(graph_.nodes.size());
      graph_.nodes.push_back(std::move(sum));
      epilogue(added, graph_[product], graph_.nodes.back().inputs, "none", 0, false);
      graph_.nodes.back().attributes.set("residual", true);
      GraphNode& node = graph_.nodes[static_cast<size_t>(at)];
      node.op = known_ops().reshape;
      node.attributes = Attributes{{"shape", shape.to_vector()}};
      node.inputs = {ValueId{added, 0}};
      return true;
    }
    return false;
  }

  // where(y > 0, product, 0). The gradients of few rows are summed over them in one pass with this instead.
  void add_gate(int32_t at) {
    constexpr int64_t kFewRows = 64;
    const GraphNode& node = graph_.nodes[static_cast<size_t>(at)];
    const ValueId condition = node.inputs[0], product = node.inputs[1];
    const Shape& shape = node.outputs[0].shape;
    if (graph_[condition].op != known_ops().greater || splat_of(graph_, graph_[condition].inputs[1]) != 0.0 ||
        splat_of(graph_, node.inputs[2]) != 0.0)
      return;
    const ValueId gate = graph_[condition].inputs[0];
    if (graph_[product].op != known_ops().matmul || !is_product(product) || uses(product) != 1) return;
    if (graph_.spec(product).shape != shape || graph_.spec(gate) != graph_.spec(product)) return;
    if (shape.elements() <= kFewRows * shape[-1]) return;
    SmallVector<ValueId, 3> inputs = graph_[product].inputs;
    inputs.push_back(gate);
    epilogue(at, graph_[product], std::move(inputs), "none", 0, false);
    graph_.nodes[static_cast<size_t>(at)].attributes.set("gate", true);
  }

  void add_activation(int32_t at) {
    const GraphNode& node = graph_.nodes[static_cast<size_t>(at)];
    const ValueId before = node.inputs[0];
    const GraphNode& source = graph_[before];
    const bool biased = (source.op == &matmul_epilogue_op() || source.op == &conv_epilogue_op()) &&
                        source.outputs.size() == 1 && source.attributes.get<std::string>("activation") == "none" &&
                        !source.attributes.find("gate");
    if (!biased && !is_product(before)) return;
    const bool kept = uses(before) > 1;
    epilogue(at, source, source.inputs, activation_name(node), node.attributes.get_or<double>("alpha", 0), kept);
    if (kept) rewriter_.replace(before, {at, 1});
  }

  // Node `at` becomes the product with its epilogue; its users need not change.
  void epilogue(int32_t at, const GraphNode& product, SmallVector<ValueId, 3> inputs, std::string activation,
                double alpha, bool pre_activation) {
    GraphNode& node = graph_.nodes[static_cast<size_t>(at)];
    const bool is_matmul = product.op == known_ops().matmul || product.op == &matmul_epilogue_op();
    Attributes attributes = product.attributes;
    attributes.set("activation", std::move(activation));
    attributes.set("alpha", alpha);
    attributes.set("pre_activation", pre_activation);
    node.inputs = std::move(inputs);
    rewriter_.edited = true;
    node.op = is_matmul ? &matmul_epilogue_op() : &conv_epilogue_op();
    node.attributes = std::move(attributes);
    if (pre_activation) node.outputs.push_back(node.outputs[0]);
  }

  Graph& graph_;
  Rewriter rewriter_;
  UseCounts uses_;
};

}  // namespace

void fuse_matmul_epilogues(Graph& graph) { EpiloguePass(graph).run(); }

}  // namespace isochron
