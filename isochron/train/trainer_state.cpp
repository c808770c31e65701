// What is saved of a training, how it goes on from there, and what its record tells beside the timeline.
#include "isochron/base/threads.h"
#include "isochron/train/slowdown.h"
#include "isochron/train/trainer.h"

namespace isochron {
namespace {

// What the history knows of this epoch. Values of validation exist for every validation_freq-th epoch only.
void add_metrics(const History& history, const FitOptions& options, Epoch& epoch) {
  const int first = history.epochs().empty() ? options.initial_epoch : history.epochs().front();
  const int frequency = options.validation_freq;
  for (const auto& [name, values] : history.metrics()) {
    const bool always = values.size() == history.epochs().size();
    if (!always && epoch.index % frequency != 0) continue;
    const int at = always ? epoch.index - 1 - first : epoch.index / frequency - first / frequency - 1;
    if (at >= 0 && static_cast<size_t>(at) < values.size()) epoch.metrics[name] = values[static_cast<size_t>(at)];
  }
}

}  // namespace

void Trainer::let_callbacks_save(bool epoch_ended) {
  if (options_.callbacks.empty()) return;
  epoch_ended_ = epoch_ended;
  saver_.deliver();
  for (const auto& callback : options_.callbacks) callback->between_steps(*this);
  take_saves();
}

void Trainer::take_saves() {
  saver_.take({.model = model_.name(),
               .epoch = epoch_,
               .step = step_,
               .total_steps = total_steps_,
               .threads = get_num_threads(),
               .logs = epoch_ended_ ? logs_ : Logs{}},
              [&](StateDict& state) { put_state(state); });
}

void Trainer::put_state(StateDict& state) const {
  put_random_state(state);
  state.put("step_shapes", state_.step_shapes());
  state.put("fit/epoch", epoch_);
  state.put("fit/step", step_);
  state.put("fit/total_steps", total_steps_);
  state.put("fit/initial_epoch", options_.initial_epoch);
  state.put("fit/seed", static_cast<int64_t>(seed_));
  state.put("fit/stop_training", model_.stop_training);
  state.put("fit/data", data_text());
  state.put("fit/optimizer", model_.optimizer().name());
  if (feed_) state.put("fit/cursor", feed_->state());
  if (validation_feed_) state.put("fit/validation_cursor", validation_feed_->state());
  state.put_all("history", history_.state());
  put_callback_states(state, options_.callbacks);
}

std::string Trainer::data_text() const {
  std::string text = feed_ ? "a data set"
                           : fmt::format("{} rows in batches of {}{}", train_.rows(), options_.batch_size,
                                         options_.shuffle ? ", shuffled" : "");
  if (options_.steps_per_epoch) text += fmt::format(", {} steps an epoch", *options_.steps_per_epoch);
  return text;
}

// Beside what restore_variables() sees: changes that leave all tensors as they were.
void Trainer::check_fits(const Checkpoint& checkpoint) const {
  const std::string data = checkpoint.state.text("fit/data"), optimizer = checkpoint.state.text("fit/optimizer");
  if (checkpoint.info.step > 0 && data != data_text())
    fail<StateError>(
        "resume", "{} was saved in mid-epoch of {}, this is {}; go on with the same data, or from the end of an epoch",
        checkpoint.info.path, data, data_text());
  if (optimizer != model_.optimizer().name())
    fail<StateError>("resume",
                     "{} was trained by {}, this model is compiled with {}; compile it as it was, or take the weights "
                     "alone with load_weights()",
                     checkpoint.info.path, optimizer, model_.optimizer().name());
}

void Trainer::restore_feeds(const Checkpoint& checkpoint) {
  try {
    for (const auto& [feed, name] : {std::pair(&feed_, "fit/cursor"), {&validation_feed_, "fit/validation_cursor"}})
      if (*feed && checkpoint.state.has(name)) (*feed)->restore(checkpoint.state.text(name));
  } catch (const StateError& error) {
    fail<StateError>("resume",
                     "{} was saved with another data set: {}; go on with the same one, or take the weights alone with "
                     "load_weights()",
                     checkpoint.info.path, error.what());
  }
}

void Trainer::restore() {
  if (!resume_.found()) return;
  const Checkpoint checkpoint = resume_.take();
  const StateDict& state = checkpoint.state;
  check_fits(checkpoint);
  state_.prepare(state.integers("step_shapes"));
  restore_variables(checkpoint, state_variables(model_, state_));
  step_ = state.integer("fit/step");
  if (step_ < 0) fail<StateError>("resume", "{} says that {} steps were done", checkpoint.info.path, step_);
  total_steps_ = state.integer("fit/total_steps");
  options_.initial_epoch = static_cast<int>(state.integer("fit/initial_epoch"));
  seed_ = static_cast<uint64_t>(state.integer("fit/seed"));
  model_.stop_training = state.integer("fit/stop_training") != 0;
  restore_feeds(checkpoint);
  history_.restore(state.part("history"));
  restore_callback_states(state, options_.callbacks);
  restore_random_state(state);
  progress_.say(resume_.sentence(options_.epochs, step_, planned_steps(), model_.stop_training));
}

void Trainer::complete_record(RunRecord record) {
  record.framework = "isochron";
  // What a comparison with another run must know.
  const auto add = [&](const char* key, std::string value) { record.facts.push_back({key, std::move(value), "fit"}); };
  add("threads", std::to_string(get_num_threads()));
  if (!feed_) add("batch_size", std::to_string(options_.batch_size));
  add("parameters", std::to_string(model_.count_params()));
  add("optimizer", model_.optimizer().name());
  size_t at = 0;
  for (Epoch& epoch : record.epochs) {
    add_metrics(history_, options_, epoch);
    callbacks_.add_times(at++, epoch);
  }
  if (feed_) record.input_stages = feed_->stages();
  history_.slowdown_ = note_slowdown(record);
  if (!history_.slowdown_.empty()) progress_.say(history_.slowdown_);
  history_.record_ = std::move(record);
}

}  // namespace isochron
