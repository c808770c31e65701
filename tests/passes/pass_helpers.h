// Pending tensors as graphs, one pass at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isochron/graph/walk.h"
#include "isochron/passes/passes.h"

namespace isochron::test {

inline Graph graph_of(const std::vector<Tensor>& tensors) {
  std::lock_guard lock(graph_mutex());
  std::vector<Value> roots;
  for (const Tensor& tensor : tensors) roots.push_back(tensor.value());
  return graph_from(walk_from(std::move(roots), true));
}

inline void run_pass(Graph& graph, std::string_view name) {
  for (const Pass& pass : all_passes())
    if (pass.name == name) pass.run(graph);
  verify(graph);
}

// The graph after these passes, printed.
inline std::string after(std::initializer_list<std::string_view> passes, const std::vector<Tensor>& tensors) {
  Graph graph = graph_of(tensors);
  for (std::string_view pass : passes) run_pass(graph, pass);
  return to_string(graph);
}

// Only the passes given are enabled while this lives.
class OnlyPasses {
 public:
  explicit OnlyPasses(std::initializer_list<std::string_view> names) {
    for (const Pass& pass : all_passes()) {
      before_.push_back(pass_enabled(pass.name));
      set_pass_enabled(pass.name, false);
    }
    for (std::string_view name : names) set_pass_enabled(name, true);
  }
  ~OnlyPasses() {
    for (size_t i = 0; i < before_.size(); ++i) set_pass_enabled(all_passes()[i].name, before_[i]);
  }
  OnlyPasses(const OnlyPasses&) = delete;

 private:
  std::vector<bool> before_;
};

}  // namespace isochron::test
