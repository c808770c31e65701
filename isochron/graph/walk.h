// From pending nodes to a graph: the walk every evaluation starts with.
//
//   std::lock_guard lock(graph_mutex());
//   Walk walk = walk_from(values);                 // nodes in order, leaves in order of first use
//   Signature s = signature_of(walk, …);
//   Graph graph = graph_from(walk);                // only when the signature is new
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "isochron/graph/graph.h"

namespace isochron {

// Walks mark nodes as they go, so one at a time. Recursive: an op's rule may compute a value.
std::recursive_mutex& graph_mutex();

struct Walk {
  std::vector<Node*> nodes;      // inputs before uses; computed nodes and leaves are not entered
  std::vector<Value> leaves;     // what the nodes read that is known already, in order of first use
  std::vector<Node*> constants;  // of `nodes`, those whose value is a number in the graph
  std::vector<Value> roots;
  std::vector<GraphUpdate> updates;  // roots that are new values of variables whose old ones are among the leaves
  // A leaf's or node's place: leaves and nodes share one numbering, by Node::position.
  uint64_t mark = 0;
};

// StateError when a root depends on an argument of a function being traced (unless `allow_arguments`) or on
// a variable's overwritten value.
Walk walk_from(std::vector<Value> roots, bool allow_arguments = false);

// What has to be equal for a compiled plan to be used again. `structure` leaves out shapes and dtypes;
// values of constants are in neither.
struct Signature {
  uint64_t high = 0, low = 0;
  uint64_t structure = 0;
  bool operator==(const Signature&) const = default;
};
Signature signature_of(const Walk& walk);

// `lifted[i]`: constants[i] becomes an input of the graph, after the leaves.
Graph graph_from(const Walk& walk, const std::vector<bool>& lifted = {});

}  // namespace isochron
