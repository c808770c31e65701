#include "isochron/train/estimate.h"

#include <algorithm>
#include <numeric>

#include "isochron/base/clock.h"
#include "isochron/base/median.h"
#include "isochron/base/seconds_text.h"
#include "isochron/data/cached_bytes.h"
#include "isochron/train/data_checks.h"
#include "isochron/train/dataset_feed.h"
#include "isochron/train/test_loop.h"

namespace isochron {
namespace {

// Steps are timed for so long, or so many of them.
constexpr double kMostSeconds = 0.3;
constexpr int kMostSteps = 200, kLeastSteps = 5;

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

// The compiled step, timed on the first rows.
double time_steps(TracedPlan& plan, const Columns& columns, Feed feed, int64_t count) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  std::vector<const void*> arguments;
  for (const Tensor* column : columns.used(true)) arguments.push_back(column->raw_data());
  if (feed == Feed::gathered) arguments.push_back(rows.data());
  double loss[2];
  void* results[] = {loss};
  const std::span<void* const> room(results, plan.results().size());
  const std::unique_ptr<TracedPlan::DryRun> step = plan.dry_run();
  std::vector<double> times;
  const int64_t begin = monotonic_ns();
  // Rows are picked all over the data, as a shuffled epoch does.
  const int64_t stride = std::max<int64_t>(1, columns.rows() / std::max<int64_t>(count, 1));
  for (int i = 0; i < kMostSteps + 1; ++i) {
    for (int64_t r = 0; r < count; ++r) rows[static_cast<size_t>(r)] = (r * stride + i) % columns.rows();
    const double seconds = seconds_of([&] { (*step)(arguments, room); });
    if (i > 0) times.push_back(seconds);  // the first touches its memory
    if (i >= kLeastSteps && seconds_between(begin, monotonic_ns()) > kMostSeconds) break;
  }
  return median_of(std::move(times));
}

Estimate estimate_step(Model& model, TrainingState& state, const Columns& columns, Feed feed, int64_t count,
                       const FitOptions& options) {
  Estimate estimate;
  TracedPlan& plan = state.train_plan(columns, feed, count);
  estimate.model = model.name();
  estimate.compile_seconds = plan.trace_seconds() + plan.executable().compile_seconds();
  estimate.memory = state.memory_of(plan, StepKind::train, columns, count);
  estimate.parameters = estimate.memory.parameters;
  estimate.room = room_now(estimate.memory);
  estimate.epochs = options.epochs - options.initial_epoch;
  // Scratch copies of weights and state are needed to time a step.
  const int64_t scratch = estimate.memory.weights.bytes + estimate.memory.optimizer.bytes;
  estimate.fits = estimate.memory.at_once() <= estimate.room.bytes;
  if (!estimate.fits) return estimate;
  estimate.init_seconds = filling_seconds(estimate.parameters, estimate.memory.optimizer.bytes);
  if (estimate.memory.at_once() + scratch <= estimate.room.bytes)
    estimate.step_seconds = time_steps(plan, columns, feed, count);
  return estimate;
}

std::string grouped_count(int64_t count, const char* one) {
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
  Estimate estimate =
      estimate_step(*this, state, columns, options.shuffle ? Feed::gathered : Feed::sliced, batch, options);
  estimate.steps = options.steps_per_epoch.value_or(batches_of(rows, batch));
  // A ragged last batch costs its share of rows.
  const double full = options.steps_per_epoch ? static_cast<double>(*estimate.steps)
                                              : static_cast<double>(rows) / static_cast<double>(batch);
  if (estimate.step_seconds) estimate.epoch_seconds = *estimate.step_seconds * full;
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
  Estimate estimate = estimate_step(*this, state, columns, Feed::sliced, columns.rows(), options);
  estimate.steps = options.steps_per_epoch ? options.steps_per_epoch : feed.batches();
  if (!estimate.step_seconds) return estimate;
  // Batches are made while steps run: the slower of the two sets the pace. The first of them lay ready.
  int made = 0;
  const int64_t begin = monotonic_ns();
  while (made < kMostSteps && (made < kLeastSteps || seconds_between(begin, monotonic_ns()) < kMostSeconds)) {
    if (!feed.next(columns)) break;
    ++made;
  }
  if (made > 0) {
    estimate.input_seconds = seconds_between(begin, monotonic_ns()) / made;
    estimate.step_seconds = std::max(*estimate.step_seconds, *estimate.input_seconds);
  }
  feed.stop();
  if (estimate.steps) estimate.epoch_seconds = *estimate.step_seconds * static_cast<double>(*estimate.steps);
  return estimate;
}

std::string Estimate::to_string() const {
  std::string text = fmt::format("model \"{}\": {} parameters\n{}", model, parameters, memory_table(memory, room));
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
    text += fmt::format(", epoch of {} {}, {} {}", grouped_count(*steps, "step"), seconds_text(*epoch_seconds),
                        grouped_count(epochs, "epoch"), seconds_text(*epoch_seconds * epochs));
  return text + "\n";
}

}  // namespace isochron
