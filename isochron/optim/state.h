// What an optimizer keeps, shared by its copies.
#pragma once

#include <unordered_map>
#include <utility>

#include "isochron/optim/optimizer.h"

namespace isochron {

// A variable that is not trained, every element `initial`, made without a graph.
Variable filled_variable(const TensorSpec& spec, double initial, std::string name);

Tensor sum_of_squares(const Tensor& gradient);
// The factor that brings the norm, of which these are the squares, down to `limit`; NaN when it is not finite.
Tensor norm_scale(const Tensor& squares, double limit);

struct Optimizer::State {
  struct Group {
    Variable rate;  // undefined with a schedule
    std::shared_ptr<const Schedule> schedule;
    std::optional<double> weight_decay;
    std::optional<double> base_rate = {};  // once schedulers have asked for it
  };
  struct Tracked {
    Variable variable;
    std::string name;  // in the names of its slots
    size_t group = 0;
    bool decays = true;
    DType dtype = DType::float32;
    std::vector<std::pair<std::string, Variable>> slots;
    Variable accumulator, average;
    int64_t last_call = 0;
  };

  explicit State(OptimizerOptions given);
  void add_group(const std::optional<LearningRate>& rate, std::optional<double> weight_decay);
  Tensor learning_rate(const Group& group) const;
  Tracked& track(const Variable& variable, size_t group, const std::vector<Slot>& slots);
  bool decays(const Variable& variable) const;
  // State goes with a variable that was given another dtype.
  void follow(Tracked& entry) const;
  void check_dtype(const Variable& variable) const;
  Tracked* find(const Variable& variable);
  bool knows(const Parameters& variables);  // all of them
  // The gradient after scaling, accumulation and clipping on its own.
  Tensor processed(Tensor gradient, const Tracked& entry, const Tensor& enabled) const;
  // Drops assignments that were recorded and not run: an update failed half-way.
  void forget_pending();
  std::vector<Variable> variables() const;
  Variable slot_of(Tracked& tracked, const Slot& slot);
  static TensorSpec spec_of(const Slot& slot, const Variable& variable);

  OptimizerOptions options;
  Variable iterations;
  std::vector<Group> groups;
  std::vector<Tracked> tracked;
  std::unordered_map<uint64_t, size_t> index;  // of tracked, by variable id
  std::vector<std::pair<std::string, Variable>> globals;
  Parameters undecayed;
  std::vector<std::string> undecayed_names;
  int64_t calls = 0;
  // Values from before the update under way, of variables that update_one() may change.
  std::vector<std::pair<Variable, Tensor>> before;
};

}  // namespace isochron
