// What check_finite looks at beside its first input costs as little as it can. A gradient X^T dY is not finite when dY
// is not, and dY is mostly far smaller; where the sum of its rows, a bias gradient, is looked at as well, that tells it
// already. Likewise the rows added into a table of zeros tell of the table. Products of finite factors that overflow
// are not noticed here. This also leaves such gradients to their updates alone (gradient_into_update).
#include <algorithm>
#include <string>
#include <unordered_set>

#include "isochron/passes/known_ops.h"
#include "isochron/passes/rewrites.h"

namespace isochron {
namespace {

struct WatchedInput {
  ValueId value;
  std::string what;
};

class WatchedFactors {
 public:
  explicit WatchedFactors(Graph& graph) : graph_(graph) {}

  void run() {
    static const Op& check = op_named("check_finite");
    bool shrunk = false;
    for (GraphNode& node : graph_.nodes) {
      if (node.op != &check || node.inputs.size() <= 1) continue;
      shrink(node);
      shrunk = true;
    }
    if (shrunk) graph_.topological_sort();
  }

 private:
  ValueId behind_reshapes(ValueId v) const {
    while (graph_[v].op == known_ops().reshape) v = graph_[v].inputs[0];
    return v;
  }

  // What is looked at in place of a gradient.
  ValueId factor_of(ValueId gradient) const {
    static const Op& scatter_add = op_named("scatter_add");
    const ValueId v = behind_reshapes(gradient);
    const GraphNode& node = graph_[v];
    if (node.op == &scatter_add) return node.inputs[2];
    if (node.op != known_ops().matmul) return gradient;
    // dY comes of a loss that X went into, so it is the later one.
    const ValueId factor = node.inputs[0].node > node.inputs[1].node ? node.inputs[0] : node.inputs[1];
    return elements(factor) < elements(v) ? factor : gradient;
  }
  int64_t key(ValueId v) const {
    v = behind_reshapes(v);
    return int64_t{v.node} << 32 | static_cast<uint32_t>(v.output);
  }
  int64_t elements(ValueId v) const { return graph_.spec(v).shape.elements(); }

  void shrink(GraphNode& node) const {
    std::vector<WatchedInput> watched;
    const std::string& names = node.attributes.get<std::string>("what");
    size_t line = 0;
    for (const ValueId input : node.inputs) {
      const size_t end = std::min(names.find('\n', line), names.size());
      watched.push_back({watched.empty() ? input : factor_of(input), names.substr(line, end - line)});
      line = end + 1;
    }
    // Values that another one among them tells of: as their sum, or as themselves in another shape.
    std::unordered_set<int64_t> told;
    for (const WatchedInput& one : watched) {
      const GraphNode& sum = graph_[behind_reshapes(one.value)];
      if (sum.op == known_ops().sum) told.insert(key(sum.inputs[0]));
    }
    std::erase_if(watched, [&](const WatchedInput& one) { return !told.insert(key(one.value)).second; });
    node.inputs.clear();
    std::string what;
    for (const WatchedInput& one : watched) {
      node.inputs.push_back(one.value);
      what += (what.empty() ? "" : "\n") + one.what;
    }
    node.attributes.set("what", what);
  }

  Graph& graph_;
};

}  // namespace

void watch_factors(Graph& graph) { WatchedFactors(graph).run(); }

}  // namespace isochron
