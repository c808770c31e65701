// Where a NaN or an infinity came from.
//
//   NodeLabels labels;                               // layers name what they compute while this lives
//   … trace the step again …
//   BadOrigin origin = find_bad_origin(graph, inputs, names);
//   // "exp in layer "dense_1" (model.cpp:12) gives inf in 3 of 320 values, first at [3, 2]; its inputs are finite, …"
//
// The graph as it was traced, before any pass, is computed op by op; from the value that check_finite refused, the
// search goes back along values that are not finite to the op that made them of finite ones, or to an input that held
// them. Infinities that do no harm on the way (a mask before a softmax) are passed by. Slow: meant for the one step
// that failed. Nothing is updated.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "isochron/graph/graph.h"

namespace isochron {

struct BadOrigin {
  int32_t input = -1;  // of the graph, when it came with the data; then `text` tells what it holds
  std::string text;
};

// Nothing when every checked value is finite. `names[i]` says what node i of the graph belongs to; may be empty.
std::optional<BadOrigin> find_bad_origin(const Graph& graph, std::span<void* const> inputs,
                                         const std::vector<std::string>& names);

// What nodes belong to, noted while one of these lives on this thread.
class NodeLabels {
 public:
  NodeLabels();
  ~NodeLabels();
  NodeLabels(const NodeLabels&) = delete;
  static NodeLabels* current();

  // Everything between inputs and outputs that has no label yet.
  void add(std::span<const Tensor> outputs, std::span<const Tensor> inputs, const std::string& label);
  const std::string& of(const Node* node) const;

 private:
  std::unordered_map<const Node*, std::string> labels_;
  NodeLabels* outer_;
};

// What is not finite among `count` elements: "nan in 3 of 320 values, first at [3, 2]"; empty when all are.
std::string bad_numbers(const TensorSpec& spec, const void* bytes);

}  // namespace isochron
