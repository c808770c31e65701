#include "isochron/train/data_checks.h"

#include <cmath>

#include "isochron/ops/create.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {

void check_batch_size(const char* what, int64_t batch_size) {
  if (batch_size < 1) fail<ValueError>(what, "batch_size must be at least 1, got {}", batch_size);
}

void check_fit_options(const FitOptions& o) {
  check_batch_size("fit", o.batch_size);
  if (o.epochs < 0) fail<ValueError>("fit", "epochs must not be negative, got {}", o.epochs);
  if (o.initial_epoch < 0) fail<ValueError>("fit", "initial_epoch must not be negative, got {}", o.initial_epoch);
  if (!(o.validation_split >= 0 && o.validation_split < 1))
    fail<ValueError>("fit", "validation_split must be in [0, 1), got {}", o.validation_split);
  if (o.validation_freq < 1) fail<ValueError>("fit", "validation_freq must be at least 1, got {}", o.validation_freq);
  if (o.validation_batch_size < 0)
    fail<ValueError>("fit", "validation_batch_size must not be negative, got {}", o.validation_batch_size);
  if (o.steps_per_epoch && *o.steps_per_epoch < 1)
    fail<ValueError>("fit", "steps_per_epoch must be at least 1, got {}", *o.steps_per_epoch);
  if (o.validation_steps && *o.validation_steps < 1)
    fail<ValueError>("fit", "validation_steps must be at least 1, got {}", *o.validation_steps);
  if (o.verbose < 0 || o.verbose > 2) fail<ValueError>("fit", "verbose must be 0, 1 or 2, got {}", o.verbose);
  for (const auto& [name, value] :
       {std::pair("first_step_limit", o.watchdog.first_step_limit), std::pair("least_limit", o.watchdog.least_limit),
        std::pair("times_usual", o.watchdog.times_usual)})
    if (!(value > 0)) fail<ValueError>("fit", "{} of the watchdog must be positive, got {}", name, value);
  check_callbacks("fit", o.callbacks);
}

void check_callbacks(const char* what, const std::vector<std::shared_ptr<Callback>>& callbacks) {
  for (const auto& callback : callbacks)
    if (!callback) fail<ValueError>(what, "a callback is null");
}

void check_steps(const char* what, std::optional<int64_t> steps) {
  if (steps && *steps < 1) fail<ValueError>(what, "steps must be at least 1, got {}", *steps);
}

void check_columns(const char* what, const Columns& columns) {
  const auto check = [&](const std::vector<Tensor>& tensors, const char* name) {
    for (const Tensor& tensor : tensors) {
      if (!tensor.defined()) fail<ValueError>(what, "{} is an undefined tensor", name);
      if (tensor.rank() < 1) fail<ShapeError>(what, "{} must have one row an example, got a scalar", name);
      if (tensor.shape()[0] != columns.rows())
        fail<ShapeError>(what, "x and {} must have the same number of rows, got {} and {}", name, columns.rows(),
                         tensor.shape()[0]);
    }
  };
  check(columns.x, "x");
  check(columns.y, "y");
  check(columns.weight, "sample_weight");
  if (columns.rows() == 0) fail<ValueError>(what, "there is no data: x has shape {}", columns.x[0].shape());
}

Tensor class_weights(const char* what, const Columns& columns, const std::map<int64_t, double>& weights) {
  for (const auto& [label, weight] : weights)
    if (!(weight >= 0 && std::isfinite(weight)))
      fail<ValueError>(what, "class_weight must be finite and not negative, got {} for class {}", weight, label);
  if (columns.y.size() != 1 || columns.weight.size() > 1)
    fail<ValueError>(what, "class_weight is for models with one output, got targets for {}", columns.y.size());
  if (columns.y[0].rank() > 2)
    fail<ShapeError>(what, "class_weight needs labels, (rows) or (rows, 1), or one-hot rows, (rows, classes); got {}",
                     columns.y[0].shape());
  const int64_t rows = columns.rows(), width = columns.y[0].elements() / rows;
  const std::vector<double> labels = columns.y[0].to_vector<double>();
  std::vector<float> out(static_cast<size_t>(rows));
  std::vector<float> own;
  if (!columns.weight.empty()) {
    if (columns.weight[0].elements() != rows)
      fail<ShapeError>(what, "sample_weight must have one value a row beside class_weight, got shape {}",
                       columns.weight[0].shape());
    own = columns.weight[0].to_vector<float>();
  }
  for (int64_t row = 0; row < rows; ++row) {
    const double* begin = labels.data() + row * width;
    // One-hot targets name their class by the largest element.
    const int64_t label =
        width > 1 ? std::max_element(begin, begin + width) - begin : static_cast<int64_t>(std::nearbyint(*begin));
    // Classes that are not named weigh 1, as in Keras.
    const auto found = weights.find(label);
    out[static_cast<size_t>(row)] = static_cast<float>(found == weights.end() ? 1.0 : found->second) *
                                    (own.empty() ? 1.f : own[static_cast<size_t>(row)]);
  }
  return Tensor::from_buffer(std::move(out), {rows});
}

Columns split_off(const char* what, Columns& columns, double fraction) {
  const int64_t rows = columns.rows();
  const auto kept = static_cast<int64_t>(static_cast<double>(rows) * (1 - fraction));
  if (kept == 0 || kept == rows)
    fail<ValueError>(
        what, "validation_split {} of {} rows leaves {} for training and {} for validation; both need at least one",
        fraction, rows, kept, rows - kept);
  const auto cut = [&](const std::vector<Tensor>& tensors, int64_t begin, int64_t end) {
    std::vector<Tensor> parts;
    for (const Tensor& t : tensors) parts.push_back(slice(t, {begin}, {end}).eval());
    return parts;
  };
  Columns rest{cut(columns.x, kept, rows), cut(columns.y, kept, rows), cut(columns.weight, kept, rows)};
  columns = {cut(columns.x, 0, kept), cut(columns.y, 0, kept), cut(columns.weight, 0, kept)};
  return rest;
}

}  // namespace isochron
