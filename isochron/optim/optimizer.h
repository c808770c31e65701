// Optimizers: what turns gradients into new weights.
//
//   iso::Adam optimizer(1e-3);                                     // the Keras way
//   optimizer.apply_gradients(tape.gradient(loss, variables), variables);
//
//   iso::optim::SGD optimizer(net.parameters(), {.lr = 0.1, .momentum = 0.9});        // the PyTorch way
//   optimizer.zero_grad(); loss.backward(); optimizer.step();
//
// An optimizer of your own says how one variable is updated:
//
//   struct SignDescent : iso::Optimizer {
//     SignDescent() : Optimizer({.learning_rate = 0.01}) {}
//     void update_one(const Tensor& gradient, const Variable& variable, const Tensor& learning_rate) override {
//       Variable m = slot(variable, "momentum");
//       m.assign(0.9 * m + 0.1 * gradient);
//       variable.assign(variable - learning_rate * iso::sign(m));
//     }
//   };
//
// Everything an optimizer does is in the graph: it works in eager loops, in iso::function and in fit, and a step that
// fails leaves weights and state as they were. Outside a trace apply_gradients() and step() run the step at once.
// Copies of an optimizer share its state. Not for use from two threads at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/optim/schedule.h"

namespace isochron {

// Variables to train, from any list of variables or of tensors with requires_grad. StateError for other tensors.
class Parameters : public std::vector<Variable> {
 public:
  Parameters() = default;
  Parameters(std::initializer_list<Tensor> tensors) : Parameters(tensors.begin(), tensors.end()) {}
  template <class List>
  requires requires(const List& list) { Tensor(*list.begin()); }
  Parameters(const List& list) : Parameters(list.begin(), list.end()) {}

 private:
  template <class Iterator>
  Parameters(Iterator begin, Iterator end) {
    for (; begin != end; ++begin) push_back(Variable::of(*begin));
  }
};

// Parameters with settings of their own; what is not set is the optimizer's.
struct ParamGroup {
  Parameters params;
  std::optional<LearningRate> lr;
  std::optional<double> weight_decay;
};

// What all optimizers take. The options of each optimizer hold these by the same names.
struct OptimizerOptions {
  LearningRate learning_rate = 0.001;
  std::optional<double> weight_decay;     // decoupled: variables shrink by learning_rate * weight_decay
  std::optional<double> clipnorm;         // largest norm of each gradient
  std::optional<double> clipvalue;        // largest element
  std::optional<double> global_clipnorm;  // largest norm of all gradients together
  bool use_ema = false;                   // keep a moving average of the variables
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency;  // updates after which variables become their average
  std::optional<double> loss_scale_factor;         // gradients are divided by it: they are of scale_loss()
  std::optional<int64_t> gradient_accumulation_steps;
  std::string name = {};
};

// All an optimizer needs to go on elsewhere: with other variables of the same specs, in another process.
struct OptimizerSnapshot {
  struct Group {
    Tensor rate;  // undefined with a schedule
    std::shared_ptr<const Schedule> schedule;
    std::optional<double> weight_decay;
  };
  struct Entry {
    Variable variable;
    size_t group = 0;
    bool decays = true;
    std::vector<std::pair<std::string, Tensor>> slots;
    Tensor accumulator, average;  // undefined when the options do not ask for them
  };
  Tensor iterations;
  std::vector<Group> groups;
  std::vector<Entry> entries;  // variables that have state, in the order in which they came
  std::vector<std::pair<std::string, Tensor>> globals;
  Parameters undecayed;
  std::vector<std::string> undecayed_names;
};

class Optimizer {
 public:
  explicit Optimizer(OptimizerOptions options);
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = default;
  Optimizer& operator=(const Optimizer&) = default;

  // Makes the state of these variables; apply_gradients() does it for variables it has not seen.
  void build(const Parameters& variables);
  // Bytes build() would take for those of these variables that are new to it.
  int64_t state_bytes(const Parameters& variables) const;
  // One update. Gradients may be undefined (that variable is left alone), but not all of them. ShapeError, DTypeError
  // or ValueError before anything has changed.
  void apply_gradients(const std::vector<Tensor>& gradients, const Parameters& variables);
  // The loss times loss_scale_factor, or as it is without one: what gradients are to be taken of. fit() and minimize()
  // do so themselves.
  Tensor scale_loss(const Tensor& loss) const;
  // Computes the loss on a tape of its own and applies its gradients; returns the loss.
  Tensor minimize(const std::function<Tensor()>& loss, const Parameters& variables);

  // One update from the gradients that backward() left in the parameters; those without are left alone.
  void step();
  // The same with a closure that clears the gradients, computes the loss, calls backward() on it and returns it, as
  // methods need that look at the loss several times (optim/lbfgs.h). Returns the first loss.
  virtual Tensor step(const std::function<Tensor()>& closure);
  void zero_grad() const;
  // Parameters given before keep their group. ValueError for one that has been given already.
  void add_param_group(ParamGroup group);

  // Of a group: 0 holds the parameters that came without one. With a schedule it is the rate of the next update.
  double learning_rate(size_t group = 0) const;
  // StateError when it follows a schedule.
  void set_learning_rate(double value, size_t group = 0);
  size_t param_groups() const;
  // The rate that a group had when this was first called: what all schedulers of a loop start from (lr_scheduler.h).
  double base_learning_rate(size_t group = 0);

  // Calls of apply_gradients() so far: an int64 scalar.
  const Variable& iterations() const;
  // Everything to be saved to go on later: iterations, learning rates, state of each variable, in a fixed order.
  std::vector<Variable> variables() const;
  // The state as it is now (values are not copied), and taken over by an optimizer of the same kind and options that
  // has none yet; StateError when it has, ValueError when the state does not fit.
  OptimizerSnapshot snapshot() const;
  void restore(const OptimizerSnapshot& snapshot);
  const std::string& name() const;
  const OptimizerOptions& options() const;

  // These variables do not decay, nor do those whose name contains one of `names`. Before the first update.
  void exclude_from_weight_decay(const Parameters& variables, const std::vector<std::string>& names = {});
  // With use_ema: variables become their moving average, for good.
  void finalize_variable_values(const Parameters& variables);

 protected:
  // One variable and what is to be done with it in this update.
  struct Update {
    Variable variable;
    Tensor gradient;
    std::vector<Variable> slots;
  };
  // What the variables of one group have in common in this update.
  struct Shared {
    Tensor learning_rate;   // float64 scalar
    Tensor step;            // int64: updates before this one
    Tensor gradient_scale;  // multiplies every gradient
    Tensor enabled;         // bool: false while gradients are only collected
    double weight_decay = 0;
    bool decays = true;  // false for variables that are excluded, whatever weight_decay says
  };
  struct Slot {
    std::string name;
    double initial = 0;
    std::optional<Shape> shape = {};  // the variable's when not given
  };

  // To be overridden by optimizers in user code: assigns `variable` its new value. Gradient and rate have its dtype.
  virtual void update_one(const Tensor& gradient, const Variable& variable, const Tensor& learning_rate);
  // Variables of one dtype and group.
  virtual void update_all(const std::vector<Update>& updates, const Shared& shared);
  // Called once per step, before the variables are updated.
  virtual void begin_update(const Shared& shared);
  // State of a variable that exists from build() on.
  virtual std::vector<Slot> slots(const Variable& variable) const;
  // Updates before this one: an int64 scalar. Calls that only collected gradients do not count.
  Tensor updates_done() const;

  // All variables that came so far, in that order.
  Parameters parameters() const;
  // State of a variable, zeros at first, by name; the same one every time.
  Variable slot(const Variable& variable, const std::string& name, double initial = 0) const;
  // State of the optimizer itself.
  Variable global_slot(const std::string& name, double initial, const TensorSpec& spec = {DType::float64, {}}) const;

 private:
  struct State;
  void check_gradients(const std::vector<Tensor>& gradients, const Parameters& variables) const;
  void record_update(const std::vector<Tensor>& gradients, const Parameters& variables);
  void update_averages(const Tensor& updates_done);
  std::shared_ptr<State> state_;
};

}  // namespace isochron
