// The passes, one file each; passes.cpp lists them in the order in which they run.
#pragma once

#include "isochron/graph/graph.h"

namespace isochron {

void remove_dead_code(Graph& graph);

}  // namespace isochron
