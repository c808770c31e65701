#include "isochron/train/training.h"

#include <algorithm>

#include "isochron/base/prefault.h"
#include "isochron/base/row_error.h"
#include "isochron/base/threads.h"
#include "isochron/exec/first_bad_op.h"
#include "isochron/graph/gradient.h"
#include "isochron/nn/masking.h"
#include "isochron/ops/ops.h"
#include "isochron/timeline/timeline.h"

namespace isochron {

SmallVector<const Tensor*, 8> Columns::used(bool targets) const {
  SmallVector<const Tensor*, 8> all;
  for (const Tensor& tensor : x) all.push_back(&tensor);
  if (!targets) return all;
  for (const Tensor& tensor : y) all.push_back(&tensor);
  for (const Tensor& tensor : weight) all.push_back(&tensor);
  return all;
}

TrainingState::TrainingState(Model& model, CompileOptions compile_options)
    : options(std::move(compile_options)), model_(&model) {
  const std::vector<std::string> names = model.output_names();
  const auto losses = places_by_output("compile", "loss", options.loss, names);
  const auto weights = places_by_output("compile", "loss_weights", options.loss_weights, names);
  const auto metrics = options.metrics.by_output(names), weighted = options.weighted_metrics.by_output(names);
  for (size_t i = 0; i < names.size(); ++i) {
    Output output{names[i], {}, 1, metrics[i], weighted[i], nullptr, {}};
    if (losses[i]) output.loss = options.loss.values()[*losses[i]];
    if (weights[i]) output.weight = options.loss_weights.values()[*weights[i]];
    if (output.loss && names.size() > 1) output.loss_metric = std::make_shared<Mean>(names[i] + "_loss");
    if (!output.loss && !(output.metrics.empty() && output.weighted_metrics.empty()) && !options.loss.empty())
      fail<ValueError>("compile", "output \"{}\" has metrics and no loss: only outputs with a loss get targets",
                       names[i]);
    // A name that no metric has is said now; which form "accuracy" takes is known when the data are.
    for (const auto* list : {&output.metrics, &output.weighted_metrics})
      for (const AnyMetric& metric : *list)
        if (!metric.is_object()) (void)metric.resolve({DType::float32, {1, 1}}, {DType::float32, {1, 1}});
    outputs_.push_back(std::move(output));
  }
}

void Model::compile(CompileOptions options) {
  if (training_ && training_->in_use())
    fail<StateError>("compile",
                     "model \"{}\" is at work in a call that has not returned; in a callback, set stop_training and "
                     "compile when fit has returned",
                     name());
  const std::vector<AnyLoss>& losses = options.loss.values();
  if (std::none_of(losses.begin(), losses.end(), [](const AnyLoss& loss) { return bool(loss); }))
    fail<ValueError>("compile", "needs a loss, e.g. .loss = \"mse\"");
  if (!options.optimizer) fail<ValueError>("compile", "needs an optimizer, e.g. .optimizer = \"adam\"");
  // Training is certain to come: threads start while the user goes on, and room for optimizer state and gradients is
  // made present; a guess while the weights are unknown. What is too large for the reserve would leave it unused.
  ThreadTeam::global().start();
  constexpr int64_t kLeast = 2'500'000, kMost = 32'000'000;
  int64_t weights = 0;
  for (const Variable& weight : trainable_variables())
    if (const int64_t bytes = weight.spec().bytes(); 3 * bytes <= kMost) weights += bytes;
  reserve_pages(static_cast<size_t>(std::clamp(3 * weights, kLeast, kMost)));
  training_ = std::make_shared<TrainingState>(*this, std::move(options));
}

std::vector<std::string> TrainingState::target_names() const {
  std::vector<std::string> names;
  for (const Output& output : outputs_)
    if (output.loss) names.push_back(output.name);
  return names;
}

void TrainingState::reset_metrics() {
  loss_metric_.reset();
  for (const Output& output : outputs_) {
    if (output.loss_metric) output.loss_metric->reset();
    for (const Measured& one : output.measured) one.metric->reset();
  }
}

Logs TrainingState::logs() const {
  Logs out;
  out.emplace_back("loss", loss_metric_.result().item());
  for (const Output& output : outputs_)
    if (output.loss_metric) out.emplace_back(output.loss_metric->name(), output.loss_metric->result().item());
  for (const Output& output : outputs_)
    for (const Measured& one : output.measured) {
      const std::vector<double> values = one.metric->result().to_vector<double>();
      for (size_t i = 0; i < values.size(); ++i)
        out.emplace_back(values.size() == 1 ? one.name : fmt::format("{}_{}", one.name, i), values[i]);
    }
  return out;
}

// A name that is taken gets a number, or before that "weighted_", as in Keras.
void TrainingState::resolve_metrics(Output& output, const TensorSpec& target, const TensorSpec& prediction) const {
  const std::string prefix = outputs_.size() > 1 ? output.name + "_" : "";
  const auto taken = [&](const std::string& name) {
    return std::any_of(output.measured.begin(), output.measured.end(),
                       [&](const Measured& one) { return one.name == name; });
  };
  const auto add = [&](const AnyMetric& given, bool weighted) {
    const std::shared_ptr<Metric> metric = given.resolve(target, prediction);
    std::string name = prefix + metric->name();
    if (weighted && taken(name)) name = prefix + "weighted_" + metric->name();
    const std::string base = name;
    for (int n = 1; taken(name); ++n) name = fmt::format("{}_{}", base, n);
    output.measured.push_back({std::move(name), metric, weighted});
  };
  for (const AnyMetric& metric : output.metrics) add(metric, false);
  for (const AnyMetric& metric : output.weighted_metrics) add(metric, true);
}

namespace {

// Weights of a metric where the prediction carries a mask: steps that do not count weigh nothing.
Tensor counted_steps(const Tensor& prediction, const Tensor& weight) {
  const Tensor mask = mask_of(prediction);
  if (!mask.defined() || prediction.rank() != mask.rank() + 1) return weight;
  const Tensor counts = cast(mask, is_floating(prediction.dtype()) ? prediction.dtype() : DType::float32);
  if (!weight.defined()) return counts;
  std::vector<int64_t> shape = weight.shape().to_vector();
  shape.resize(static_cast<size_t>(std::max(mask.rank(), weight.rank())), 1);
  return counts * cast(reshape(weight, shape), counts.dtype());
}

// Losses, metrics and what predict() gives are never 16 bits wide.
Tensor full_width(const Tensor& prediction) {
  if (!is_floating(prediction.dtype()) || size_of(prediction.dtype()) > 2) return prediction;
  const Tensor wide = cast(prediction, DType::float32);
  if (const Tensor mask = mask_of(prediction); mask.defined()) set_mask(wide, mask);
  return wide;
}

}  // namespace

TensorList TrainingState::body(StepKind kind, Feed feed, const Columns& columns, std::span<const Tensor> arguments) {
  std::vector<Tensor> batch(arguments.begin(), arguments.end());
  if (feed == Feed::gathered) {
    NodePhaseScope phase(Phase::input);
    const Tensor rows = batch.back();
    batch.pop_back();
    for (Tensor& column : batch) column = gather(column, rows);
  }
  const bool training = kind == StepKind::train;
  const auto inputs_end = batch.begin() + static_cast<ptrdiff_t>(columns.x.size());
  std::vector<Tensor> predictions = (*model_)(std::vector<Tensor>(batch.begin(), inputs_end), {.training = training});
  for (Tensor& prediction : predictions) prediction = full_width(prediction);
  if (kind == StepKind::predict) return TensorList(predictions.begin(), predictions.end());
  if (predictions.size() != outputs_.size())
    fail<ValueError>("fit", "model \"{}\" gave {} outputs, compile() was told of {}", model_->name(),
                     predictions.size(), outputs_.size());

  // Every batch counts by its examples, so that a ragged last one does not weigh too much.
  const auto count_in = [&](Mean& metric, const Tensor& loss) {
    NodePhaseScope phase(Phase::metrics);
    metric.add(reshape(loss, {1}), full({1}, static_cast<double>(batch[0].shape()[0])));
  };
  struct Pair {
    Tensor y, weight;
  };
  std::vector<Pair> targets(outputs_.size());
  Tensor loss;
  auto target = inputs_end;
  for (size_t i = 0, with_loss = 0; i < outputs_.size(); ++i) {
    Output& output = outputs_[i];
    if (!output.loss) continue;
    const size_t weight_place = columns.x.size() + columns.y.size() + (columns.weight.size() > 1 ? with_loss : 0);
    targets[i] = {*target++, columns.weight.empty() ? Tensor() : batch[weight_place]};
    ++with_loss;
    Tensor own = (*output.loss)(targets[i].y, predictions[i], targets[i].weight);
    if (own.rank() > 0) own = mean(own);
    if (output.loss_metric) count_in(*output.loss_metric, own);
    if (output.weight != 1) own = own * output.weight;
    loss = loss.defined() ? loss + cast(own, loss.dtype()) : own;
  }
  for (const Tensor& penalty : model_->losses()) loss = loss + cast(penalty, loss.dtype());
  count_in(loss_metric_, loss);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Output& output = outputs_[i];
    if (!targets[i].y.defined()) continue;
    NodePhaseScope phase(Phase::metrics);
    if (output.measured.empty()) resolve_metrics(output, targets[i].y.spec(), predictions[i].spec());
    for (const Measured& one : output.measured)
      one.metric->update(targets[i].y, predictions[i],
                         counted_steps(predictions[i], one.weighted ? targets[i].weight : Tensor()));
  }
  if (!training) return {};

  const std::vector<Variable> variables = model_->trainable_variables();
  const std::vector<Tensor> sources(variables.begin(), variables.end());
  const Tensor scaled = options.optimizer->scale_loss(loss);
  const std::vector<Tensor> slopes = gradients({&scaled, 1}, {}, sources);
  std::vector<Watched> watched;
  for (size_t i = 0; i < slopes.size(); ++i)
    if (slopes[i].defined()) watched.push_back({slopes[i], fmt::format("the gradient of \"{}\"", sources[i].name())});
  loss = check_finite(loss, "loss", watched);
  // A model without weights has a loss and nothing to learn, as in Keras.
  if (!sources.empty()) options.optimizer->apply_gradients(slopes, sources);
  NodePhaseScope phase(Phase::update);
  for (const auto& [variable, constraint] : model_->constrained_weights())
    variable.assign(constraint.project(variable));
  return {loss};
}

TrainingState::Plan& TrainingState::plan_for(StepKind kind, const Columns& columns, Feed feed, int64_t count) {
  const SmallVector<const Tensor*, 8> used = columns.used(kind != StepKind::predict);
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
  Plan plan{kind, feed, {}, columns.x.size(), columns.y.size(), columns.weight.size(), nullptr, false};
  for (const Tensor* column : used)
    plan.arguments.push_back(
        {column->dtype(), feed == Feed::gathered ? column->shape() : column->shape().with(0, count)});
  if (feed == Feed::gathered) plan.arguments.push_back({DType::int64, {count}});
  plan.traced = TracedPlan::trace(
      plan.arguments, [&](std::span<const Tensor> arguments) { return body(kind, feed, columns, arguments); });
  plans_.push_front(std::move(plan));
  if (plans_.size() > kPlansKept) plans_.pop_back();
  return plans_.front();
}

TracedPlan& TrainingState::train_plan(const Columns& columns, Feed feed, int64_t count) {
  return *plan_for(StepKind::train, columns, feed, count).traced;
}

MemoryNeed TrainingState::memory_of(TracedPlan& plan, StepKind kind, const Columns& columns, int64_t count) const {
  const SmallVector<const Tensor*, 8> data = columns.used(kind != StepKind::predict);
  return memory_need(*model_, kind == StepKind::train ? &*options.optimizer : nullptr, plan.executable(),
                     {data.begin(), data.end()}, count, input_);
}

// "x holds nan in row 17": the first row of this batch that is not finite, of the column a search ended at.
std::string TrainingState::origin_of_bad_loss(Plan& plan, const Columns& columns, int64_t first, int64_t count,
                                              const int64_t* indices, std::span<const void* const> arguments) {
  const auto found = plan.traced->explain(
      arguments, [&](std::span<const Tensor> given) { return body(plan.kind, plan.feed, columns, given); });
  if (!found) return "";
  if (found->argument < 0) return found->text;
  const auto argument = static_cast<size_t>(found->argument);
  const Tensor& column = *columns.used(true)[argument];
  const char* const name = argument < columns.x.size()                      ? "x"
                           : argument < columns.x.size() + columns.y.size() ? "y"
                                                                            : "sample_weight";
  const TensorSpec row_spec{column.dtype(), column.shape().with(0, 1)};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = indices ? indices[i] : first + i;
    const auto* bytes = static_cast<const std::byte*>(column.raw_data()) + row * row_spec.bytes();
    if (const std::string bad = bad_numbers(row_spec, bytes); !bad.empty())
      return fmt::format("{} holds {} in row {} of the data", name, bad, row);
  }
  return fmt::format("{} holds {}", name, found->text);
}

StepResult TrainingState::step(StepKind kind, const Columns& columns, Feed feed, int64_t first, int64_t count,
                               const int64_t* indices, std::span<void* const> predictions, const char* what) {
  Plan& plan = plan_for(kind, columns, feed, count);
  if (!plan.checked && !scratch_) {
    constexpr const char* kNames[] = {"fit", "evaluate", "predict"};
    preflight(what ? what : kNames[static_cast<size_t>(kind)], memory_of(*plan.traced, kind, columns, count));
    plan.checked = true;
  }
  SmallVector<const void*, 9> pointers;
  SmallVector<Storage, 9> held;  // a column may be a weight
  const auto add = [&](const Tensor& column) {
    const auto* bytes = static_cast<const std::byte*>(column.raw_data());
    if (feed == Feed::sliced && column.shape()[0] > 0) bytes += first * (column.spec().bytes() / column.shape()[0]);
    pointers.push_back(bytes);
    held.push_back(held_bytes(column));
  };
  for (const Tensor* column : columns.used(kind != StepKind::predict)) add(*column);
  if (feed == Feed::gathered) pointers.push_back(indices);
  const std::span<const void* const> arguments(pointers.data(), pointers.size());
  double loss[2];  // room for a scalar of any dtype
  void* const room[] = {loss};
  const std::span<void* const> results =
      kind == StepKind::predict ? predictions : std::span<void* const>(room, plan.traced->results().size());
  const bool warns = options.nan_policy == NanPolicy::warn;
  try {
    // Once warned there is nothing to stop for.
    plan.traced->run(arguments, results, /*check_numbers=*/!scratch_ && (!warns || bad_loss_.empty()), scratch_);
    steps_run_.fetch_add(1, std::memory_order_relaxed);
    return StepResult::done;
  } catch (const RowError& error) {
    const int64_t labels = columns.y.empty() ? 1 : columns.y[0].elements();
    const int64_t labels_a_row = std::max<int64_t>(1, labels / columns.rows());
    const int64_t row = error.row() / labels_a_row;
    throw error.at(feed == Feed::gathered ? indices[row] : first + row);
  } catch (const NumericError& error) {
    if (kind != StepKind::train) throw;
    if (bad_loss_.empty() || options.nan_policy == NanPolicy::raise) {
      const std::string origin = origin_of_bad_loss(plan, columns, first, count, indices, arguments);
      bad_loss_ = fmt::format("{}{}{}", error.what(), origin.empty() ? "" : ": ", origin);
    }
    if (options.nan_policy == NanPolicy::raise) throw NumericError("", std::exchange(bad_loss_, {}));
    if (!warns) {
      // A step that is left out does not mend weights that are lost.
      for (const Variable& weight : model_->weights())
        if (!bad_numbers(weight.spec(), weight.raw_data()).empty())
          throw NumericError("", std::exchange(bad_loss_, {}));
      return StepResult::skipped;
    }
  }
  plan.traced->run(arguments, results, /*check_numbers=*/false);
  return StepResult::not_finite;
}

const TrainingState::Plan* TrainingState::last_training_plan() const {
  const auto found =
      std::find_if(plans_.begin(), plans_.end(), [](const Plan& plan) { return plan.kind == StepKind::train; });
  return found == plans_.end() ? nullptr : &*found;
}

std::vector<Variable> TrainingState::metric_variables() const {
  std::vector<Variable> all = loss_metric_.variables();
  const auto add = [&](const Metric& metric) {
    all.insert(all.end(), metric.variables().begin(), metric.variables().end());
  };
  for (const Output& output : outputs_) {
    if (output.loss_metric) add(*output.loss_metric);
    for (const Measured& one : output.measured) add(*one.metric);
  }
  return all;
}

std::vector<Variable> TrainingState::updated_variables() const {
  const Plan* plan = last_training_plan();
  return plan ? plan->traced->updated_variables() : std::vector<Variable>{};
}

// feed, rows of the batch, columns of each kind; then dtype, rank and extents of each column.
std::vector<int64_t> TrainingState::step_shapes() const {
  const Plan* plan = last_training_plan();
  if (!plan) return {};
  const size_t columns = plan->x + plan->y + plan->weight;
  std::vector<int64_t> out{static_cast<int64_t>(plan->feed), plan->arguments.back().shape[0],
                           static_cast<int64_t>(plan->x), static_cast<int64_t>(plan->y),
                           static_cast<int64_t>(plan->weight)};
  for (size_t i = 0; i < columns; ++i) {
    const TensorSpec& spec = plan->arguments[i];
    out.insert(out.end(), {static_cast<int64_t>(spec.dtype), spec.shape.rank()});
    for (int axis = 0; axis < spec.shape.rank(); ++axis) out.push_back(spec.shape[axis]);
  }
  return out;
}

void TrainingState::prepare(std::span<const int64_t> shapes) {
  size_t at = 0;
  const auto next = [&](int64_t least, int64_t most) {
    if (at == shapes.size() || shapes[at] < least || shapes[at] > most)
      fail<FileError>("resume", "the shapes of the training step are damaged");
    return shapes[at++];
  };
  constexpr int64_t kMostColumns = 1000, kLargest = int64_t{1} << 48;
  const Feed feed = next(0, 1) ? Feed::sliced : Feed::gathered;
  const int64_t count = next(1, kLargest);
  Columns columns;
  const int64_t x = next(1, kMostColumns), y = next(0, kMostColumns), weight = next(0, kMostColumns);
  for (int64_t i = 0; i < x + y + weight; ++i) {
    const auto dtype = static_cast<DType>(next(0, kDTypeCount - 1));
    std::vector<int64_t> dims(static_cast<size_t>(next(1, kMaxRank)));
    for (int64_t& extent : dims) extent = next(0, kLargest);
    std::vector<Tensor>& kind = i < x ? columns.x : i < x + y ? columns.y : columns.weight;
    // Only its shape and dtype are looked at; no bytes are behind it.
    const TensorSpec spec{dtype, Shape(dims)};
    kind.push_back(Tensor::from_storage(Storage::wrap(&at, static_cast<size_t>(spec.bytes()), [] {}), spec));
  }
  plan_for(StepKind::train, columns, feed, count);
}

const std::vector<TensorSpec>& TrainingState::prediction_specs(const Columns& columns, int64_t batch) {
  return plan_for(StepKind::predict, columns, Feed::sliced, batch).traced->results();
}

}  // namespace isochron
