// Model::compile and fit: the loop around the step.
#include <algorithm>
#include <numeric>

#include "isochron/base/interrupt.h"
#include "isochron/base/log.h"
#include "isochron/base/rng.h"
#include "isochron/base/threads.h"
#include "isochron/data/cached_bytes.h"
#include "isochron/ops/ops.h"
#include "isochron/ops/random_key.h"
#include "isochron/timeline/timeline.h"
#include "isochron/train/callback_list.h"
#include "isochron/train/data_checks.h"
#include "isochron/train/dataset_feed.h"
#include "isochron/train/history.h"
#include "isochron/train/profiled_fit.h"
#include "isochron/train/progress.h"
#include "isochron/train/rehearsal.h"
#include "isochron/train/resume.h"
#include "isochron/train/saver.h"
#include "isochron/train/slowdown.h"
#include "isochron/train/test_loop.h"
#include "isochron/train/training.h"
#include "isochron/train/watchdog.h"

namespace isochron {
namespace {

Logs with_prefix(const Logs& logs, const char* prefix) {
  Logs out;
  for (const auto& [name, value] : logs) out.emplace_back(prefix + name, value);
  return out;
}

}  // namespace

// One call of fit().
class Trainer : public TrainRun {
 public:
  Trainer(Model& model, Columns train, std::optional<Columns> validation, FitOptions options)
      : model_(model),
        state_(compiled(model, "fit")),
        train_(std::move(train)),
        validation_(std::move(validation)),
        options_(std::move(options)),
        callbacks_(options_.callbacks),
        progress_(options_.verbose) {
    const int64_t all = batches_of(train_.rows(), options_.batch_size);
    steps_ = options_.steps_per_epoch.value_or(all);
    indices_.resize(static_cast<size_t>(std::min(options_.batch_size, train_.rows())));
    state_.use_input({});
    prepare();
  }
  Trainer(Model& model, const data::Dataset& train, FitOptions options)
      : model_(model),
        state_(compiled(model, "fit")),
        feed_(std::make_unique<DatasetFeed>("fit", train, model.input_names().size(), state_.target_names().size())),
        options_(std::move(options)),
        callbacks_(options_.callbacks),
        progress_(options_.verbose) {
    check_ends("fit", train, options_.steps_per_epoch.has_value(), "steps_per_epoch");
    state_.use_input({.batches_ahead = 4, .cached_bytes = data::cached_bytes(*train.stage())});
    prepare();
  }

  // Told of epochs and steps from now on; ends the training when it has seen enough, and nothing is left behind.
  void rehearse(Rehearsal& rehearsal) { rehearsal_ = &rehearsal; }
  void use_validation(Columns columns) { validation_ = std::move(columns); }
  void use_validation(const data::Dataset& dataset) {
    check_ends("fit: validation_data", dataset, options_.validation_steps.has_value(), "validation_steps");
    validation_feed_ = std::make_unique<DatasetFeed>("fit: validation_data", dataset, model_.input_names().size(),
                                                     state_.target_names().size());
  }

 private:
  void prepare() { seed_ = get_seed() ^ (take_random_streams(1) << 20); }

 public:
  History run() {
    Timeline timeline;
    std::optional<TimelineScope> scope;
    if (options_.timeline) scope.emplace(timeline);
    timeline.plan_epochs(options_.epochs - options_.initial_epoch);
    model_.stop_training = false;
    state_.clear_bad_loss();
    ProfiledFit profiled(options_.profiler);
    Watchdog watchdog(timeline, state_.steps_run(), options_.watchdog);
    watchdog_ = &watchdog;
    std::optional<InterruptScope> interruptible;
    if (options_.watchdog.action != OnStall::off)
      interruptible.emplace(watchdog.gives_up(), options_.watchdog.action == OnStall::abort);
    try {
      run_epochs(timeline);
    } catch (const StallError&) {
      abort(watchdog.report());
    }
    profiled.finish();
    if (options_.timeline && !rehearsal_) {
      history_.record_ = timeline.to_record();
      history_.record_.framework = "isochron";
      add_settings(history_.record_);
      size_t at = 0;
      for (Epoch& epoch : history_.record_.epochs) {
        add_metrics(epoch);
        callbacks_.add_times(at++, epoch);
      }
      if (feed_) history_.record_.input_stages = feed_->stages();
      profiled.add_to(history_.record_);
      history_.slowdown_ = note_slowdown(history_.record_);
      if (!history_.slowdown_.empty()) progress_.say(history_.slowdown_);
    }
    return std::move(history_);
  }

 private:
  void run_epochs(Timeline& timeline) {
    resume_.find();
    callbacks_.each([&](Callback& callback) {
      callback.set_model(&model_);
      callback.set_params({options_.epochs, planned_steps().value_or(0)});
      callback.set_resuming(resume_.found());
      callback.on_train_begin({});
    });
    epoch_ = options_.initial_epoch;
    if (resume_.found()) epoch_ = resume_.epoch();
    if (resume_.step() == 0) restore();
    while (epoch_ < options_.epochs && !model_.stop_training) {
      if (rehearsal_) rehearsal_->epoch_begins();
      timeline.begin_epoch(epoch_ + 1);
      callbacks_.begin_epoch();
      if (feed_) feed_->begin_epoch();
      logs_ = run_epoch(epoch_, timeline);
      history_.epochs_.push_back(epoch_);
      for (const auto& [name, value] : logs_) history_.metrics_[name].push_back(value);
      ++epoch_;
      step_ = 0;
      let_callbacks_save(true);
      if (feed_) feed_->end_epoch(epoch_, timeline);
      callbacks_.end_epoch();
      timeline.end_epoch(examples_);
      if (rehearsal_) rehearsal_->epoch_ends();
    }
    if (rehearsal_) return rehearsal_->training_ends();
    const std::string saved = saver_.finish();
    history_.checkpoints_ = saver_.summary();
    if (!history_.epochs_.empty()) model_.optimizer().finalize_variable_values(model_.trainable_variables());
    callbacks_.each([&](Callback& callback) { callback.on_train_end(logs_); });
    if (!history_.checkpoints_.last_on_disk)
      log_line(LogLevel::error, "checkpoint", saved);
    else if (!saved.empty())
      progress_.say(saved);
  }

  // What a comparison with another run must know.
  void add_settings(RunRecord& run) const {
    const auto add = [&](const char* key, std::string value) { run.facts.push_back({key, std::move(value), "fit"}); };
    add("threads", std::to_string(get_num_threads()));
    if (!feed_) add("batch_size", std::to_string(options_.batch_size));
    add("parameters", std::to_string(model_.count_params()));
    add("optimizer", model_.optimizer().name());
  }

  // The watchdog has ended it: threads that make the input may never return, and are left to themselves.
  [[noreturn]] void abort(const std::string& report) {
    // Nothing stops what saves the weights; but threads of a stream may not stand still any more to tell their place.
    const InterruptScope::Watch watch = std::exchange(InterruptScope::current(), {});
    epoch_ended_ = false;
    std::string saved;
    // Whatever is thrown now, the others save, and nobody waits for threads that never return.
    const auto attempt = [&](auto&& f) {
      try {
        f();
      } catch (const std::exception& error) {
        saved += fmt::format("\nwhile it ended: {}", error.what());
      } catch (...) {
        saved += "\nwhile it ended, something was thrown that is no std::exception";
      }
    };
    for (const auto& callback : options_.callbacks) attempt([&] { callback->on_abort(*this, report); });
    InterruptScope::current() = watch;
    attempt([&] { take_saves(); });
    InterruptScope::current() = {};
    for (const auto& feed : {&feed_, &validation_feed_})
      if (*feed) (*feed)->abandon();
    if (const std::string text = saver_.finish(); !text.empty()) saved += "\n" + text;
    fail<StallError>("fit", "ended by the watchdog after {} steps; the weights are those of the last one\n{}{}",
                     total_steps_, report, saved);
  }

  // Of an epoch, where that can be known.
  std::optional<int64_t> planned_steps() const {
    if (!feed_) return steps_;
    return options_.steps_per_epoch ? options_.steps_per_epoch : feed_->batches();
  }

  int epoch() const override { return epoch_; }
  int64_t step() const override { return step_; }
  int64_t total_steps() const override { return total_steps_; }
  bool epoch_ended() const override { return epoch_ended_; }
  bool training_ends() const override { return model_.stop_training || (epoch_ended_ && epoch_ >= options_.epochs); }
  Logs logs() const override { return epoch_ended_ ? logs_ : state_.logs(); }
  void expect_saves(bool weights_only) override { saver_.expect(weights_only); }
  bool saving() const override { return saver_.busy(); }
  void save(SaveRequest request) override { saver_.request(std::move(request)); }
  void remove(std::vector<std::string> paths) override { saver_.remove(std::move(paths)); }

  void let_callbacks_save(bool epoch_ended) {
    if (options_.callbacks.empty()) return;
    epoch_ended_ = epoch_ended;
    saver_.deliver();
    for (const auto& callback : options_.callbacks) callback->between_steps(*this);
    take_saves();
  }

  void take_saves() {
    saver_.take({.model = model_.name(),
                 .epoch = epoch_,
                 .step = step_,
                 .total_steps = total_steps_,
                 .threads = get_num_threads(),
                 .logs = epoch_ended_ ? logs_ : Logs{}},
                [&](StateDict& state) { put_state(state); });
  }

  // What a checkpoint needs beside the model: the place of this run.
  void put_state(StateDict& state) const {
    put_random_state(state);
    state.put("step_shapes", state_.step_shapes());
    state.put("fit/epoch", epoch_);
    state.put("fit/step", step_);
    state.put("fit/total_steps", total_steps_);
    state.put("fit/initial_epoch", options_.initial_epoch);
    state.put("fit/seed", static_cast<int64_t>(seed_));
    state.put("fit/stop_training", model_.stop_training);
    state.put("fit/rows", feed_ ? 0 : train_.rows());
    state.put("fit/batch_size", feed_ ? 0 : options_.batch_size);
    if (feed_) state.put("fit/cursor", feed_->state());
    if (validation_feed_) state.put("fit/validation_cursor", validation_feed_->state());
    state.put_all("history", history_.state());
    put_callback_states(state, options_.callbacks);
  }

  // Goes on where the checkpoint was taken, if there is one.
  void restore() {
    if (!resume_.found()) return;
    const Checkpoint checkpoint = resume_.take();
    const StateDict& state = checkpoint.state;
    const int64_t rows = state.integer("fit/rows"), batch_size = state.integer("fit/batch_size");
    if (resume_.step() > 0 && (rows != (feed_ ? 0 : train_.rows()) || batch_size != (feed_ ? 0 : options_.batch_size)))
      fail<StateError>(
          "resume", "{} was saved in mid-epoch of {}; go on with the same data, or from the end of an epoch",
          checkpoint.info.path, rows ? fmt::format("{} rows in batches of {}", rows, batch_size) : "a data set");
    state_.prepare(state.integers("step_shapes"));
    restore_variables(checkpoint, state_variables(model_, state_));
    step_ = state.integer("fit/step");
    if (step_ < 0) fail<StateError>("resume", "{} says that {} steps were done", checkpoint.info.path, step_);
    total_steps_ = state.integer("fit/total_steps");
    options_.initial_epoch = static_cast<int>(state.integer("fit/initial_epoch"));
    seed_ = static_cast<uint64_t>(state.integer("fit/seed"));
    model_.stop_training = state.integer("fit/stop_training") != 0;
    if (feed_ && state.has("fit/cursor")) feed_->restore(state.text("fit/cursor"));
    if (validation_feed_ && state.has("fit/validation_cursor"))
      validation_feed_->restore(state.text("fit/validation_cursor"));
    history_.restore(state.part("history"));
    restore_callback_states(state, options_.callbacks);
    restore_random_state(state);
    progress_.say(resume_.sentence(options_.epochs, step_, model_.stop_training));
  }

  // What the history knows of this epoch. Values of validation exist for every validation_freq-th epoch only.
  void add_metrics(Epoch& epoch) const {
    const int first = history_.epochs_.empty() ? options_.initial_epoch : history_.epochs_.front();
    const int frequency = options_.validation_freq;
    for (const auto& [name, values] : history_.metrics_) {
      const bool always = values.size() == history_.epochs_.size();
      if (!always && epoch.index % frequency != 0) continue;
      const int at = always ? epoch.index - 1 - first : epoch.index / frequency - first / frequency - 1;
      if (at >= 0 && static_cast<size_t>(at) < values.size()) epoch.metrics[name] = values[static_cast<size_t>(at)];
    }
  }

  Logs run_epoch(int epoch, Timeline& timeline) {
    callbacks_.each([&](Callback& callback) { callback.on_epoch_begin(epoch, {}); });
    state_.reset_metrics();
    examples_ = 0;
    restore();
    const int64_t steps = planned_steps().value_or(INT64_MAX);
    progress_.begin(fmt::format("Epoch {}/{}", epoch + 1, options_.epochs), planned_steps().value_or(0));
    watchdog_->begin_epoch(epoch + 1, options_.epochs, planned_steps().value_or(0));
    // A pass over a data set is known to be over when its end has been seen.
    const int64_t limit = feed_ && !options_.steps_per_epoch ? INT64_MAX : steps;
    if (rehearsal_) rehearsal_->steps_begin();
    while (step_ < limit && !model_.stop_training) {
      const int64_t step = step_;
      if (feed_) {
        timeline.begin_step();  // waiting for its batch is part of a step
        if (!next_batch(step)) break;
      }
      callbacks_.each([&](Callback& callback) { callback.on_train_batch_begin(step, {}); });
      if (!feed_) timeline.begin_step();
      run_step(epoch, step, timeline);
      timeline.end_step();
      ++step_;
      ++total_steps_;
      check_interrupt("fit");
      if (!callbacks_.empty()) {
        const Logs logs = callbacks_.needs_batch_logs() ? state_.logs() : Logs{};
        callbacks_.each([&](Callback& callback) { callback.on_train_batch_end(step, logs); });
        let_callbacks_save(false);
      }
      if (progress_.due()) {
        ScopedSpan span(Phase::log, "progress");
        progress_.update(step + 1, state_.logs());
      }
      if (options_.profiler) options_.profiler->step();
      if (rehearsal_ && rehearsal_->step_done()) model_.stop_training = true;
    }
    Logs logs;
    {
      ScopedSpan span(Phase::metrics, "read metrics");
      logs = state_.logs();
    }
    if (options_.validation_freq > 0 && (validation_ || validation_feed_) &&
        (epoch + 1) % options_.validation_freq == 0) {
      ScopedSpan span(Phase::validate, "validation");
      const int64_t batch = options_.validation_batch_size ? options_.validation_batch_size : options_.batch_size;
      const TestBatches batches = validation_feed_ ? TestBatches(*validation_feed_) : TestBatches(*validation_, batch);
      const Logs validation =
          with_prefix(run_test(state_, batches, options_.validation_steps, options_.callbacks, nullptr), "val_");
      logs.insert(logs.end(), validation.begin(), validation.end());
    }
    callbacks_.each([&](Callback& callback) { callback.add_to_logs(logs); });
    {
      ScopedSpan span(Phase::log, "progress");
      progress_.end(step_, logs);
    }
    callbacks_.each([&](Callback& callback) { callback.on_epoch_end(epoch, logs); });
    return logs;
  }

  // The next batch of the data set into train_; false where the epoch ends. With steps_per_epoch passes follow each
  // other.
  bool next_batch(int64_t step) {
    const bool goes_on = feed_->next(train_) || (options_.steps_per_epoch && feed_->next(train_));
    if (!goes_on && (options_.steps_per_epoch || step == 0)) fail<ValueError>("fit", "the data set is empty");
    if (goes_on && !options_.class_weight.empty())
      train_.weight = {class_weights("fit", train_, options_.class_weight)};
    return goes_on;
  }

  // Batch `step` of the epoch. With steps_per_epoch the passes over the data go on from epoch to epoch.
  void run_step(int epoch, int64_t step, Timeline& timeline) {
    if (!std::exchange(disk_checked_, true)) check_disk();
    if (feed_) {
      examples_ += train_.rows();
      return guarded(epoch, step, timeline,
                     [&] { return state_.step(StepKind::train, train_, Feed::sliced, 0, train_.rows(), nullptr); });
    }
    const int64_t rows = train_.rows(), per_pass = batches_of(rows, options_.batch_size);
    const int64_t absolute = options_.steps_per_epoch ? (epoch - options_.initial_epoch) * steps_ + step : step;
    const int64_t pass = options_.steps_per_epoch ? absolute / per_pass : epoch;
    const int64_t first = absolute % per_pass * options_.batch_size;
    const int64_t count = std::min(options_.batch_size, rows - first);
    examples_ += count;
    guarded(epoch, step, timeline, [&] {
      if (!options_.shuffle) return state_.step(StepKind::train, train_, Feed::sliced, first, count, nullptr);
      pick_rows(pass, first, count);
      return state_.step(StepKind::train, train_, Feed::gathered, first, count, indices_.data());
    });
  }

  // The plan of the step tells what there will be to save.
  void check_disk() {
    if (options_.callbacks.empty()) return;
    state_.train_plan(train_, !feed_ && options_.shuffle ? Feed::gathered : Feed::sliced,
                      feed_ ? train_.rows() : std::min(options_.batch_size, train_.rows()));
    for (const auto& callback : options_.callbacks)
      if (const std::string warning = disk_warning(callback->disk_need()); !warning.empty()) progress_.warn(warning);
  }

  void pick_rows(int64_t pass, int64_t first, int64_t count) {
    ScopedSpan span(Phase::input, "pick rows");
    const Permutation order(seed_, static_cast<uint64_t>(pass), static_cast<uint64_t>(train_.rows()));
    for (int64_t i = 0; i < count; ++i)
      indices_[static_cast<size_t>(i)] = static_cast<int64_t>(order(static_cast<uint64_t>(first + i)));
  }

  // A loss that is NaN or infinite, by the policy of the model.
  template <class F>
  void guarded(int epoch, int64_t step, Timeline& timeline, F&& f) {
    StepResult result;
    try {
      result = f();
    } catch (const NumericError& error) {
      fail<NumericError>("fit", "epoch {}, step {}: {}; the weights are as before this step", epoch + 1, step + 1,
                         error.what());
    }
    if (result == StepResult::done) return;
    if (result == StepResult::skipped) ++history_.skipped_steps_;
    if (!history_.bad_loss_.empty()) return;
    history_.bad_loss_ = fmt::format("epoch {}, step {}: {}", epoch + 1, step + 1, state_.bad_loss());
    timeline.fact("loss.not_finite", history_.bad_loss_, "fit");
    progress_.warn(fmt::format("{}; {}", history_.bad_loss_,
                               result == StepResult::skipped
                                   ? "the step is skipped, later ones like it without a word"
                                   : "training goes on; lower the learning rate, clip gradients, or compile with "
                                     "nan_policy = raise to stop at the step"));
  }

  Model& model_;
  TrainingState& state_;
  Columns train_;  // all of it, or the batch of a data set that is being trained on
  std::optional<Columns> validation_;
  std::unique_ptr<DatasetFeed> feed_, validation_feed_;
  FitOptions options_;
  CallbackList callbacks_;
  ProgressLine progress_;
  Watchdog* watchdog_ = nullptr;  // while it runs
  Rehearsal* rehearsal_ = nullptr;
  History history_;
  std::vector<int64_t> indices_;
  int64_t steps_ = 0;
  int epoch_ = 0;  // whole ones done
  int64_t step_ = 0, total_steps_ = 0;
  bool epoch_ended_ = false, disk_checked_ = false;
  Logs logs_;             // of the last whole epoch
  int64_t examples_ = 0;  // of this epoch so far
  uint64_t seed_ = 0;
  Resume resume_{options_};
  Saver saver_{model_, state_};
};

ValidationData::ValidationData(const data::Dataset& batches) : dataset(std::make_shared<data::Dataset>(batches)) {}

namespace {
// Of validation_data given as tensors.
std::optional<Columns> validation_columns(Model& model, const FitOptions& options) {
  const ValidationData& given = *options.validation_data;
  if (given.dataset) return std::nullopt;
  return columns_of(model, "fit: validation_data", given.x, given.y, given.sample_weight);
}
}  // namespace

History Model::fit(const Tensors& x, const Tensors& y, FitOptions options) {
  compiled(*this, "fit");
  check_fit_options(options);
  Columns train = columns_of(*this, "fit", x, y, options.sample_weight);
  std::optional<Columns> validation;
  if (options.validation_data) {
    validation = validation_columns(*this, options);
  } else if (options.validation_split > 0) {
    validation = split_off("fit", train, options.validation_split);
  }
  // Validation counts every class alike, as in Keras.
  if (!options.class_weight.empty()) train.weight = {class_weights("fit", train, options.class_weight)};
  for (const Tensor* column : train.used(true)) column->eval();
  const std::shared_ptr<const data::Dataset> batches =
      options.validation_data ? options.validation_data->dataset : nullptr;
  Trainer trainer(*this, std::move(train), std::move(validation), std::move(options));
  if (batches) trainer.use_validation(*batches);
  return trainer.run();
}

History Model::fit(const data::Dataset& dataset, FitOptions options) {
  compiled(*this, "fit");
  check_fit_options(options);
  if (options.validation_split > 0 || !options.sample_weight.empty())
    fail<ValueError>(
        "fit",
        "validation_split and sample_weight belong to tensors; use take() and skip() of the data set, or a "
        "third component");
  Trainer trainer(*this, dataset, options);
  if (options.validation_data && options.validation_data->dataset)
    trainer.use_validation(*options.validation_data->dataset);
  else if (options.validation_data)
    trainer.use_validation(*validation_columns(*this, options));
  return trainer.run();
}

void rehearse_fit(Model& model, const Columns& columns, FitOptions options, Rehearsal& rehearsal) {
  Trainer trainer(model, columns, std::nullopt, std::move(options));
  trainer.rehearse(rehearsal);
  trainer.run();
}

void rehearse_fit(Model& model, const data::Dataset& dataset, FitOptions options, Rehearsal& rehearsal) {
  Trainer trainer(model, dataset, std::move(options));
  trainer.rehearse(rehearsal);
  trainer.run();
}

}  // namespace isochron
