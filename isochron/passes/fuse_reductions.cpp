// A reduction of what a fused node computes becomes its last output: mean(square(a - b)) reads a and b once and stores
// one number, a masked gradient and its column sums come from one pass.
#include "isochron/passes/fused_ops.h"
#include "isochron/passes/known_ops.h"
#include "isochron/passes/rewriter.h"
#include "isochron/passes/rewrites.h"

namespace isochron {
namespace {

using Ints = std::vector<int64_t>;

class ReductionFusion {
 public:
  explicit ReductionFusion(Graph& graph) : graph_(graph), rewriter_(graph), uses_(graph) {}

  void run() {
    const auto count = static_cast<int32_t>(graph_.nodes.size());
    std::vector<uint8_t> taken(static_cast<size_t>(count), 0), updates(static_cast<size_t>(count), 0);
    for (const GraphUpdate& update : graph_.updates)
      updates[static_cast<size_t>(graph_.outputs[static_cast<size_t>(update.output)].node)] = 1;
    for (int32_t i = 0; i < count; ++i) {
      const GraphNode& node = graph_.nodes[static_cast<size_t>(i)];
      // What overwrites a variable runs last, and would make the group wait.
      if (!node.op || !is_fusible_reduction(node) || updates[static_cast<size_t>(i)]) continue;
      const ValueId in = node.inputs[0];
      if (graph_[in].op != &fused_op() || taken[static_cast<size_t>(in.node)]) continue;
      taken[static_cast<size_t>(in.node)] = 1;
      fuse(i, in);
    }
    rewriter_.finish();
  }

 private:
  void fuse(int32_t reduction, ValueId in) {
    const GraphNode& reduce = graph_.nodes[static_cast<size_t>(reduction)];
    const GraphNode& group = graph_[in];
    const Ints& axes = reduce.attributes.get<Ints>("axes");
    const auto reduced = static_cast<size_t>(in.output);
    const bool stored = uses_.of(in) > 1;
    GraphNode both;
    both.op = &fused_reduce_op();
    both.phase = group.phase;
    both.where = reduce.where;
    both.inputs = group.inputs;
    both.attributes = group.attributes;
    both.attributes.set("shape", group.outputs[reduced].shape.to_vector());
    both.attributes.set("reduce", std::string(reduce.op->name));
    both.attributes.set("begin", axes.front());
    both.attributes.set("end", axes.back() + 1);
    auto body = std::make_shared<Graph>(*group.body);
    body->outputs.clear();
    const auto at = static_cast<int32_t>(graph_.nodes.size());
    std::vector<std::pair<ValueId, ValueId>> renamed;
    for (size_t o = 0; o < group.outputs.size(); ++o) {
      if (o == reduced && !stored) continue;
      renamed.push_back({{in.node, static_cast<int32_t>(o)}, {at, static_cast<int32_t>(both.outputs.size())}});
      both.outputs.push_back(group.outputs[o]);
      body->outputs.push_back(group.body->outputs[o]);
    }
    renamed.push_back({{reduction, 0}, {at, static_cast<int32_t>(both.outputs.size())}});
    both.outputs.push_back(reduce.outputs[0]);
    body->outputs.push_back(group.body->outputs[reduced]);
    both.body = std::move(body);
    graph_.nodes.push_back(std::move(both));
    for (const auto& [from, to] : renamed) rewriter_.replace(from, to);
  }

  Graph& graph_;
  Rewriter rewriter_;
  UseCounts uses_;
};

}  // namespace

bool is_fusible_reduction(const GraphNode& node) {
  const KnownOps& k = known_ops();
  if (node.op != k.sum && node.op != k.mean && node.op != k.max && node.op != k.min && node.op != k.prod) return false;
  const Ints& axes = node.attributes.get<Ints>("axes");
  return !axes.empty() && axes.back() - axes.front() + 1 == static_cast<int64_t>(axes.size());
}

void fuse_reductions(Graph& graph) { ReductionFusion(graph).run(); }

}  // namespace isochron
