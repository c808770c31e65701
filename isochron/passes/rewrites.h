// The passes, one file each; passes.cpp lists them in the order in which they run. Each is given a graph in topological
// order in which every node but inputs is needed by an output, and leaves one.
#pragma once

#include "isochron/graph/graph.h"

namespace isochron {

void remove_dead_code(Graph& graph);
void fold_constants(Graph& graph);
void simplify_algebra(Graph& graph);
void shrink_pooling_gradients(Graph& graph);
void choose_layout(Graph& graph);
void merge_common_subexpressions(Graph& graph);
void drop_assignments(Graph& graph);
void watch_factors(Graph& graph);
void keep_probabilities(Graph& graph);
void sum_columns_with_products(Graph& graph);
void fuse_matmul_epilogues(Graph& graph);
void fuse_elementwise(Graph& graph);
void fuse_reductions(Graph& graph);
void fuse_updates(Graph& graph);
void move_gradients_into_updates(Graph& graph);

// Whether fuse_reductions can join the node to the fused node it reads: its axes are neighbours.
bool is_fusible_reduction(const GraphNode& node);

}  // namespace isochron
