#include "isochron/train/estimate.h"

#include <algorithm>
#include <numeric>

#include "isochron/base/clock.h"
#include "isochron/base/median.h"
#include "isochron/base/seconds_text.h"
#include "isochron/data/cached_bytes.h"
#include "isochron/nn/nn.h"
#include "isochron/ops/ops.h"
#include "isochron/ops/random_key.h"
#include "isochron/optim/optimizers.h"
#include "isochron/train/data_checks.h"
#include "isochron/train/dataset_feed.h"
#include "isochron/train/history.h"
#include "isochron/train/test_loop.h"

namespace isochron {
namespace {

// Steps are timed for so long, but at least so many; batches of a data set at most so many.
constexpr double kMostSeconds = 0.3;
constexpr int kLeastSteps = 5, kMostBatches = 200;
// Short steps are timed by so many seconds of them: what other programs take of the CPUs is then part of it, as it will
// be of an epoch.
constexpr double kBlock = 0.01;

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
double time_steps(TracedPlan& plan, const Columns& columns, Feed feed, int64_t count, double seconds) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  std::vector<const void*> arguments;
  for (const Tensor* column : columns.used(true)) arguments.push_back(column->raw_data());
  if (feed == Feed::gathered) arguments.push_back(rows.data());
  double loss[2];
  void* results[] = {loss};
  const std::span<void* const> room(results, plan.results().size());
  const std::unique_ptr<TracedPlan::DryRun> step = plan.dry_run();
  std::vector<double> blocks;  // mean of a step in each
  // Rows are picked all over the data, as a shuffled epoch does.
  const int64_t stride = std::max<int64_t>(1, columns.rows() / std::max<int64_t>(count, 1));
  int64_t done = 0;
  const auto run = [&] {
    for (int64_t r = 0; r < count; ++r) rows[static_cast<size_t>(r)] = (r * stride + done) % columns.rows();
    (*step)(arguments, room);
    ++done;
  };
  run();  // touches its memory
  const int64_t begin = monotonic_ns();
  do {
    const int64_t before = done, block = monotonic_ns();
    do run();
    while (seconds_between(block, monotonic_ns()) < kBlock);
    blocks.push_back(seconds_between(block, monotonic_ns()) / static_cast<double>(done - before));
  } while (done <= kLeastSteps || seconds_between(begin, monotonic_ns()) < seconds);
  // The lower quartile: what is uneven in so short a time (threads that find out how many they should be, another
  // program) only adds, and an epoch is long enough to leave it behind.
  const auto quartile = blocks.begin() + static_cast<std::ptrdiff_t>(blocks.size() / 4);
  std::nth_element(blocks.begin(), quartile, blocks.end());
  return *quartile;
}

// What fit() adds to the plan of a step, and to an epoch: read off the smallest of trainings. They last as many epochs
// as the one to come: where steps take microseconds, the first few epochs are slower than those a hundred later, when
// the caches and the branch predictor know the loop.
struct LoopCost {
  double step = 0, epoch = 0;
};
LoopCost loop_cost(int epochs) {
  constexpr int64_t kRows = 16;
  constexpr int kLooks = 100, kMostTrainings = 10;
  const int length = std::clamp(epochs, 2, kLooks + 1);
  const uint64_t seed = get_seed(), counter = random_counter();
  const auto small = [] {
    Sequential model({AnyLayer(Dense(1, {.name = "estimate"}))}, {.name = "estimate"});
    model.compile({.optimizer = SGD(0.01), .loss = "mse"});
    return model;
  };
  const auto epoch_of = [&](int64_t rows) {
    const Tensor x = zeros({rows, 1}).eval(), y = zeros({rows, 1}).eval();
    std::vector<double> seconds;
    for (int training = 0; training == 0 || (training < kMostTrainings && seconds.size() < kLooks); ++training) {
      Sequential model = small();
      const History history =
          model.fit(x, y, {.epochs = length, .batch_size = 1, .verbose = 0, .watchdog = {.action = OnStall::off}});
      const std::vector<Epoch>& all = history.record().epochs;
      for (size_t e = 1; e < all.size(); ++e) seconds.push_back(all[e].seconds);
    }
    return median_of(std::move(seconds));
  };
  const double one = epoch_of(1), many = epoch_of(kRows);
  Sequential model = small();
  const Columns columns{{zeros({kRows, 1}).eval()}, {zeros({kRows, 1}).eval()}, {}};
  TracedPlan& plan = compiled(model, "estimate").train_plan(columns, Feed::gathered, 1);
  const double bare = time_steps(plan, columns, Feed::gathered, 1, 0.02);
  set_seed(seed);
  set_random_counter(counter);
  const double step = (many - one) / (kRows - 1);
  return {std::max(0., step - bare), std::max(0., one - step)};
}

Estimate estimate_step(Model& model, TrainingState& state, const Columns& columns, Feed feed, int64_t count,
                       const FitOptions& options, const LoopCost& loop) {
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
    estimate.step_seconds = time_steps(plan, columns, feed, count, kMostSeconds) + loop.step;
  return estimate;
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
  const LoopCost loop = loop_cost(options.epochs - options.initial_epoch);
  Estimate estimate =
      estimate_step(*this, state, columns, options.shuffle ? Feed::gathered : Feed::sliced, batch, options, loop);
  estimate.steps = options.steps_per_epoch.value_or(batches_of(rows, batch));
  // A ragged last batch costs its share of rows.
  const double full = options.steps_per_epoch ? static_cast<double>(*estimate.steps)
                                              : static_cast<double>(rows) / static_cast<double>(batch);
  if (estimate.step_seconds) estimate.epoch_seconds = *estimate.step_seconds * full + loop.epoch;
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
  const LoopCost loop = loop_cost(options.epochs - options.initial_epoch);
  Estimate estimate = estimate_step(*this, state, columns, Feed::sliced, columns.rows(), options, loop);
  estimate.steps = options.steps_per_epoch ? options.steps_per_epoch : feed.batches();
  if (!estimate.step_seconds) return estimate;
  // Batches are made while steps run: the slower of the two sets the pace. The first of them lay ready.
  int made = 0;
  const int64_t begin = monotonic_ns();
  while (made < kMostBatches && (made < kLeastSteps || seconds_between(begin, monotonic_ns()) < kMostSeconds)) {
    if (!feed.next(columns)) break;
    ++made;
  }
  if (made > 0) {
    estimate.input_seconds = seconds_between(begin, monotonic_ns()) / made;
    estimate.step_seconds = std::max(*estimate.step_seconds, *estimate.input_seconds);
  }
  feed.stop();
  if (estimate.steps)
    estimate.epoch_seconds = *estimate.step_seconds * static_cast<double>(*estimate.steps) + loop.epoch;
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
    text += fmt::format(", epoch of {} {}, {} {}", counted(*steps, "step"), seconds_text(*epoch_seconds),
                        counted(epochs, "epoch"), seconds_text(*epoch_seconds * epochs));
  return text + "\n";
}

}  // namespace isochron
