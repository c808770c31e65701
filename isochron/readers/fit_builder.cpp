#include "isochron/readers/fit_builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "isochron/readers/plain_line.h"

namespace isochron {
namespace {

// Bounds on what one log may make us keep.
constexpr size_t kMostFits = 1000;
constexpr size_t kMostEpochs = 100000;
constexpr size_t kMostInner = 16;
constexpr size_t kMostWindows = 4096;
constexpr size_t kMostPositions = 100000;
constexpr size_t kMostFacts = 2000;
constexpr size_t kMostMetrics = 64;
constexpr int64_t kLargestIndex = 100000000;

// Lightning's lines also look like torch's, Keras' like TensorFlow's: the more special name stays. TensorFlow says its
// name wherever it is imported, by TensorBoard for one.
int speciality(std::string_view framework) {
  if (framework == "lightning") return 4;
  if (framework == "keras") return 3;
  if (framework == "tensorflow") return 1;
  return framework.empty() ? 0 : 2;
}

// Numbers that no training reaches are junk.
bool has_epoch(const LogEvent& event) {
  return event.epoch && *event.epoch <= kLargestIndex && *event.epoch >= -kLargestIndex;
}

}  // namespace

// Numbers without a word count epochs if they begin at the beginning and leave none out.
bool FitBuilder::counts_on(const LogEvent& event) const {
  const auto& drafts = fits_.back().drafts;
  if (drafts.empty()) return *event.epoch <= 1;
  return drafts.back().vague && (*event.epoch == drafts.back().index + 1 || *event.epoch == drafts.front().index);
}

EpochDraft* FitBuilder::current() { return fit().drafts.empty() ? nullptr : &fit().drafts.back(); }

int FitBuilder::current_epoch() const {
  const auto& drafts = fits_.back().drafts;
  if (drafts.empty()) return kNoEpoch;
  return static_cast<int>(drafts.back().index + (drafts.back().ended ? 1 : 0));
}

void FitBuilder::note_line() {
  if (EpochDraft* draft = current()) ++draft->lines;
}

void FitBuilder::note_foreign_time(double time) {
  note_time(time);
  fit().before_first_foreign = true;
}

void FitBuilder::note_time(double time) {
  if (fit().drafts.empty()) {
    fit().before_first = time;
    fit().before_first_foreign = false;
  }
  // A header without a time: its epoch begins, and the one before ends, where one is told right below it.
  constexpr int64_t kRightBelow = 3;
  if (auto& drafts = fit().drafts; !drafts.empty() && drafts.back().header && !drafts.back().begin &&
                                   !drafts.back().ended && drafts.back().lines < kRightBelow) {
    drafts.back().begin = time;
    if (drafts.size() > 1 && !drafts[drafts.size() - 2].end) drafts[drafts.size() - 2].end = time;
  }
  fit().last_time = time;
}

void FitBuilder::fact(Fact fact) {
  if (fact.key == "framework") {
    if (speciality(fact.value) > speciality(fit().framework)) fit().framework = fact.value;
    return;
  }
  fact.epoch = current_epoch();
  auto& facts = fit().facts;
  if (facts.size() < kMostFacts) facts.push_back(std::move(fact));
}

void FitBuilder::start_fit() {
  if (fits_.size() >= kMostFits) fits_.erase(fits_.begin());
  Fit next;
  next.framework = fit().framework;
  next.before_first = fit().last_time;
  next.last_time = fit().last_time;
  fits_.push_back(std::move(next));
}

void FitBuilder::note_plan(const LogEvent& event) {
  if (event.epochs && *event.epochs > 0 && *event.epochs < kLargestIndex) fit().planned = event.epochs;
  fit().inclusive = fit().inclusive || event.inclusive;
}

EpochDraft& FitBuilder::open(int64_t index, bool numbered, std::optional<double> time) {
  EpochDraft* last = current();
  if (last && numbered && !last->numbered) {
    // A bar without a name, and now the epoch's number: one and the same.
    last->index = index;
    last->numbered = true;
    const auto& drafts = fit().drafts;
    if (drafts.size() > 1)
      last->covers = std::clamp<int64_t>(index - drafts[drafts.size() - 2].index, 1, kLargestIndex);
    return *last;
  }
  if (last && numbered && last->index == index) return *last;
  if (last && numbered && index < last->index) {
    start_fit();
    last = nullptr;
  }
  if (last) {
    last->ended = true;
    if (!last->end) last->end = last->train && last->train->last_time ? last->train->last_time : time;
  }
  auto& drafts = fit().drafts;
  if (drafts.size() >= kMostEpochs) drafts.erase(drafts.begin(), drafts.begin() + kMostEpochs / 2);
  EpochDraft draft;
  draft.index = index;
  draft.numbered = numbered;
  draft.clock_resolution = clock_resolution_;
  if (!drafts.empty()) {
    draft.covers = std::max<int64_t>(index - drafts.back().index, 1);
    draft.begin = drafts.back().end;
  } else {
    draft.begin = fit().before_first;
  }
  drafts.push_back(std::move(draft));
  return drafts.back();
}

void FitBuilder::begin_epoch(const LogEvent& event, std::optional<double> time) {
  if (!has_epoch(event)) return;
  EpochDraft* last = current();
  const bool repeated = last && last->numbered && last->index == *event.epoch;
  if (repeated && !last->ended && !last->printed && !(last->train && last->train->complete())) return;
  // fit(epochs=1) in a loop prints "Epoch 1/1" again and again: its epochs are counted on.
  const bool loop = repeated && event.epochs == 1;
  if (repeated && !loop) return;
  EpochDraft& draft = open(loop ? last->index + 1 : *event.epoch, true, time);
  draft.header = true;
  draft.lines = 0;
  fit().headers = true;
  if (time) draft.begin = time;
}

void FitBuilder::end_epoch(const LogEvent& event, std::optional<double> time) {
  EpochDraft* last = current();
  std::optional<int64_t> index;
  if (has_epoch(event))
    index = event.epoch;
  else if (event.epoch_position && event.epoch_time && std::fabs(*event.epoch_position) <= kLargestIndex)
    index = std::llround(*event.epoch_position);
  // fastai's bars count from 1, the rows of its table from 0.
  if (index && event.epoch_time && last && last->numbered && last->train && !last->printed &&
      *index == last->index - 1 && (fit().drafts.size() == 1 || fit().drafts[fit().drafts.size() - 2].printed))
    index = last->index;
  // "epoch 3 train loss 0.3 1.8s" and below it "epoch 3 valid loss 0.2 0.5s": an epoch is both.
  const bool of_validation = event.valid_part || event.role == LogEvent::Role::validation;
  if (const auto validated = event.epoch_time ? event.epoch_time : event.validation_time;
      of_validation && validated && last && last->train_part && last->printed && !last->validation &&
      last->index == index.value_or(last->index)) {
    last->validation = validated;
    last->printed = *last->printed + *validated;
    if (time) last->end = time;
    return;
  }
  if (event.role == LogEvent::Role::validation) {
    if (event.within && (!last || last->ended))
      fit().pending_validation = event.validation_time;
    else if (last && event.validation_time)
      last->validation = event.validation_time;
    return;
  }
  if (!index) {
    if (!event.epoch_time) {  // "Test set: Average loss: …" after the last step
      if (last && event.role == LogEvent::Role::train) last->ended = true;
      return;
    }
    // Below a line that told of the epoch without its time, what it took may stand by itself.
    constexpr int64_t kRightBelow = 2;
    const bool below = last && last->ended && !last->printed && !last->end && last->lines < kRightBelow;
    if (event.within && (!last || (last->ended && !below) || event.valid_part)) return;
    if (below) last->told_below = true;
    if (last && (!last->printed || last->printed_at)) {  // beside a step it may have been of that
      last->printed = event.epoch_time;
      last->printed_at.reset();
      last->train_part = event.train_part;
      if (event.step_time && !last->mean_step) last->mean_step = event.step_time;
      last->ended = true;
      if (time) last->end = time;
    } else {
      fit().pending_time = event.epoch_time;
    }
    return;
  }
  EpochDraft& draft = open(*index, true, time);
  draft.vague = event.vague;
  draft.bare = event.bare;
  // "(epoch: 1, iters: 200, time: 0.6)", and again at 300: times of steps, while the epoch goes on.
  if (event.step && event.epoch_time && draft.printed_at && *event.step > *draft.printed_at) {
    draft.printed.reset();
    draft.ended = false;
    draft.printed_at = event.step;
    return;
  }
  const bool of_step = draft.printed_at && !event.step;
  const bool told = draft.printed.has_value() && draft.ended && !of_step;  // another rank says the same again
  if (event.epoch_time && !told) {
    draft.printed = event.epoch_time;
    draft.printed_at = event.step;
    draft.train_part = event.train_part;
  }
  // "Epoch 3 | Training | Elapsed 1:20", "Epoch 3 | Validation | Elapsed 0:05": a clock that went back is another one.
  if (event.valid_part && event.clock && draft.clock && event.clock->value < draft.clock->value) {
    draft.validation = event.clock;
    draft.clock = *draft.clock + *event.clock;
    if (time) draft.end = time;
    return;
  }
  if (!draft.printed && fit().pending_time) draft.printed = fit().pending_time;
  fit().pending_time.reset();
  if (event.clock) draft.clock = event.clock;
  if (fit().pending_validation) draft.validation = std::exchange(fit().pending_validation, std::nullopt);
  if (event.validation_time) draft.validation = event.validation_time;
  if (event.steps) draft.steps = event.steps;
  if (event.data_time && !event.step && draft.printed && event.data_time->value <= draft.printed->value)
    draft.input = event.data_time->value;
  if (event.examples) draft.examples = event.examples;
  if (event.examples_rate && !event.examples && draft.printed)
    draft.examples = event.examples_rate->value * draft.printed->value;
  if (fit().tokens) draft.tokens = fit().tokens;
  for (const auto& [name, value] : event.metrics)
    if (draft.metrics.size() < kMostMetrics) draft.metrics[name] = value;
  draft.ended = true;
  if (time && !told) draft.end = time;
}

void FitBuilder::add_step(const LogEvent& event, std::optional<double> time) {
  EpochDraft* draft = current();
  if (has_epoch(event)) {
    const bool fresh = !draft || draft->index != *event.epoch;
    // An epoch first heard of at its 200th step began 200 steps before, though not before the line above.
    std::optional<double> began = event.step.value_or(0) <= 1 ? time : std::nullopt;
    if (const auto per_step = event.step_time ? event.step_time : event.mean_step_time; time && !began && per_step) {
      began = *time - static_cast<double>(*event.step) * per_step->value;
      if (fit().last_time) began = std::max(*began, *fit().last_time);
    }
    draft = &open(*event.epoch, true, began ? began : time);
    if (!fresh && draft->ended) return;
    if (fresh && !draft->begin) draft->begin = began;
  }
  if (draft && !draft->ended) {
    // Steps may be counted on from epoch to epoch.
    if (auto& drafts = fit().drafts; drafts.size() > 1 && !draft->first_step && !event.steps) {
      const int64_t before = drafts[drafts.size() - 2].last_step.value_or(0);
      if (event.step.value_or(0) > before) draft->steps_before = before;
    }
    draft->add_step(event, time);
  }
  // Runs that count steps only are told by windows of steps.
  auto& windows = fit().windows;
  // Where only a clock tells, between two readings so much must pass that its resolution does not matter.
  constexpr double kResolutions = 20;
  const auto reading = event.clock ? std::optional<double>(event.clock->value) : time;
  const double coarse = kResolutions * (event.clock ? event.clock->width() : clock_resolution_);
  const auto last_reading = fit().step_reading;
  if (event.step && reading && !draft && (!last_reading || std::abs(*reading - last_reading->second) >= coarse))
    fit().step_reading = {*event.step, *reading};
  Step window;
  window.epoch = draft && !draft->ended ? static_cast<int>(draft->index) : 0;
  const int64_t before = windows.empty() ? 0 : windows.back().index;
  window.index = event.step.value_or(before + event.window_steps.value_or(0));
  const double covered = static_cast<double>(event.window_steps.value_or(std::max<int64_t>(window.index - before, 1)));
  if (event.step_time)
    window.seconds = event.step_time->value;
  else if (event.window_time)
    window.seconds = event.window_time->value / covered;
  else if (event.rate && event.rate->value > 0)
    window.seconds = 1 / event.rate->value;
  else if (!draft && event.step && reading && last_reading && *event.step > last_reading->first &&
           *reading - last_reading->second >= coarse)
    window.seconds = (*reading - last_reading->second) / static_cast<double>(*event.step - last_reading->first);
  else
    return;
  if (window.seconds < 0 || (!windows.empty() && event.step == before && window.seconds == windows.back().seconds))
    return;  // a clock set back, or two loggers that say the same
  if (event.data_time) window.input_seconds = event.data_time->value;
  if (time) window.start = *time - window.seconds * covered;
  if (windows.size() >= kMostWindows) {  // keep every other one
    size_t kept = 0;
    for (size_t i = 0; i < windows.size(); i += 2) windows[kept++] = windows[i];
    windows.resize(kept);
  }
  windows.push_back(window);
}

void FitBuilder::add_inner_bar(EpochDraft& draft, const LogEvent& event, bool keras, std::optional<double> time) {
  BarState* bar = draft.inner.empty() ? nullptr : &draft.inner.back();
  const bool same = bar && bar->steps == event.steps && event.step.value_or(0) >= bar->step && bar->role == event.role;
  if (!same) {
    if (draft.inner.size() >= kMostInner) return;
    draft.inner.emplace_back();
    bar = &draft.inner.back();
    bar->role = event.role;
    bar->keras = keras;
  }
  bar->update(event, time);
}

// Whether they are epochs, how long they take will tell.
void FitBuilder::note_items(const LogEvent& event, std::optional<double> time) {
  constexpr int64_t kMostItems = 50;
  auto& [points, total] = fit().items_bar;
  const bool same = points.empty() || (total == event.steps && event.step >= points.back().first);
  if (!event.step || !event.steps || *event.steps > kMostItems || !event.elapsed || !same) {
    fit().items_bars = true;
    return;
  }
  total = event.steps;
  if (points.empty() || *event.step > points.back().first)
    points.emplace_back(*event.step, time ? Measured::exact(*time) : *event.elapsed);
}

void FitBuilder::add_train_bar(const LogEvent& event, bool keras, std::optional<double> time) {
  EpochDraft* draft = current();
  const int64_t step = event.step.value_or(0);
  if (has_epoch(event)) {
    const bool other = !draft || !draft->numbered || draft->index != *event.epoch;
    draft = &open(*event.epoch, true, time);
    // One of another length under the same name, begun behind it: fastai's of the validation.
    if (!other && draft->train && draft->train->complete() && event.steps && event.steps != draft->train->steps &&
        (step == 0 || (!draft->inner.empty() && draft->inner.back().steps == event.steps))) {
      LogEvent inner = event;
      inner.role = LogEvent::Role::validation;
      add_inner_bar(*draft, inner, keras, time);
      return;
    }
    // A bar that begins again under the name of an epoch that is told: Lightning's on its way to the next one, or a
    // probe after training.
    if (!other && draft->train && draft->train->complete() && step < draft->train->step) return;
  } else {
    const bool running = draft && !draft->ended;
    const bool same = running && draft->train && draft->train->steps == event.steps &&
                      (step > draft->train->step ||
                       (step == draft->train->step && (event.line == draft->train->line || !draft->train->complete())));
    const bool unknown_length = running && draft->train && draft->train->steps && !event.steps;
    const bool told = running && draft->train && draft->train->complete() && draft->train->elapsed &&
                      draft->train->elapsed->value > 0;
    if (!same && keras && fit().headers && told) {  // evaluate() or predict() after the epoch's last word
      fit().trailing = true;
      return;
    }
    if (!same && !unknown_length) {
      if (running && draft->train && event.steps != draft->train->steps && draft->train->step > 0 &&
          !(event.steps && !draft->train->steps)) {
        LogEvent inner = event;
        if (inner.role == LogEvent::Role::train && draft->train->complete()) inner.role = LogEvent::Role::validation;
        add_inner_bar(*draft, inner, keras, time);
        return;
      }
      const bool redrawn =
          running && draft->train && draft->train->complete() && draft->train->steps == event.steps && !fit().headers;
      const bool finished = fit().headers && draft && draft->ended;
      if (finished) {  // evaluate() or predict() after training
        fit().trailing = true;
        return;
      }
      if (!running || redrawn || (draft->train && !fit().headers))
        draft = &open(draft ? draft->index + 1 : 1, false, time);
    }
  }
  if (!draft->train) {
    draft->train.emplace();
    draft->train->keras = keras;
    // The first epoch begins with its bar, not with what was printed before: imports may lie in between.
    const bool guessed = fit().drafts.size() == 1 && draft->begin == fit().before_first;
    if (time && !draft->header && (!draft->begin || guessed)) {
      const double shown = !keras && event.elapsed ? event.elapsed->value : 0;
      draft->begin = std::max(fit().before_first.value_or(*time - shown), *time - shown);
    }
  }
  BarState& bar = *draft->train;
  // A bar that goes on growing after another one ended within it has that one's time in its own; Keras' always does.
  if (keras || (event.elapsed && bar.elapsed && event.elapsed->value > bar.elapsed->value))
    for (BarState& inner : draft->inner) inner.inside = true;
  bar.update(event, time);
  if (auto& positions = fit().positions; !positions.empty() && positions.back().step == step && !draft->numbered)
    positions.back().redrawn = event.elapsed;
  if (bar.complete() && time) draft->end = time;
  for (const auto& [name, value] : event.metrics)
    if (draft->metrics.size() < kMostMetrics || draft->metrics.contains(name)) draft->metrics[name] = value;
}

void FitBuilder::add_bar(const Bar& bar, std::optional<double> time) {
  LogEvent event = bar.event;
  const bool keras = bar.style == Bar::Style::keras;
  // Keras' own bars have no label; others of its form may say "Epoch 3/10: 12/40 [###  ]".
  if (!keras || lowered(bar.label.substr(0, 5)) == "epoch") read_label(bar.label, event);
  const std::string unit = lowered(bar.unit);
  if (unit.ends_with("b") && unit != "mb" && !keras && unit.size() <= 2)
    event.role = LogEvent::Role::other;  // a download
  if (unit == "b" || unit == "kb" || unit == "mb" || unit == "gb") event.role = LogEvent::Role::other;
  if (unit == "task") event.role = LogEvent::Role::validation;
  if (unit.starts_with("epoch") || unit == "ep") event.role = LogEvent::Role::epochs;
  if (bar.style == Bar::Style::rich && event.epoch && event.epochs && !event.inclusive) event.inclusive = true;
  if (keras) event.framework = "keras";
  add(event, time);
}

// "[100/300] loss=0.3 0.5s" counts epochs as long as no line calls something else an epoch, and steps then.
void FitBuilder::add(const LogEvent& event, std::optional<double> time) {
  const bool named = has_epoch(event) && !event.vague;
  if (event.vague && fit().named) return;
  if (event.loose && !fit().drafts.empty()) {
    if (time) note_time(*time);
    return;
  }
  if (event.bare && !counts_on(event)) return;
  if (named && !fit().named) {
    const auto vague = [](const EpochDraft& draft) { return draft.vague; };
    while (fits_.size() > 1 && std::all_of(fits_.back().drafts.begin(), fits_.back().drafts.end(), vague)) {
      fits_[fits_.size() - 2].facts.insert(fits_[fits_.size() - 2].facts.end(), fit().facts.begin(), fit().facts.end());
      fits_.pop_back();
    }
    std::erase_if(fit().drafts, vague);
    fit().named = true;
  }
  if (!event.framework.empty()) fact({"framework", std::string(event.framework), ""});
  note_plan(event);
  if (event.tokens) fit().tokens = event.tokens;
  if (event.epoch_position && !event.epoch_time && fit().positions.size() < kMostPositions &&
      event.kind != LogEvent::Kind::run_end) {
    const EpochDraft* draft = current();
    const auto elapsed = draft && !draft->numbered && draft->train ? draft->train->elapsed : std::nullopt;
    const auto validation = event.validation_time ? std::optional(event.validation_time->value) : std::nullopt;
    const int64_t step = elapsed ? draft->train->step : 0;
    fit().positions.push_back({*event.epoch_position, elapsed, time, event.tokens, validation, step, std::nullopt});
  }
  switch (event.kind) {
    case LogEvent::Kind::epoch_begin:
      begin_epoch(event, time);
      break;
    case LogEvent::Kind::epoch_end:
      end_epoch(event, time);
      break;
    case LogEvent::Kind::step:
      add_step(event, time);
      break;
    case LogEvent::Kind::run_end:
      if (!fit().run_time) fit().run_time = event.run_time;
      if (event.epoch_position) fit().run_epochs = event.epoch_position;
      if (event.run_input_time) fit().run_input = event.run_input_time->value;
      fit().trailing = true;
      break;
    case LogEvent::Kind::progress:
      if (event.role == LogEvent::Role::other) break;
      if (event.role == LogEvent::Role::epochs) {
        auto& points = fit().epochs_bar.points;
        fit().epochs_bar.total = event.steps;
        if (event.steps) fit().planned = event.steps;
        if (event.step && event.elapsed && (points.empty() || *event.step > points.back().first) &&
            points.size() < kMostEpochs)
          points.emplace_back(*event.step, time ? Measured::exact(*time) : *event.elapsed);
      } else if (event.role == LogEvent::Role::validation) {
        if (EpochDraft* draft = current()) {
          add_inner_bar(*draft, event, event.framework == "keras", time);
          // Lines about steps end an epoch at its last one; what it validates then is its own as well.
          if (draft->end && draft->last_step_time && time && !draft->train) draft->end = std::max(*draft->end, *time);
        }
      } else {
        if (!has_epoch(event)) note_items(event, time);
        add_train_bar(event, event.framework == "keras", time);
      }
      break;
  }
  if (time) note_time(*time);
}

}  // namespace isochron
