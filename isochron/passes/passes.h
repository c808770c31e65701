// Graph -> graph rewrites, and the one runner that times, disables and verifies them.
//
//   run_passes(graph);                                   // all of them, in order
//   set_pass_enabled("fuse_elementwise", false);         // or ISOCHRON_DISABLE_PASSES=fuse_elementwise,cse
//   for (const PassReport& r : pass_reports()) fmt::print("{} {} us\n", r.name, r.seconds * 1e6);
//
// From any thread.
#pragma once

#include <string_view>
#include <vector>

#include "isochron/graph/graph.h"

namespace isochron {

struct Pass {
  const char* name;
  const char* doc;
  void (*run)(Graph& graph);
};
// In the order in which they run.
const std::vector<Pass>& all_passes();

// ValueError (with a suggestion) for an unknown name. Plans compiled before keep what they have.
void set_pass_enabled(std::string_view name, bool enabled);
bool pass_enabled(std::string_view name);

// Runs the enabled passes; in debug builds the graph is verified after each.
void run_passes(Graph& graph);

struct PassReport {
  const char* name;
  int64_t runs = 0;
  double seconds = 0;
  int64_t nodes_removed = 0;
};
std::vector<PassReport> pass_reports();

}  // namespace isochron
