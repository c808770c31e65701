#include "isochron/optim/lbfgs.h"

#include <cmath>

#include "isochron/base/names.h"
#include "isochron/exec/evaluate.h"
#include "isochron/exec/variables.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "isochron/optim/checks.h"
#include "isochron/optim/wolfe_search.h"

namespace isochron::optim {
namespace {

double dot(const Tensor& a, const Tensor& b) { return sum(a * b).item(); }
double largest(const Tensor& x) { return max(abs(x)).item(); }
Tensor known(const Tensor& x) { return x.eval().detach(); }
void set(const Variable& variable, double value) { overwrite(variable, scalar(value, DType::float64)); }

// All parameters as one vector, moved along lines.
class Problem {
 public:
  Problem(const Parameters& parameters, const std::function<Tensor()>& closure)
      : parameters_(parameters), closure_(closure) {
    for (const Variable& p : parameters) sizes_.push_back(p.shape().elements());
  }

  LinePoint evaluate() {
    loss_ = closure_();
    const double loss = loss_.item();
    std::vector<Tensor> parts;
    for (const Variable& p : parameters_) {
      const Tensor gradient = p.grad();
      parts.push_back(gradient.defined() ? reshape(gradient, {-1}) : zeros({p.shape().elements()}, p.dtype()));
    }
    return {.loss = loss, .gradient = known(concat(parts))};
  }
  const Tensor& last_loss() const { return loss_; }

  void leave_from_here() {
    from_.clear();
    for (const Variable& p : parameters_) from_.push_back(p.read().detach());
  }
  void go(double t, const Tensor& direction) const {
    const std::vector<Tensor> parts = split(direction, sizes_);
    const Tensor far = scalar(t, direction.dtype());
    for (size_t i = 0; i < from_.size(); ++i)
      parameters_[i].assign(from_[i] + far * reshape(parts[i], parameters_[i].shape().to_vector()));
    end_step();
  }

 private:
  const Parameters& parameters_;
  const std::function<Tensor()>& closure_;
  std::vector<int64_t> sizes_;
  std::vector<Tensor> from_;
  Tensor loss_;
};

}  // namespace

LBFGS::LBFGS(const Parameters& parameters, LBFGSOptions o)
    : Optimizer({.learning_rate = o.lr, .name = "LBFGS"}), options_(std::move(o)) {
  require_count(name(), "max_iter", options_.max_iter);
  if (options_.max_eval) require_count(name(), "max_eval", *options_.max_eval);
  require_count(name(), "history_size", options_.history_size);
  require_not_negative(name(), "tolerance_grad", options_.tolerance_grad);
  require_not_negative(name(), "tolerance_change", options_.tolerance_change);
  if (options_.line_search_fn && *options_.line_search_fn != "strong_wolfe")
    fail<ValueError>(name(), "unknown line_search_fn \"{}\"{}", *options_.line_search_fn,
                     did_you_mean(*options_.line_search_fn, {"strong_wolfe"}));
  build(parameters);
}

void LBFGS::update_all(const std::vector<Update>&, const Shared&) {
  fail<StateError>(name(), "computes the loss several times in a step: call step(closure) in a loop of your own");
}

Variable LBFGS::vector(const std::string& vector_name, int64_t elements, DType dtype) const {
  return global_slot(vector_name, 0, {dtype, {elements}});
}

void LBFGS::remember(const Tensor& gradient_change, const Tensor& taken_step) const {
  const Variable pairs = number("pairs");
  const int64_t at = static_cast<int64_t>(pairs.item()) % options_.history_size;
  const int64_t size = taken_step.shape()[0];
  overwrite(vector(fmt::format("old_dirs/{}", at), size, taken_step.dtype()), gradient_change);
  overwrite(vector(fmt::format("old_stps/{}", at), size, taken_step.dtype()), taken_step);
  set(pairs, pairs.item() + 1);
}

Tensor LBFGS::newton_direction(const Tensor& gradient) const {
  const auto pairs = static_cast<int64_t>(number("pairs").item());
  const int64_t kept = std::min(pairs, options_.history_size), size = gradient.shape()[0];
  struct Pair {
    Tensor change, step;
    double curvature, share = 0;
  };
  std::vector<Pair> history;  // oldest first
  for (int64_t i = pairs - kept; i < pairs; ++i) {
    const int64_t at = i % options_.history_size;
    const Tensor change = vector(fmt::format("old_dirs/{}", at), size, gradient.dtype()),
                 step = vector(fmt::format("old_stps/{}", at), size, gradient.dtype());
    history.push_back({change, step, dot(change, step)});
  }
  const auto times = [&](double factor, const Tensor& x) { return scalar(factor, x.dtype()) * x; };
  Tensor q = -gradient;
  for (auto pair = history.rbegin(); pair != history.rend(); ++pair) {
    pair->share = dot(pair->step, q) / pair->curvature;
    q = known(q - times(pair->share, pair->change));
  }
  if (!history.empty()) q = times(history.back().curvature / dot(history.back().change, history.back().change), q);
  for (const Pair& pair : history) q = known(q + times(pair.share - dot(pair.change, q) / pair.curvature, pair.step));
  return known(q);
}

Tensor LBFGS::step(const std::function<Tensor()>& closure) {
  const Parameters all = parameters();
  if (param_groups() != 1) fail<ValueError>(name(), "takes one group of parameters, got {}", param_groups());
  if (all.empty()) fail<StateError>(name(), "has no parameters; give them to the constructor");
  for (const Variable& p : all)
    if (p.dtype() != all[0].dtype())
      fail<DTypeError>(name(), "parameters must have one dtype, got {} and {}", all[0].dtype(), p.dtype());

  Problem problem(all, closure);
  LinePoint now = problem.evaluate();
  const Tensor first_loss = problem.last_loss();
  const Variable steps = number("n_iter"), evaluations = number("func_evals"), last_t = number("t");
  const int64_t most_evaluations = options_.max_eval.value_or(options_.max_iter * 5 / 4);
  const int64_t size = now.gradient.shape()[0];
  const Variable direction = vector("d", size, now.gradient.dtype()),
                 last_gradient = vector("prev_flat_grad", size, now.gradient.dtype());
  int64_t used = 1;
  set(evaluations, evaluations.item() + 1);
  for (int64_t i = 1; i <= options_.max_iter && largest(now.gradient) > options_.tolerance_grad; ++i) {
    const bool first = steps.item() == 0;
    if (!first) {
      const Tensor change = known(now.gradient - last_gradient);
      const Tensor taken = known(scalar(last_t.item(), direction.dtype()) * direction);
      if (dot(change, taken) > 1e-10) remember(change, taken);
    }
    set(steps, steps.item() + 1);
    overwrite(direction, newton_direction(now.gradient));
    overwrite(last_gradient, now.gradient);
    const double rate = learning_rate();
    double t = first ? std::min(1.0, 1.0 / sum(abs(now.gradient)).item()) * rate : rate;
    now.slope = dot(now.gradient, direction);
    set(last_t, t);
    if (now.slope > -options_.tolerance_change) break;

    const double loss_before = now.loss;
    problem.leave_from_here();
    int64_t evaluated = 0;
    if (options_.line_search_fn) {
      const WolfeResult found = wolfe_search(
          [&](double far) {
            problem.go(far, direction);
            LinePoint point = problem.evaluate();
            point.t = far;
            point.slope = dot(point.gradient, direction);
            return point;
          },
          now,
          {.first_t = t,
           .direction_size = largest(direction),
           .tolerance_change = options_.tolerance_change,
           .most_iterations = most_evaluations - used});
      now = found.point;
      now.t = 0;
      t = found.point.t;
      evaluated = found.evaluations;
      problem.go(t, direction);
    } else {
      problem.go(t, direction);
      if (i < options_.max_iter) {
        now = problem.evaluate();
        evaluated = 1;
      }
    }
    set(last_t, t);
    used += evaluated;
    set(evaluations, evaluations.item() + static_cast<double>(evaluated));
    if (used >= most_evaluations) break;
    if (t * largest(direction) <= options_.tolerance_change) break;
    if (std::abs(now.loss - loss_before) < options_.tolerance_change) break;
  }
  iterations().assign_add(constant(1, DType::int64));
  end_step();
  return first_loss;
}

}  // namespace isochron::optim
