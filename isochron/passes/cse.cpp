// Equal nodes are computed once. Random ops differ each time, and updates must each happen: both are left alone.
#include <algorithm>
#include <bit>

#include "isochron/base/flat_map.h"
#include "isochron/passes/rewriter.h"
#include "isochron/passes/rewrites.h"

namespace isochron {
namespace {

void mix(uint64_t& hash, uint64_t word) { hash = (hash ^ word) * 0x9E3779B97F4A7C15u ^ (hash >> 29); }

struct HashOfAttribute {
  uint64_t operator()(bool x) const { return x; }
  uint64_t operator()(int64_t x) const { return static_cast<uint64_t>(x); }
  uint64_t operator()(double x) const { return std::bit_cast<uint64_t>(x); }
  uint64_t operator()(const std::string& x) const { return std::hash<std::string>()(x); }
  uint64_t operator()(const std::vector<int64_t>& x) const {
    uint64_t hash = x.size();
    for (int64_t item : x) mix(hash, static_cast<uint64_t>(item));
    return hash;
  }
};

uint64_t hash_of(const GraphNode& node) {
  uint64_t hash = reinterpret_cast<uintptr_t>(node.op);
  for (ValueId in : node.inputs) mix(hash, static_cast<uint64_t>(in.node) * 8 + static_cast<uint64_t>(in.output));
  for (const auto& [name, value] : node.attributes.items()) mix(hash, std::visit(HashOfAttribute(), value));
  return hash;
}

// Attributes as bits, so that 0.0 is not -0.0 and NaN equals itself.
bool equal_attributes(const GraphNode& a, const GraphNode& b) {
  const auto &x = a.attributes.items(), &y = b.attributes.items();
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& p, const auto& q) {
    if (p.value.index() != q.value.index() || p.name != q.name) return false;
    const double *d = std::get_if<double>(&p.value), *e = std::get_if<double>(&q.value);
    return d ? std::bit_cast<uint64_t>(*d) == std::bit_cast<uint64_t>(*e) : p.value == q.value;
  });
}

// What a node computes. Nodes stay where they are while the pass looks at them.
struct Contents {
  const GraphNode* node;
  uint64_t hash;
  bool operator==(const Contents& other) const {
    return hash == other.hash && node->op == other.node->op && node->inputs == other.node->inputs &&
           equal_attributes(*node, *other.node);
  }
};
struct HashOfContents {
  uint64_t operator()(const Contents& contents) const { return contents.hash; }
};

}  // namespace

void merge_common_subexpressions(Graph& graph) {
  Rewriter rewriter(graph);
  FlatMap<Contents, int32_t, HashOfContents> seen;
  seen.reserve(graph.nodes.size());
  for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) {
    GraphNode& node = graph.nodes[static_cast<size_t>(i)];
    rewriter.refresh(node);
    if (!node.op || node.op->random || !node.op->updates.empty() || node.body) continue;
    if (node.op->commutative && node.inputs.size() == 2) {
      const auto key = [](ValueId v) { return std::pair(v.node, v.output); };
      if (key(node.inputs[1]) < key(node.inputs[0])) std::swap(node.inputs[0], node.inputs[1]);
    }
    const auto [same, fresh] = seen.try_emplace({&node, hash_of(node)}, i);
    if (fresh) continue;
    for (int32_t o = 0; o < static_cast<int32_t>(node.outputs.size()); ++o) rewriter.replace({i, o}, {*same, o});
  }
  rewriter.finish();
}

}  // namespace isochron
