// A variable's new value is written into the variable by the node that computes it. The assign node stays, as a copy,
// where that node also serves others: it would else have to wait for all that may find data at fault, and they with it.
#include "isochron/passes/known_ops.h"
#include "isochron/passes/rewriter.h"
#include "isochron/passes/rewrites.h"

namespace isochron {

void drop_assignments(Graph& graph) {
  const Op* assign = known_ops().assign;
  const UseCounts uses(graph);
  Rewriter rewriter(graph);
  for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) {
    const GraphNode& node = graph.nodes[static_cast<size_t>(i)];
    if (!assign || node.op != assign) continue;
    const ValueId value = node.inputs[0];
    const Op* source = graph[value].op;
    if (!source) continue;
    const bool for_this_alone = uses.of(value) == 1 && graph[value].outputs.size() == 1;
    if (for_this_alone || !source->updates.empty()) rewriter.replace({i, 0}, value);
  }
  rewriter.finish();
}

}  // namespace isochron
