// A graph taken out of the pending nodes, ready for passes: plain indices, free to be rewritten.
//
//   Graph g = …;
//   fmt::print("{}", to_string(g));      // %3 = matmul(%0, %1) transpose_a=false … : float32(32, 10)
//
// Nodes stand in an order in which every input comes before its use (after topological_sort()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "isochron/base/pooled.h"
#include "isochron/ops/op.h"

namespace isochron {

struct ValueId {
  int32_t node = -1;
  int32_t output = 0;
  bool operator==(const ValueId&) const = default;
};

struct Graph;

struct GraphNode : Pooled<GraphNode> {
  const Op* op = nullptr;  // null: an input of the graph
  SmallVector<ValueId, 3> inputs;
  Specs outputs;
  Attributes attributes;
  Phase phase = Phase::forward;
  std::source_location where;
  LeafRole role = LeafRole::none;     // of an input
  std::shared_ptr<const Graph> body;  // of a fused node: what it does to one element
};

// The nodes of a graph by index. Each stays where it is in memory while others are added, dropped or put in another
// order, which moves no more than pointers: references to nodes stay good until theirs is dropped.
class NodeList {
 public:
  template <class Pointer, class T>
  class Iterator {
   public:
    using value_type = GraphNode;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(Pointer at) : at_(at) {}
    T& operator*() const { return **at_; }
    T* operator->() const { return &**at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    Pointer at_{};
  };

  NodeList() = default;
  NodeList(NodeList&&) = default;
  NodeList& operator=(NodeList&&) = default;
  NodeList(const NodeList& other) {
    reserve(other.size());
    for (const Owner& node : other.nodes_) push_back(*node);
  }
  NodeList& operator=(const NodeList& other) { return *this = NodeList(other); }

  size_t size() const { return nodes_.size(); }
  void reserve(size_t count) { nodes_.reserve(count); }
  GraphNode& operator[](size_t i) { return *nodes_[i]; }
  const GraphNode& operator[](size_t i) const { return *nodes_[i]; }
  GraphNode& back() { return *nodes_.back(); }
  auto begin() { return Iterator<Owner*, GraphNode>(nodes_.data()); }
  auto end() { return Iterator<Owner*, GraphNode>(nodes_.data() + nodes_.size()); }
  auto begin() const { return Iterator<const Owner*, const GraphNode>(nodes_.data()); }
  auto end() const { return Iterator<const Owner*, const GraphNode>(nodes_.data() + nodes_.size()); }

  GraphNode& add() { return *nodes_.emplace_back(std::make_unique<GraphNode>()); }
  void push_back(GraphNode node) { nodes_.push_back(std::make_unique<GraphNode>(std::move(node))); }
  // The nodes become those of `order`, in that order; the others are dropped.
  void arrange(std::span<const int32_t> order);

 private:
  using Owner = std::unique_ptr<GraphNode>;
  std::vector<Owner> nodes_;
};

// Output `output` of the graph becomes the new content of input `input`, in place.
struct GraphUpdate {
  int32_t output = 0;
  int32_t input = 0;
};

struct Graph {
  NodeList nodes;
  std::vector<int32_t> inputs;  // nodes, in the order in which they are bound
  std::vector<ValueId> outputs;
  std::vector<GraphUpdate> updates;

  const TensorSpec& spec(ValueId v) const {
    return nodes[static_cast<size_t>(v.node)].outputs[static_cast<size_t>(v.output)];
  }
  GraphNode& operator[](ValueId v) { return nodes[static_cast<size_t>(v.node)]; }
  const GraphNode& operator[](ValueId v) const { return nodes[static_cast<size_t>(v.node)]; }
  std::vector<TensorSpec> input_specs(const GraphNode& node) const;

  ValueId add_input(TensorSpec spec, LeafRole role = LeafRole::data);
  // Appends a node and works out its output specs. Phase and line are taken from `like`.
  ValueId add(const Op& op, std::initializer_list<ValueId> in, Attributes attributes, const GraphNode& like);
  // Every use of `from`, outputs included, becomes a use of `to`.
  void replace(ValueId from, ValueId to);
  // The nodes become those of `order`, in that order. Nothing that stays may read one that goes.
  void arrange(std::span<const int32_t> order);
  // Puts nodes in topological order (stable) and drops those no output needs; inputs stay.
  void topological_sort();
};

// How often each value is used, the graph's outputs included, when this was made.
class UseCounts {
 public:
  explicit UseCounts(const Graph& graph);
  int32_t of(ValueId v) const { return counts_[static_cast<size_t>(first_[static_cast<size_t>(v.node)] + v.output)]; }
  // Whether the node was there.
  bool knows(int32_t node) const { return static_cast<size_t>(node) < first_.size(); }

 private:
  std::vector<int32_t> first_, counts_;  // by node: the place of its output 0 in counts_
};

// The input that output `output` of an updating node takes the place of. Such nodes take some shared inputs
// (attribute "shared" says how many), then groups of equal size, one per parameter.
int updated_input(const GraphNode& node, size_t output);

// Readable text, one line a node; and the same for Graphviz.
std::string to_string(const Graph& graph);
std::string to_graphviz(const Graph& graph);

// Checks order, references, specs against the ops' rules, and updates; InternalError naming the node.
void verify(const Graph& graph);

}  // namespace isochron
