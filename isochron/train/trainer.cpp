#include "isochron/train/trainer.h"

#include <algorithm>

#include "isochron/base/interrupt.h"
#include "isochron/base/log.h"
#include "isochron/base/rng.h"
#include "isochron/base/row_error.h"
#include "isochron/data/cached_bytes.h"
#include "isochron/ops/random_key.h"
#include "isochron/timeline/timeline.h"
#include "isochron/train/data_checks.h"
#include "isochron/train/profiled_fit.h"
#include "isochron/train/test_loop.h"

namespace isochron {
namespace {

uint64_t fresh_order() { return get_seed() ^ (take_random_streams(1) << 20); }

}  // namespace

Trainer::Trainer(Model& model, Columns train, std::optional<Columns> validation, FitOptions options)
    : model_(model),
      state_(compiled(model, "fit")),
      train_(std::move(train)),
      validation_(std::move(validation)),
      options_(std::move(options)),
      callbacks_(options_.callbacks),
      progress_(options_.verbose),
      seed_(fresh_order()) {
  indices_.resize(static_cast<size_t>(std::min(options_.batch_size, train_.rows())));
  state_.use_input({});
}

Trainer::Trainer(Model& model, const data::Dataset& train, FitOptions options)
    : model_(model),
      state_(compiled(model, "fit")),
      feed_(std::make_unique<DatasetFeed>("fit", train, model.input_names().size(), state_.target_names().size())),
      options_(std::move(options)),
      callbacks_(options_.callbacks),
      progress_(options_.verbose),
      seed_(fresh_order()) {
  check_ends("fit", train, options_.steps_per_epoch.has_value(), "steps_per_epoch");
  state_.use_input({.batches_ahead = 4, .cached_bytes = data::cached_bytes(*train.stage())});
}

void Trainer::use_validation(const data::Dataset& dataset) {
  check_ends("fit: validation_data", dataset, options_.validation_steps.has_value(), "validation_steps");
  validation_feed_ = std::make_unique<DatasetFeed>("fit: validation_data", dataset, model_.input_names().size(),
                                                   state_.target_names().size());
}

History Trainer::run() {
  const ProgressLine::Scope shows(progress_);
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
    if (!callbacks_.empty()) timeline.sample_surroundings();  // files that they wrote at the end
    RunRecord record = timeline.to_record();
    profiled.add_to(record);
    complete_record(std::move(record));
  }
  return std::move(history_);
}

void Trainer::run_epochs(Timeline& timeline) {
  resume_.find();
  callbacks_.each([&](Callback& callback) {
    callback.set_model(&model_);
    callback.set_params({options_.epochs, planned_steps().value_or(0)});
    callback.set_resuming(resume_.found());
    callback.on_train_begin({});
  });
  epoch_ = options_.initial_epoch;
  if (resume_.found()) epoch_ = resume_.epoch();
  if (resume_.step() == 0 || epoch_ >= options_.epochs) restore();
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
  if (!history_.checkpoints_.problem.empty())
    log_line(LogLevel::error, "checkpoint", saved);
  else if (!saved.empty())
    progress_.say(saved);
}

Logs Trainer::run_epoch(int epoch, Timeline& timeline) {
  callbacks_.each([&](Callback& callback) { callback.on_epoch_begin(epoch, {}); });
  state_.reset_metrics();
  examples_ = 0;
  restore();
  const int64_t steps = planned_steps().value_or(0);
  progress_.begin(fmt::format("Epoch {}/{}", epoch + 1, options_.epochs), steps);
  watchdog_->begin_epoch(epoch + 1, options_.epochs, steps);
  if (rehearsal_) rehearsal_->steps_begin();
  run_steps(epoch, timeline);
  if (!rehearsal_ && !std::exchange(weights_looked_for_, true) && model_.trainable_variables().empty())
    progress_.warn(
        fmt::format("model \"{}\" has no trainable weights, so training changes nothing; all its layers are "
                    "frozen, or a class of models has not registered them by add_sublayer()",
                    model_.name()));
  Logs logs;
  {
    ScopedSpan span(Phase::metrics, "read metrics");
    logs = state_.logs();
  }
  if (options_.validation_freq > 0 && (epoch + 1) % options_.validation_freq == 0) validate(logs);
  callbacks_.each([&](Callback& callback) { callback.add_to_logs(logs); });
  {
    ScopedSpan span(Phase::log, "progress");
    progress_.end(step_, logs);
  }
  callbacks_.each([&](Callback& callback) { callback.on_epoch_end(epoch, logs); });
  return logs;
}

void Trainer::run_steps(int epoch, Timeline& timeline) {
  // A pass over a data set is known to be over when its end has been seen.
  const int64_t limit = feed_ && !options_.steps_per_epoch ? INT64_MAX : *planned_steps();
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
    after_step(step);
  }
}

void Trainer::after_step(int64_t step) {
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

void Trainer::validate(Logs& logs) {
  if (!validation_ && !validation_feed_) return;
  ScopedSpan span(Phase::validate, "validation");
  const int64_t batch = options_.validation_batch_size ? options_.validation_batch_size : options_.batch_size;
  const TestBatches batches = validation_feed_ ? TestBatches(*validation_feed_) : TestBatches(*validation_, batch);
  for (const auto& [name, value] : run_test(state_, batches, options_.validation_steps, options_.callbacks, nullptr))
    logs.emplace_back("val_" + name, value);
}

std::optional<int64_t> Trainer::planned_steps() const {
  if (options_.steps_per_epoch) return options_.steps_per_epoch;
  return feed_ ? feed_->batches() : batches_of(train_.rows(), options_.batch_size);
}

bool Trainer::next_batch(int64_t step) {
  const bool goes_on = feed_->next(train_) || (options_.steps_per_epoch && feed_->next(train_));
  if (!goes_on && (options_.steps_per_epoch || step == 0)) fail<ValueError>("fit", "the data set is empty");
  if (goes_on && !options_.class_weight.empty()) train_.weight = {class_weights("fit", train_, options_.class_weight)};
  return goes_on;
}

void Trainer::run_step(int epoch, int64_t step, Timeline& timeline) {
  if (!std::exchange(disk_checked_, true)) check_disk();
  if (feed_) {
    examples_ += train_.rows();
    return guarded(epoch, step, timeline,
                   [&] { return state_.step(StepKind::train, train_, Feed::sliced, 0, train_.rows(), nullptr); });
  }
  const int64_t rows = train_.rows(), per_pass = batches_of(rows, options_.batch_size);
  const int64_t absolute =
      options_.steps_per_epoch ? (epoch - options_.initial_epoch) * *options_.steps_per_epoch + step : step;
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

void Trainer::pick_rows(int64_t pass, int64_t first, int64_t count) {
  ScopedSpan span(Phase::input, "pick rows");
  const Permutation order(seed_, static_cast<uint64_t>(pass), static_cast<uint64_t>(train_.rows()));
  for (int64_t i = 0; i < count; ++i)
    indices_[static_cast<size_t>(i)] = static_cast<int64_t>(order(static_cast<uint64_t>(first + i)));
}

template <class F>
void Trainer::guarded(int epoch, int64_t step, Timeline& timeline, F&& f) {
  StepResult result;
  try {
    result = f();
  } catch (const RowError& error) {
    throw error.with(fmt::format("epoch {}, step {}: the weights are as before this step", epoch + 1, step + 1));
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

void Trainer::check_disk() {
  if (options_.callbacks.empty()) return;
  state_.train_plan(train_, !feed_ && options_.shuffle ? Feed::gathered : Feed::sliced,
                    feed_ ? train_.rows() : std::min(options_.batch_size, train_.rows()));
  for (const auto& callback : options_.callbacks)
    if (const std::string warning = disk_warning(callback->disk_need()); !warning.empty()) progress_.warn(warning);
}

void Trainer::abort(const std::string& report) {
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

}  // namespace isochron
