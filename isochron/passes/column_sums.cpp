// The gradients of a dense layer's kernel, X^T dY, and of its bias, the sums over the rows of dY, in one node: the
// product reads dY anyway.
#include <unordered_map>

#include "isochron/passes/fused_ops.h"
#include "isochron/passes/known_ops.h"
#include "isochron/passes/rewriter.h"
#include "isochron/passes/rewrites.h"

namespace isochron {
namespace {

// Products of fewer rows may go into an update (gradient_into_update), and summing few is cheap.
constexpr int64_t kFewRows = 64;

class ColumnSums {
 public:
  explicit ColumnSums(Graph& graph) : graph_(graph), rewriter_(graph) {}

  void run() {
    const auto count = static_cast<int32_t>(graph_.nodes.size());
    for (int32_t i = 0; i < count; ++i)
      if (is_gradient(graph_.nodes[static_cast<size_t>(i)]))
        products_.try_emplace(key(behind_reshapes(graph_.nodes[static_cast<size_t>(i)].inputs[1])), i);
    if (products_.empty()) return;
    for (int32_t i = 0; i < count; ++i) {
      if (!sums_rows(graph_.nodes[static_cast<size_t>(i)])) continue;
      const auto found = products_.find(key(behind_reshapes(graph_.nodes[static_cast<size_t>(i)].inputs[0])));
      if (found != products_.end() && join(i, found->second)) products_.erase(found);
    }
    rewriter_.finish();
  }

 private:
  static int64_t key(ValueId v) { return int64_t{v.node} << 32 | static_cast<uint32_t>(v.output); }
  ValueId behind_reshapes(ValueId v) const {
    while (graph_[v].op == known_ops().reshape) v = graph_[v].inputs[0];
    return v;
  }
  bool is_gradient(const GraphNode& node) const {
    if (node.op != known_ops().matmul || node.outputs[0].shape.rank() != 2) return false;
    if (!node.attributes.get<bool>("transpose_a") || node.attributes.get<bool>("transpose_b")) return false;
    const TensorSpec& dy = graph_.spec(node.inputs[1]);
    return (dy.dtype == DType::float32 || dy.dtype == DType::float64) && dy.shape[0] > kFewRows;
  }
  // Over all axes but the last.
  bool sums_rows(const GraphNode& node) const {
    if (node.op != known_ops().sum) return false;
    const int rank = graph_.spec(node.inputs[0]).shape.rank();
    const auto& axes = node.attributes.get<std::vector<int64_t>>("axes");
    return rank > 1 && static_cast<int>(axes.size()) == rank - 1 && axes.front() == 0 && axes.back() == rank - 2;
  }

  bool join(int32_t sum, int32_t product) {
    GraphNode& node = graph_.nodes[static_cast<size_t>(product)];
    const TensorSpec& sums = graph_.nodes[static_cast<size_t>(sum)].outputs[0];
    // Operands that come before the sum cannot depend on it.
    if (node.inputs[0].node > sum || node.inputs[1].node > sum) return false;
    if (sums.shape.elements() != node.outputs[0].shape[1]) return false;
    node.op = &matmul_epilogue_op();
    node.attributes.set("activation", std::string("none"));
    node.attributes.set("alpha", 0.0);
    node.attributes.set("pre_activation", false);
    node.attributes.set("column_sums", true);
    node.outputs.push_back({sums.dtype, {sums.shape.elements()}});
    const Shape shape = sums.shape;
    ValueId result{product, 1};
    if (shape.rank() != 1)
      result = rewriter_.add(*known_ops().reshape, {result}, {{"shape", shape.to_vector()}}, {sum, 0});
    rewriter_.replace({sum, 0}, result);
    return true;
  }

  Graph& graph_;
  Rewriter rewriter_;
  std::unordered_map<int64_t, int32_t> products_;  // by what their second operand holds
};

}  // namespace

void sum_columns_with_products(Graph& graph) { ColumnSums(graph).run(); }

}  // namespace isochron
