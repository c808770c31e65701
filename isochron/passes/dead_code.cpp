#include "isochron/passes/rewrites.h"

namespace isochron {

void remove_dead_code(Graph& graph) { graph.topological_sort(); }

}  // namespace isochron
