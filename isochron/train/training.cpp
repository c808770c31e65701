#include "isochron/train/training.h"

#include <algorithm>

#include "isochron/base/row_error.h"
#include "isochron/exec/first_bad_op.h"
#include "isochron/graph/gradient.h"
#include "isochron/nn/masking.h"
#include "isochron/ops/ops.h"
#include "isochron/timeline/timeline.h"

namespace isochron {

TrainingState::TrainingState(Model& model, CompileOptions compile_options)
    : options(std::move(compile_options)), model_(&model) {}

void TrainingState::reset_metrics() {
  loss_metric_.reset();
  for (const auto& metric : metrics_) metric->reset();
}

Logs TrainingState::logs() const {
  Logs out;
  out.emplace_back("loss", loss_metric_.result().item());
  for (const auto& metric : metrics_) {
    const std::vector<double> values = metric->result().to_vector<double>();
    for (size_t i = 0; i < values.size(); ++i)
      out.emplace_back(values.size() == 1 ? metric->name() : fmt::format("{}_{}", metric->name(), i), values[i]);
  }
  return out;
}

void TrainingState::update_metrics(const Tensor& y, const Tensor& prediction, const Tensor& weight,
                                   const Tensor& loss) {
  NodePhaseScope phase(Phase::metrics);
  // Every batch counts by its examples, so that a ragged last one does not weigh too much.
  const auto examples = static_cast<double>(prediction.shape()[0]);
  loss_metric_.add(reshape(loss, {1}), full({1}, examples));
  if (metrics_.empty())
    for (const AnyMetric& metric : options.metrics) metrics_.push_back(metric.resolve(y.spec(), prediction.spec()));
  for (const auto& metric : metrics_) metric->update(y, prediction, weight);
}

namespace {

// The weights of the loss when the prediction carries a mask: steps that do not count weigh nothing, and the others so
// much more that the mean over all is the mean over them.
Tensor counted_steps(const Tensor& prediction, const Tensor& weight) {
  const Tensor mask = mask_of(prediction);
  if (!mask.defined() || prediction.rank() != mask.rank() + 1) return weight;
  const Tensor counts = cast(mask, is_floating(prediction.dtype()) ? prediction.dtype() : DType::float32);
  const Tensor share = counts * (static_cast<double>(mask.elements()) / maximum(sum(counts), 1));
  if (!weight.defined()) return share;
  std::vector<int64_t> shape = weight.shape().to_vector();
  shape.resize(static_cast<size_t>(std::max(mask.rank(), weight.rank())), 1);
  return share * cast(reshape(weight, shape), share.dtype());
}

}  // namespace

TensorList TrainingState::body(StepKind kind, Feed feed, std::span<const Tensor> arguments) {
  std::vector<Tensor> batch(arguments.begin(), arguments.end());
  if (feed == Feed::gathered) {
    NodePhaseScope phase(Phase::input);
    const Tensor rows = batch.back();
    batch.pop_back();
    for (Tensor& column : batch) column = gather(column, rows);
  }
  const bool training = kind == StepKind::train;
  const Tensor prediction = (*model_)(batch[0], {.training = training});
  if (kind == StepKind::predict) return {prediction};

  const Tensor &y = batch[1], weight = batch.size() > 2 ? batch[2] : Tensor();
  Tensor loss = (*options.loss)(y, prediction, counted_steps(prediction, weight));
  if (loss.rank() > 0) loss = mean(loss);
  for (const Tensor& penalty : model_->losses()) loss = loss + cast(penalty, loss.dtype());
  if (training) loss = check_finite(loss, "loss");
  update_metrics(y, prediction, weight, loss);
  if (!training) return {};

  const std::vector<Variable> variables = model_->trainable_variables();
  const std::vector<Tensor> sources(variables.begin(), variables.end());
  // A model without weights has a loss and nothing to learn, as in Keras.
  if (!sources.empty()) options.optimizer->apply_gradients(gradients({&loss, 1}, {}, sources), sources);
  NodePhaseScope phase(Phase::update);
  for (const auto& [variable, constraint] : model_->constrained_weights())
    variable.assign(constraint.project(variable));
  return {loss};
}

TrainingState::Plan& TrainingState::plan_for(StepKind kind, const Columns& columns, Feed feed, int64_t count) {
  SmallVector<const Tensor*, 3> used{&columns.x};
  if (kind != StepKind::predict) used.push_back(&columns.y);
  if (kind != StepKind::predict && columns.weight.defined()) used.push_back(&columns.weight);
  const auto fits = [&](const Plan& plan) {
    if (plan.kind != kind || plan.feed != feed) return false;
    const size_t columns_here = plan.arguments.size() - (feed == Feed::gathered ? 1 : 0);
    if (columns_here != used.size()) return false;
    if (feed == Feed::gathered && plan.arguments.back().shape[0] != count) return false;
    for (size_t i = 0; i < used.size(); ++i) {
      const TensorSpec& have = plan.arguments[i];
      const TensorSpec& want = used[i]->spec();
      if (have.dtype != want.dtype || have.shape.rank() != want.shape.rank()) return false;
      if (have.shape[0] != (feed == Feed::gathered ? want.shape[0] : count)) return false;
      for (int axis = 1; axis < want.shape.rank(); ++axis)
        if (have.shape[axis] != want.shape[axis]) return false;
    }
    return true;
  };
  for (auto it = plans_.begin(); it != plans_.end(); ++it) {
    if (!fits(*it)) continue;
    if (it != plans_.begin()) plans_.splice(plans_.begin(), plans_, it);
    return plans_.front();
  }
  ScopedSpan span(Phase::trace, "trace");
  Plan plan{kind, feed, {}, nullptr};
  for (const Tensor* column : used)
    plan.arguments.push_back(
        {column->dtype(), feed == Feed::gathered ? column->shape() : column->shape().with(0, count)});
  if (feed == Feed::gathered) plan.arguments.push_back({DType::int64, {count}});
  plan.traced =
      TracedPlan::trace(plan.arguments, [&](std::span<const Tensor> arguments) { return body(kind, feed, arguments); });
  plans_.push_front(std::move(plan));
  if (plans_.size() > kPlansKept) plans_.pop_back();
  return plans_.front();
}

// "x holds nan in row 17": the first row of this batch that is not finite, of the column a search ended at.
std::string TrainingState::origin_of_bad_loss(Plan& plan, const Columns& columns, int64_t first, int64_t count,
                                              const int64_t* indices, std::span<const void* const> arguments) {
  const auto found =
      plan.traced->explain(arguments, [&](std::span<const Tensor> given) { return body(plan.kind, plan.feed, given); });
  if (!found) return "";
  if (found->argument < 0) return found->text;
  const Tensor* const by_argument[] = {&columns.x, &columns.y, &columns.weight};
  const char* const names[] = {"x", "y", "sample_weight"};
  const Tensor& column = *by_argument[found->argument];
  const TensorSpec row_spec{column.dtype(), column.shape().with(0, 1)};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = indices ? indices[i] : first + i;
    const auto* bytes = static_cast<const std::byte*>(column.raw_data()) + row * row_spec.bytes();
    if (const std::string bad = bad_numbers(row_spec, bytes); !bad.empty())
      return fmt::format("{} holds {} in row {} of the data", names[found->argument], bad, row);
  }
  return fmt::format("{} holds {}", names[found->argument], found->text);
}

StepResult TrainingState::step(StepKind kind, const Columns& columns, Feed feed, int64_t first, int64_t count,
                               const int64_t* indices, void* prediction) {
  Plan& plan = plan_for(kind, columns, feed, count);
  SmallVector<const void*, 4> pointers;
  const auto add = [&](const Tensor& column) {
    const auto* bytes = static_cast<const std::byte*>(column.raw_data());
    if (feed == Feed::sliced && column.shape()[0] > 0) bytes += first * (column.spec().bytes() / column.shape()[0]);
    pointers.push_back(bytes);
  };
  add(columns.x);
  if (kind != StepKind::predict) add(columns.y);
  if (kind != StepKind::predict && columns.weight.defined()) add(columns.weight);
  if (feed == Feed::gathered) pointers.push_back(indices);
  const std::span<const void* const> arguments(pointers.data(), pointers.size());
  double loss[2];  // room for a scalar of any dtype
  void* room[] = {kind == StepKind::predict ? prediction : loss};
  const std::span<void* const> results(room, plan.traced->results().size());
  const bool warns = options.nan_policy == NanPolicy::warn;
  try {
    // Once warned there is nothing to stop for.
    plan.traced->run(arguments, results, /*check_numbers=*/!warns || bad_loss_.empty());
    return StepResult::done;
  } catch (const RowError& error) {
    const int64_t labels_a_row = std::max<int64_t>(1, columns.y.elements() / columns.rows());
    const int64_t row = error.row() / labels_a_row;
    throw error.at(feed == Feed::gathered ? indices[row] : first + row);
  } catch (const NumericError& error) {
    if (kind != StepKind::train) throw;
    if (bad_loss_.empty() || options.nan_policy == NanPolicy::raise) {
      const std::string origin = origin_of_bad_loss(plan, columns, first, count, indices, arguments);
      bad_loss_ = fmt::format("{}{}{}", error.what(), origin.empty() ? "" : ": ", origin);
    }
    if (options.nan_policy == NanPolicy::raise) throw NumericError("", std::exchange(bad_loss_, {}));
    if (!warns) return StepResult::skipped;
  }
  plan.traced->run(arguments, results, /*check_numbers=*/false);
  return StepResult::not_finite;
}

const TensorSpec& TrainingState::prediction_spec(const Columns& columns, int64_t batch) {
  return plan_for(StepKind::predict, columns, Feed::sliced, batch).traced->results()[0];
}

}  // namespace isochron
