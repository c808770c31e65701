// What tensor/ asks of the engine above it. exec/ and graph/ fill this table when the library is loaded,
// so that a handle can compute its value without this folder knowing how.
#pragma once

#include <span>
#include <vector>

#include "isochron/tensor/tensor.h"

namespace isochron {

struct EngineHooks {
  // Computes these values (and, outside tracing, everything else pending on this thread).
  void (*evaluate)(std::span<const Value> values) = nullptr;
  // The node that stands for `value` as the new value of a variable; a function being traced notes the assignment.
  Value (*assigned_value)(const std::shared_ptr<TensorState>& variable, const Value& value) = nullptr;
  // Too many nodes are pending on this thread.
  void (*overgrown)() = nullptr;
  // d(target)/d(variables below it), added to each variable's gradient.
  void (*backward)(const Value& target, const Value* seed) = nullptr;
};
EngineHooks& engine_hooks();

// The tensors made on this thread whose value is not computed yet and that somebody still holds.
std::vector<std::shared_ptr<TensorState>> pending_tensors_of_this_thread();

// The variable with this id, if it still lives.
std::shared_ptr<TensorState> find_variable(uint64_t id);

// Nodes made on this thread since something was last computed.
int64_t& nodes_since_evaluation();
// How many may be pending on one thread before the engine steps in.
std::atomic<int64_t>& pending_limit();

}  // namespace isochron
