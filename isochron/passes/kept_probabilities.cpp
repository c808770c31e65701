// Attention to few keys whose gradient is asked for keeps its probabilities as a third output: the gradient then
// computes neither scores nor exponentials again. Attribute "kept" of both nodes is the width of their rows in memory.
#include "isochron/passes/rewriter.h"
#include "isochron/passes/rewrites.h"

namespace isochron {
namespace {

// Of the keys that kernels take at once; and what is kept may not be much larger than what is there anyway.
constexpr int64_t kMostKeys = 128, kMostTimesQueries = 4;

// An odd number of cache lines, so that many rows of a column lie in different sets.
int64_t row_width(int64_t keys, DType dtype) {
  const int64_t line = 64 / static_cast<int64_t>(size_of(dtype));
  return ((keys + line - 1) / line | 1) * line;
}

}  // namespace

void keep_probabilities(Graph& graph) {
  static const Op &attention = op_named("attention"), &backward = op_named("attention_backward");
  for (GraphNode& node : graph.nodes) {
    if (node.op != &backward || node.attributes.find("kept")) continue;
    const int32_t source = node.inputs[5].node;
    GraphNode& forward = graph.nodes[static_cast<size_t>(source)];
    if (forward.op != &attention) continue;
    const TensorSpec& query = graph.spec(forward.inputs[0]);
    const int64_t keys = graph.spec(forward.inputs[1]).shape[1], width = row_width(keys, query.dtype);
    if (keys == 0 || keys > kMostKeys || width > kMostTimesQueries * query.shape[3]) continue;
    if (forward.outputs.size() == 2) {
      forward.attributes.set("kept", width);
      forward.outputs.push_back({query.dtype, {query.shape[0], query.shape[2], query.shape[1], width}});
    }
    node.attributes.set("kept", width);
    node.inputs = SmallVector<ValueId, 3>(node.inputs.begin(), node.inputs.begin() + 5);
    node.inputs.push_back({source, 2});
  }
}

}  // namespace isochron
