// Updates of Keras 3's optimizers that need more than one pass over a variable, written with plain ops.
#include <algorithm>
#include <cmath>
#include <regex>

#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "isochron/optim/optimizers.h"

namespace isochron {
namespace {

Tensor root_mean_square(const Tensor& x) { return sqrt(mean(square(x))); }

}  // namespace

std::vector<Optimizer::Slot> Ftrl::slots(const Variable&) const {
  return {{"accumulator", options_.initial_accumulator_value}, {"linear"}};
}

void Ftrl::update_one(const Tensor& gradient, const Variable& variable, const Tensor& learning_rate) {
  const Variable accumulator = slot(variable, "accumulator"), linear = slot(variable, "linear");
  const FtrlOptions& o = options_;
  const Tensor total = accumulator + square(gradient);
  const Tensor root = pow(total, -o.learning_rate_power), root_before = pow(accumulator, -o.learning_rate_power);
  const Tensor shrunk = gradient + 2 * o.l2_shrinkage_regularization_strength * variable;
  const Tensor pull = linear + shrunk - (root - root_before) / learning_rate * variable;
  const Tensor curvature = (root + o.beta) / learning_rate + 2 * o.l2_regularization_strength;
  linear.assign(pull);
  variable.assign((clip(pull, -o.l1_regularization_strength, o.l1_regularization_strength) - pull) / curvature);
  accumulator.assign(total);
}

std::vector<Optimizer::Slot> Lamb::slots(const Variable&) const { return {{"momentum"}, {"velocity"}}; }

void Lamb::update_one(const Tensor& gradient, const Variable& variable, const Tensor& learning_rate) {
  const Variable m = slot(variable, "momentum"), v = slot(variable, "velocity");
  const Tensor step = cast(updates_done(), DType::float64) + 1;
  const auto correction = [&](double beta) { return cast(1 - pow(beta, step), variable.dtype()); };
  m.assign(m + (gradient - m) * (1 - options_.beta_1));
  v.assign(v + (square(gradient) - v) * (1 - options_.beta_2));
  const Tensor direction =
      (m / correction(options_.beta_1)) / (sqrt(v / correction(options_.beta_2)) + options_.epsilon);
  const Tensor weight_norm = norm(variable), direction_norm = norm(direction);
  const Tensor both = logical_and(greater(weight_norm, 0), greater(direction_norm, 0));
  const Tensor trust = where(both, weight_norm / where(both, direction_norm, 1), 1);
  variable.assign(variable - trust * learning_rate * direction);
}

std::vector<Optimizer::Slot> Adafactor::slots(const Variable& variable) const {
  const Shape& shape = variable.shape();
  if (shape.rank() < 2) return {{"velocity"}};
  std::vector<int64_t> rows(shape.begin(), shape.end() - 1), columns(shape.begin(), shape.end() - 2);
  columns.push_back(shape[-1]);
  return {{"row_velocity", 0, Shape(rows)}, {"column_velocity", 0, Shape(columns)}};
}

void Adafactor::update_one(const Tensor& gradient, const Variable& variable, const Tensor& learning_rate) {
  const DType dtype = variable.dtype();
  const Tensor step = cast(updates_done(), DType::float64) + 1;
  const Tensor fresh = cast(pow(step, options_.beta_2_decay), dtype);  // the share of this gradient in the means
  const Tensor rate = minimum(learning_rate, cast(rsqrt(step), dtype));
  const Tensor squares = square(gradient) + options_.epsilon_1;
  const auto averaged = [&](const char* name, const Tensor& now) {
    const Variable kept = slot(variable, name);
    kept.assign((1 - fresh) * kept + fresh * now);
    return Tensor(kept.value());
  };
  Tensor velocity;
  if (variable.rank() < 2) {
    velocity = averaged("velocity", squares);
  } else {
    const Tensor rows = averaged("row_velocity", mean(squares, {-1}));
    const Tensor columns = averaged("column_velocity", mean(squares, {-2}));
    velocity = expand_dims(rows / mean(rows, {-1}, true), -1) * expand_dims(columns, -2);
  }
  const Tensor direction = gradient / sqrt(velocity);
  const Tensor clipped = direction / maximum(root_mean_square(direction) / options_.clip_threshold, 1);
  variable.assign(variable - maximum(root_mean_square(variable), options_.epsilon_2) * rate * clipped);
}

bool Muon::takes_adam(const Variable& variable) const {
  if (variable.rank() != 2) return true;
  std::string lower = variable.name();
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (options_.exclude_embeddings && lower.find("embedding") != std::string::npos) return true;
  return std::any_of(options_.exclude_layers.begin(), options_.exclude_layers.end(), [&](const std::string& pattern) {
    return std::regex_search(variable.name(), std::regex(pattern));
  });
}

std::vector<Optimizer::Slot> Muon::slots(const Variable& variable) const {
  if (takes_adam(variable)) return FusedOptimizer::slots(variable);
  return {{"momentum"}};
}

void Muon::update_all(const std::vector<Update>& updates, const Shared& shared) {
  std::vector<Update> adam = updates;
  const auto matrices = std::stable_partition(adam.begin(), adam.end(), [&](const Update& update) {
    return update.slots.size() > 1;  // what takes_adam() said when the variable came
  });
  if (matrices != adam.end()) Optimizer::update_all({matrices, adam.end()}, shared);
  adam.erase(matrices, adam.end());
  if (adam.empty()) return;
  Shared of_adam = shared;
  of_adam.learning_rate = shared.learning_rate * options_.adam_lr_ratio;
  // Variables decay by the rate of the optimizer, not by Adam's share of it.
  of_adam.weight_decay = shared.decays ? options_.adam_weight_decay.value_or(0) / options_.adam_lr_ratio : 0;
  FusedOptimizer::update_all(adam, of_adam);
}

void Muon::update_one(const Tensor& gradient, const Variable& variable, const Tensor& learning_rate) {
  const MuonOptions& o = options_;
  const Variable m = slot(variable, "momentum");
  m.assign(o.momentum * m + gradient);
  Tensor x = o.nesterov ? gradient + o.momentum * m : Tensor(m.value());
  // Newton-Schulz iterations bring all singular values near 1; the smaller of both products is taken.
  const bool tall = variable.shape()[0] > variable.shape()[1];
  x = x / (norm(x) + 1e-7);
  for (int64_t i = 0; i < o.ns_steps; ++i) {
    const Tensor gram = matmul(x, x, {.transpose_a = tall, .transpose_b = !tall});
    const Tensor factor = o.muon_b * gram + o.muon_c * matmul(gram, gram);
    x = o.muon_a * x + (tall ? matmul(x, factor) : matmul(factor, x));
  }
  const auto longer = static_cast<double>(std::max(variable.shape()[0], variable.shape()[1]));
  variable.assign(variable - learning_rate * (o.rms_rate ? std::sqrt(longer) * *o.rms_rate : 1) * x);
}

}  // namespace isochron
