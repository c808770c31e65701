#include "isochron/train/test_loop.h"

#include <algorithm>

#include "isochron/train/data_checks.h"

namespace isochron {
namespace {

void check_compiled(const Model& model, const char* what) {
  if (!model.training())
    fail<StateError>(what, "model \"{}\" has not been compiled: call compile({{.optimizer = …, .loss = …}}) first",
                     model.name());
}

}  // namespace

TrainingState& compiled(Model& model, const char* what) {
  check_compiled(model, what);
  model.training()->use(model);
  return *model.training();
}

Optimizer& Model::optimizer() const {
  check_compiled(*this, "optimizer");
  return *training_->options.optimizer;
}

Columns columns_of(Model& model, const char* what, const Tensors& x, const Tensors& y, const Tensors& weight) {
  const std::vector<std::string> targets = model.training()->target_names();
  const auto given = [&](const Tensors& tensors, const char* argument, const std::vector<std::string>& names) {
    if (tensors.empty()) fail<ValueError>(what, "{} is an undefined tensor", argument);
    return tensors.in_order(what, argument, names);
  };
  Columns columns{given(x, "x", model.input_names()), given(y, "y", targets), {}};
  const bool weighted = std::any_of(weight.values().begin(), weight.values().end(),
                                    [](const Tensor& tensor) { return tensor.defined(); });
  if (weighted)
    columns.weight = weight.values().size() == 1 ? weight.values() : given(weight, "sample_weight", targets);
  check_columns(what, columns);
  return columns;
}

Logs run_test(TrainingState& state, TestBatches source, std::optional<int64_t> steps,
              const std::vector<std::shared_ptr<Callback>>& callbacks, ProgressLine* progress) {
  state.reset_metrics();
  for (const auto& callback : callbacks) callback->on_test_begin({});
  for (int64_t i = 0; i < steps.value_or(INT64_MAX) && source.next(i); ++i) {
    for (const auto& callback : callbacks) callback->on_test_batch_begin(i, {});
    state.step(StepKind::test, source.columns(), Feed::sliced, source.first, source.count, nullptr);
    if (!callbacks.empty()) {
      const bool wanted =
          std::any_of(callbacks.begin(), callbacks.end(), [](const auto& c) { return c->needs_batch_logs(); });
      const Logs logs = wanted ? state.logs() : Logs{};
      for (const auto& callback : callbacks) callback->on_test_batch_end(i, logs);
    }
    if (progress && progress->due()) progress->update(i + 1, state.logs());
  }
  source.stop();
  Logs logs = state.logs();
  for (const auto& callback : callbacks) callback->on_test_end(logs);
  return logs;
}

}  // namespace isochron
