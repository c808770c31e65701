// The order in which the nodes of a graph run.
#pragma once

#include "isochron/graph/graph.h"

namespace isochron {

// Nodes that overwrite something, and what depends on them, come after all that might still read it or be at fault.
// What only they read (gradients, above all) is computed as soon as it can be, so that its operands are still in
// cache and their memory is free for others early. Otherwise the order stays. Linear in the graph.
void order_for_running(Graph& graph);

}  // namespace isochron
