#include "isochron/train/estimate.h"

#include <algorithm>

#include "isochron/base/clock.h"
#include "isochron/base/seconds_text.h"
#include "isochron/data/cached_bytes.h"
#include "isochron/exec/variables.h"
#include "isochron/nn/nn.h"
#include "isochron/ops/ops.h"
#include "isochron/ops/random_key.h"
#include "isochron/optim/optimizers.h"
#include "isochron/train/data_checks.h"
#include "isochron/train/dataset_feed.h"
#include "isochron/train/rehearsal.h"
#include "isochron/train/test_loop.h"

namespace isochron {
namespace {

// Batches of a data set are made alone for so long, but at least so many and at most so many.
constexpr double kInputSeconds = 0.3;
constexpr int kLeastBatches = 5, kMostBatches = 200;

template <class F>
double seconds_of(F&& f) {
  const int64_t begin = monotonic_ns();
  f();
  return seconds_between(begin, monotonic_ns());
}

// How long it takes to fill this many bytes of weights with random numbers and of optimizer state with zeros: a part
// of it done, the rest in proportion.
double filling_seconds(int64_t parameters, int64_t state_bytes) {
  const int64_t sample = std::clamp<int64_t>(parameters, 1, 1 << 20);
  // With a seed of its own: it draws nothing from the program's random numbers.
  const Initializer random = initializers::glorot_uniform(1);
  const double fill = seconds_of([&] { random({sample}).raw_data(); });
  const auto state = static_cast<size_t>(std::clamp<int64_t>(state_bytes, 64, 4 << 20));
  const double zero = seconds_of([&] {
    const Storage bytes = Storage::allocate(state);
    std::fill_n(bytes.data(), state, std::byte{0});
  });
  return fill * static_cast<double>(parameters) / static_cast<double>(sample) +
         zero * static_cast<double>(state_bytes) / static_cast<double>(state);
}

// What trainings to look at them leave as they found it: random numbers, metrics, whether training was stopped. Weights
// and optimizer state are copied as steps first update them.
class NothingChanged {
 public:
  NothingChanged(Model& model, TrainingState& state)
      : model_(model), state_(state), seed_(get_seed()), counter_(random_counter()), stopped_(model.stop_training) {
    for (const Variable& metric : state.metric_variables()) metrics_.emplace_back(metric, metric.read());
    state_.rehearse_on(&scratch_);
  }
  ~NothingChanged() {
    state_.rehearse_on(nullptr);
    for (const auto& [variable, value] : metrics_) overwrite(variable, value);
    model_.stop_training = stopped_;
    set_seed(seed_);
    set_random_counter(counter_);
  }
  NothingChanged(const NothingChanged&) = delete;
  NothingChanged& operator=(const NothingChanged&) = delete;

 private:
  Model& model_;
  TrainingState& state_;
  ScratchVariables scratch_;
  uint64_t seed_, counter_;
  bool stopped_;
  std::vector<std::pair<Variable, Tensor>> metrics_;
};

// Of the options of fit those that make a difference to what is timed. The first epoch is another: there is a second.
FitOptions of_rehearsals(const FitOptions& options) {
  return {.epochs = std::max(2, options.epochs - options.initial_epoch),
          .batch_size = options.batch_size,
          .shuffle = options.shuffle,
          .class_weight = options.class_weight,
          .steps_per_epoch = options.steps_per_epoch,
          .verbose = 0,
          .timeline = options.timeline,
          .watchdog = options.watchdog};
}

// Memory and start by the plan; whether its step can be timed.
bool size_up(Estimate& estimate, Model& model, TrainingState& state, const Columns& columns, Feed feed, int64_t count,
             const FitOptions& options) {
  TracedPlan& plan = state.train_plan(columns, feed, count);
  estimate.model = model.name();
  estimate.compile_seconds = plan.trace_seconds() + plan.executable().compile_seconds();
  estimate.memory = state.memory_of(plan, StepKind::train, columns, count);
  estimate.parameters = estimate.memory.parameters;
  estimate.room = room_now(estimate.memory);
  estimate.epochs = options.epochs - options.initial_epoch;
  estimate.fits = estimate.memory.at_once() <= estimate.room.bytes;
  if (!estimate.fits) return false;
  estimate.init_seconds = filling_seconds(estimate.parameters, estimate.memory.optimizer.bytes);
  const int64_t scratch = estimate.memory.weights.bytes + estimate.memory.optimizer.bytes;
  return estimate.memory.at_once() + scratch <= estimate.room.bytes;
}

template <class Data>
void rehearse(Estimate& estimate, Model& model, TrainingState& state, const Data& data, const FitOptions& options,
              double steps) {
  const NothingChanged scope(model, state);
  Rehearsal rehearsal(steps);
  while (!rehearsal.over()) rehearse_fit(model, data, of_rehearsals(options), rehearsal);
  estimate.step_seconds = rehearsal.step_seconds();
  if (steps > 0) estimate.epoch_seconds = rehearsal.epoch_seconds();
}

std::string counted(int64_t count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

}  // namespace

Estimate Model::estimate(const Tensors& x, const Tensors& y, FitOptions options) {
  TrainingState& state = compiled(*this, "estimate");
  check_fit_options(options);
  Columns columns = columns_of(*this, "estimate", x, y, options.sample_weight);
  if (!options.class_weight.empty()) columns.weight = {class_weights("estimate", columns, options.class_weight)};
  if (!options.validation_data && options.validation_split > 0)
    split_off("estimate", columns, options.validation_split);
  for (const Tensor* column : columns.used(true)) column->eval();
  state.use_input({});
  const int64_t rows = columns.rows(), batch = std::min(options.batch_size, rows);
  Estimate estimate;
  const Feed feed = options.shuffle ? Feed::gathered : Feed::sliced;
  const bool timed = size_up(estimate, *this, state, columns, feed, batch, options);
  estimate.steps = options.steps_per_epoch.value_or(batches_of(rows, batch));
  // A ragged last batch costs its share of rows.
  const double full = options.steps_per_epoch ? static_cast<double>(*estimate.steps)
                                              : static_cast<double>(rows) / static_cast<double>(batch);
  options.class_weight.clear();  // they are in the columns
  if (timed) rehearse(estimate, *this, state, columns, options, full);
  return estimate;
}

Estimate Model::estimate(const data::Dataset& dataset, FitOptions options) {
  TrainingState& state = compiled(*this, "estimate");
  check_fit_options(options);
  state.use_input({.batches_ahead = 4, .cached_bytes = data::cached_bytes(*dataset.stage())});
  // A pipeline of its own: passes of the one that fit() will run are not used up.
  DatasetFeed feed("estimate", data::Dataset(dataset.stage()), input_names().size(), state.target_names().size());
  Columns columns;
  if (!feed.next(columns)) fail<ValueError>("estimate", "the data set is empty");
  if (!options.class_weight.empty()) columns.weight = {class_weights("estimate", columns, options.class_weight)};
  Estimate estimate;
  const bool timed = size_up(estimate, *this, state, columns, Feed::sliced, columns.rows(), options);
  estimate.steps = options.steps_per_epoch ? options.steps_per_epoch : feed.batches();
  if (!timed) return estimate;
  // Batches alone. The first of them lay ready.
  int made = 0;
  const int64_t begin = monotonic_ns();
  while (made < kMostBatches && (made < kLeastBatches || seconds_between(begin, monotonic_ns()) < kInputSeconds)) {
    if (!feed.next(columns)) break;
    ++made;
  }
  const double alone = made > 0 ? seconds_between(begin, monotonic_ns()) / made : 0;
  feed.stop();
  rehearse(estimate, *this, state, data::Dataset(dataset.stage()), options,
           static_cast<double>(estimate.steps.value_or(0)));
  // They are made while steps run: no step is shorter.
  if (made > 0) estimate.input_seconds = std::min(alone, *estimate.step_seconds);
  return estimate;
}

std::string Estimate::to_string() const {
  std::string text =
      fmt::format("model \"{}\": {} parameters\n{}", model, count_text(parameters), memory_table(memory, room));
  if (!fits) {
    text += headline(memory, room) + "\nWhat would fit:\n";
    for (const std::string& line : advice(memory, room)) text += "  - " + line + "\n";
    return text;
  }
  text += fmt::format("start {} (trace and compile {}, weights and optimizer state {})\n",
                      seconds_text(compile_seconds + init_seconds), seconds_text(compile_seconds),
                      seconds_text(init_seconds));
  if (!step_seconds) return text + "no step was timed: scratch copies of the weights would not fit beside them\n";
  text += fmt::format("step {}", seconds_text(*step_seconds));
  if (input_seconds && *input_seconds >= *step_seconds) text += " (the input sets the pace)";
  if (epoch_seconds)
    text += fmt::format(", epoch of {} {}, {} {}", counted(*steps, "step"), seconds_text(*epoch_seconds),
                        counted(epochs, "epoch"), seconds_text(*epoch_seconds * epochs));
  return text + "\n";
}

}  // namespace isochron
