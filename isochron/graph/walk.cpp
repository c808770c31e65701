#include "isochron/graph/walk.h"

#include <algorithm>
#include <bit>

#include "isochron/base/names.h"

namespace isochron {
namespace {

const Op& constant_op() {
  static const Op& op = op_named("constant");
  return op;
}

// Two independent 64-bit streams make collisions between different graphs a non-event.
class Hasher {
 public:
  void add(uint64_t x) {
    high_ = std::rotl(high_ ^ (x * 0x9E3779B97F4A7C15ull), 29) * 0xBF58476D1CE4E5B9ull;
    low_ = std::rotl(low_ + (x ^ 0xD6E8FEB86659FD93ull), 31) * 0x94D049BB133111EBull;
  }
  void add(const AttributeValue& value) {
    add(value.index());
    std::visit(
        [&]<class T>(const T& v) {
          if constexpr (std::is_same_v<T, std::string>) {
            add(std::hash<std::string>{}(v));
          } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
            add(v.size());
            for (int64_t i : v) add(static_cast<uint64_t>(i));
          } else if constexpr (std::is_same_v<T, double>) {
            add(std::bit_cast<uint64_t>(v));
          } else {
            add(static_cast<uint64_t>(v));
          }
        },
        value);
  }
  void add(const TensorSpec& spec) {
    add(static_cast<uint64_t>(spec.dtype) * 16 + static_cast<uint64_t>(spec.shape.rank()));
    for (int64_t d : spec.shape) add(static_cast<uint64_t>(d));
  }
  uint64_t high() const { return high_ ^ (high_ >> 32); }
  uint64_t low() const { return low_ ^ (low_ >> 29); }

 private:
  uint64_t high_ = 0x243F6A8885A308D3ull, low_ = 0x13198A2E03707344ull;
};

}  // namespace

std::recursive_mutex& graph_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

namespace {

// A variable that is assigned twice before anything is computed has two pending values, should somebody hold the first;
// the last one alone replaces its bytes.
void find_updates(Walk& walk) {
  struct Assigned {
    uint64_t variable;
    GraphUpdate update;
  };
  std::vector<Assigned> assigned;
  for (size_t i = 0; i < walk.roots.size(); ++i) {
    const Node& node = *walk.roots[i].node;
    if (node.variable && !node.computed() && !node.superseded)
      assigned.push_back({node.variable, {static_cast<int32_t>(i), -1}});
  }
  if (assigned.empty()) return;
  std::sort(assigned.begin(), assigned.end(),
            [](const Assigned& a, const Assigned& b) { return a.variable < b.variable; });
  for (size_t leaf = 0; leaf < walk.leaves.size(); ++leaf) {
    const Node& node = *walk.leaves[leaf].node;
    if (node.role != LeafRole::variable) continue;
    const auto found = std::lower_bound(assigned.begin(), assigned.end(), node.variable,
                                        [](const Assigned& a, uint64_t variable) { return a.variable < variable; });
    if (found != assigned.end() && found->variable == node.variable) found->update.input = static_cast<int32_t>(leaf);
  }
  for (const Assigned& each : assigned)
    if (each.update.input >= 0) walk.updates.push_back(each.update);
  // In an order that does not depend on the variables' ids: it is part of the signature.
  std::sort(walk.updates.begin(), walk.updates.end(),
            [](const GraphUpdate& a, const GraphUpdate& b) { return a.output < b.output; });
}

}  // namespace

Walk walk_from(std::vector<Value> roots, bool allow_arguments) {
  static uint64_t last_mark = 0;
  Walk walk;
  walk.roots = std::move(roots);
  walk.mark = ++last_mark;
  struct Open {
    Node* node;
    size_t next;
  };
  thread_local std::vector<Open> stack;
  stack.clear();
  const auto enter = [&](const Value& value) {
    Node* node = value.node.get();
    if (node->mark == walk.mark) return;
    node->mark = walk.mark;
    node->position = -1;
    if (node->computed() || node->role != LeafRole::none) return;  // leaves are numbered where they are used
    stack.push_back({node, 0});
    while (!stack.empty()) {
      Open& top = stack.back();
      if (top.next == top.node->inputs.size()) {
        top.node->position = static_cast<int32_t>(walk.nodes.size());
        walk.nodes.push_back(top.node);
        if (top.node->op == &constant_op()) walk.constants.push_back(top.node);
        stack.pop_back();
        continue;
      }
      const Value& in = top.node->inputs[top.next++];
      Node* below = in.node.get();
      if (below->mark == walk.mark) continue;
      below->mark = walk.mark;
      below->position = -1;
      if (below->computed() || below->role != LeafRole::none) continue;
      stack.push_back({below, 0});
    }
  };
  for (const Value& root : walk.roots) enter(root);

  // Number the leaves by first use. A computed node with several outputs is one leaf per output used, so
  // its position is the first of a run reserved for it.
  const auto number_leaf = [&](const Value& value) {
    Node* node = value.node.get();
    if (!node->computed() && node->role == LeafRole::none) return;
    if (node->role == LeafRole::stale)
      fail<StateError>("evaluate",
                       "a variable was updated in place since this value was built from it; read the value "
                       "before the update, or build it again");
    if (node->role == LeafRole::argument && !allow_arguments)
      fail<StateError>("evaluate",
                       "the value depends on an argument of a function that is being traced, so it is not "
                       "known yet; compute it in the graph, or call the code outside iso::function");
    if (node->position >= 0) return;
    node->position = static_cast<int32_t>(walk.leaves.size());
    for (int i = 0; i < static_cast<int>(node->outputs.size()); ++i) walk.leaves.push_back({value.node, i});
  };
  for (Node* node : walk.nodes)
    for (const Value& in : node->inputs) number_leaf(in);
  for (const Value& root : walk.roots) number_leaf(root);
  find_updates(walk);
  return walk;
}

namespace {
bool is_leaf(const Node& node) { return node.computed() || node.role != LeafRole::none; }
}  // namespace

Signature signature_of(const Walk& walk) {
  Hasher all, structure;
  const auto add_reference = [&](const Value& v) {
    const uint64_t place = static_cast<uint64_t>(v.node->position) * 4 + (is_leaf(*v.node) ? 2 : 0);
    all.add(place * 64 + static_cast<uint64_t>(v.index));
    structure.add(place * 64 + static_cast<uint64_t>(v.index));
  };
  for (const Value& leaf : walk.leaves) {
    const bool variable = leaf.node->role == LeafRole::variable;
    all.add(leaf.spec());
    all.add(static_cast<uint64_t>(variable));
    structure.add(static_cast<uint64_t>(leaf.spec().shape.rank()));
  }
  for (const Node* node : walk.nodes) {
    const auto op = reinterpret_cast<uintptr_t>(node->op);
    all.add(op);
    all.add(static_cast<uint64_t>(node->phase));
    structure.add(op);
    for (const Value& in : node->inputs) add_reference(in);
    if (node->op == &constant_op()) {
      all.add(static_cast<uint64_t>(node->outputs[0].dtype));
    } else {
      for (const auto& [name, value] : node->attributes.items()) all.add(value);
    }
  }
  for (const Value& root : walk.roots) add_reference(root);
  for (const GraphUpdate& update : walk.updates) {
    all.add(static_cast<uint64_t>(update.output));
    all.add(static_cast<uint64_t>(update.input));
  }
  return {all.high(), all.low(), structure.high()};
}

Graph graph_from(const Walk& walk, const std::vector<bool>& lifted) {
  Graph graph;
  graph.nodes.reserve(walk.leaves.size() + walk.nodes.size());
  for (const Value& leaf : walk.leaves)
    graph.add_input(leaf.spec(), leaf.node->role == LeafRole::none ? LeafRole::data : leaf.node->role);
  std::vector<int32_t> place(walk.nodes.size());
  for (size_t i = 0; i < lifted.size(); ++i)
    if (lifted[i])
      place[static_cast<size_t>(walk.constants[i]->position)] = graph.add_input(walk.constants[i]->outputs[0]).node;
  const auto id_of = [&](const Value& v) -> ValueId {
    if (is_leaf(*v.node)) return {v.node->position + v.index, 0};
    return {place[static_cast<size_t>(v.node->position)], v.index};
  };
  size_t constant = 0;
  for (const Node* node : walk.nodes) {
    if (node->op == &constant_op()) {
      const size_t i = constant++;
      if (i < lifted.size() && lifted[i]) continue;
    }
    place[static_cast<size_t>(node->position)] = static_cast<int32_t>(graph.nodes.size());
    GraphNode& copy = graph.nodes.add();
    copy.op = node->op;
    copy.outputs = node->outputs;
    copy.attributes = node->attributes;
    copy.phase = node->phase;
    copy.where = node->where;
    for (const Value& in : node->inputs) copy.inputs.push_back(id_of(in));
  }
  for (const Value& root : walk.roots) graph.outputs.push_back(id_of(root));
  return graph;
}

}  // namespace isochron
