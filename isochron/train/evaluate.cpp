// Model::evaluate, predict and the calls on one batch.
#include <algorithm>

#include "isochron/ops/ops.h"
#include "isochron/train/data_checks.h"
#include "isochron/train/test_loop.h"

namespace isochron {
namespace {
void prepare_callbacks(const char* what, Model& model, const std::vector<std::shared_ptr<Callback>>& callbacks) {
  check_callbacks(what, callbacks);
  for (const auto& callback : callbacks) callback->set_model(&model);
}
}  // namespace

Logs Model::evaluate(const data::Dataset& dataset, EvaluateOptions options) {
  TrainingState& state = compiled(*this, "evaluate");
  const TrainingState::InUse in_use(state);
  check_steps("evaluate", options.steps);
  prepare_callbacks("evaluate", *this, options.callbacks);
  check_ends("evaluate", dataset, options.steps.has_value(), "steps");
  DatasetFeed feed("evaluate", dataset, input_names().size(), state.target_names().size());
  ProgressLine progress(options.verbose);
  const int64_t steps = std::min(options.steps.value_or(INT64_MAX), feed.batches().value_or(options.steps.value_or(0)));
  progress.begin("", steps);
  const Logs logs = run_test(state, TestBatches(feed), options.steps, options.callbacks, &progress);
  progress.end(steps, logs);
  return logs;
}

Tensor Model::predict(const data::Dataset& dataset, PredictOptions options) {
  check_steps("predict", options.steps);
  check_ends("predict", dataset, options.steps.has_value(), "steps");
  prepare_callbacks("predict", *this, options.callbacks);
  for (const auto& callback : options.callbacks) callback->on_predict_begin({});
  std::vector<Tensor> parts;
  for (const data::Element& batch : dataset.take(options.steps.value_or(-1)).prefetch()) {
    const auto number = static_cast<int64_t>(parts.size());
    for (const auto& callback : options.callbacks) callback->on_predict_batch_begin(number, {});
    const Columns columns = columns_of("predict", batch, input_names().size(), 0);
    parts.push_back(
        predict(columns.x, {.batch_size = std::max<int64_t>(1, columns.rows()), .verbose = options.verbose}));
    for (const auto& callback : options.callbacks) callback->on_predict_batch_end(number, {});
  }
  for (const auto& callback : options.callbacks) callback->on_predict_end({});
  if (parts.empty()) fail<ValueError>("predict", "the data set is empty");
  return parts.size() == 1 ? parts[0] : concat(parts, 0).eval();
}

Logs Model::evaluate(const Tensors& x, const Tensors& y, EvaluateOptions options) {
  TrainingState& state = compiled(*this, "evaluate");
  const TrainingState::InUse in_use(state);
  const Columns columns = columns_of(*this, "evaluate", x, y, options.sample_weight);
  check_batch_size("evaluate", options.batch_size);
  check_steps("evaluate", options.steps);
  prepare_callbacks("evaluate", *this, options.callbacks);
  ProgressLine progress(options.verbose);
  progress.begin("", batches_of(columns.rows(), options.batch_size));
  const Logs logs =
      run_test(state, TestBatches(columns, options.batch_size), options.steps, options.callbacks, &progress);
  progress.end(batches_of(columns.rows(), options.batch_size), logs);
  return logs;
}

std::vector<Tensor> Model::predict_all(const Tensors& x, PredictOptions options) {
  check_batch_size("predict", options.batch_size);
  check_steps("predict", options.steps);
  if (x.empty()) fail<ValueError>("predict", "x is an undefined tensor");
  Columns columns{x.in_order("predict", "x", input_names()), {}, {}};
  for (const Tensor& column : columns.x) {
    if (!column.defined()) fail<ValueError>("predict", "x is an undefined tensor");
    if (column.rank() < 1) fail<ShapeError>("predict", "needs a batch of examples, got a scalar");
    if (column.shape()[0] == 0) fail<ValueError>("predict", "x is empty: shape {}", column.shape());
    column.eval();
  }
  check_columns("predict", columns);
  // Predicting needs no loss: a model that was never compiled gets a state of its own.
  TrainingState plain(*this, {});
  TrainingState& state = training() ? compiled(*this, "predict") : plain;
  const TrainingState::InUse in_use(state);
  const int64_t batches = std::min(batches_of(columns.rows(), options.batch_size), options.steps.value_or(INT64_MAX));
  const int64_t rows =
      batches == batches_of(columns.rows(), options.batch_size) ? columns.rows() : batches * options.batch_size;
  prepare_callbacks("predict", *this, options.callbacks);
  std::vector<TensorSpec> specs;
  for (const TensorSpec& batch : state.prediction_specs(columns, std::min(options.batch_size, rows)))
    specs.push_back({batch.dtype, batch.shape.with(0, rows)});
  std::vector<Storage> results;
  for (const TensorSpec& spec : specs) results.push_back(Storage::allocate(static_cast<size_t>(spec.bytes())));
  std::vector<void*> predictions(specs.size());
  ProgressLine progress(options.verbose);
  progress.begin("", batches);
  for (const auto& callback : options.callbacks) callback->on_predict_begin({});
  for (int64_t batch = 0; batch < batches; ++batch) {
    const int64_t first = batch * options.batch_size;
    for (const auto& callback : options.callbacks) callback->on_predict_batch_begin(batch, {});
    for (size_t i = 0; i < specs.size(); ++i) predictions[i] = results[i].data() + first * (specs[i].bytes() / rows);
    state.step(StepKind::predict, columns, Feed::sliced, first, std::min(options.batch_size, rows - first), nullptr,
               predictions);
    for (const auto& callback : options.callbacks) callback->on_predict_batch_end(batch, {});
    if (progress.due()) progress.update(batch + 1, {});
  }
  for (const auto& callback : options.callbacks) callback->on_predict_end({});
  progress.end(batches, {});
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < specs.size(); ++i) tensors.push_back(Tensor::from_storage(std::move(results[i]), specs[i]));
  return tensors;
}

Tensor Model::predict(const Tensors& x, PredictOptions options) {
  if (output_names().size() > 1)
    fail<StateError>("predict", "model \"{}\" has {} outputs: predict_all() gives them all", name(),
                     output_names().size());
  return predict_all(x, std::move(options))[0];
}

namespace {
Logs on_batch(Model& model, StepKind kind, const char* what, const Tensors& x, const Tensors& y,
              const Tensors& sample_weight, const std::map<int64_t, double>& class_weight = {}) {
  TrainingState& state = compiled(model, what);
  Columns columns = columns_of(model, what, x, y, sample_weight);
  if (!class_weight.empty()) columns.weight = {class_weights(what, columns, class_weight)};
  state.reset_metrics();
  state.clear_bad_loss();
  state.step(kind, columns, Feed::sliced, 0, columns.rows(), nullptr, {}, what);
  return state.logs();
}
}  // namespace

Logs Model::train_on_batch(const Tensors& x, const Tensors& y, const Tensors& sample_weight,
                           const std::map<int64_t, double>& class_weight) {
  return on_batch(*this, StepKind::train, "train_on_batch", x, y, sample_weight, class_weight);
}
Logs Model::test_on_batch(const Tensors& x, const Tensors& y, const Tensors& sample_weight) {
  return on_batch(*this, StepKind::test, "test_on_batch", x, y, sample_weight);
}
Tensor Model::predict_on_batch(const Tensors& x) {
  const bool rows = !x.empty() && x.values()[0].defined() && x.values()[0].rank() > 0;
  return predict(x, {.batch_size = rows ? std::max<int64_t>(1, x.values()[0].shape()[0]) : 1});
}

}  // namespace isochron
