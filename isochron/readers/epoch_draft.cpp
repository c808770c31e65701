#include "isochron/readers/epoch_draft.h"

#include <algorithm>
#include <cmath>

namespace isochron {
namespace {

constexpr double kSlack = 0.05;  // relative: two readings of the same time may differ by this much

bool agree(const Measured& a, const Measured& b) {
  const double slack = kSlack * std::max(a.value, b.value);
  return a.low <= b.high + slack && b.low <= a.high + slack;
}

// The narrower of two readings of one time, if they agree; the first otherwise.
Measured sharper(const Measured& first, const std::optional<Measured>& second) {
  if (!second || !agree(first, *second) || second->width() >= first.width()) return first;
  Measured out = *second;
  out.value = std::clamp(out.value, std::min(first.low, out.high), std::max(first.high, out.low));
  return out;
}

// A clock without a fraction cuts it off: the middle is the best guess.
Measured centred(const Measured& time) { return {0.5 * (time.low + time.high), time.low, time.high}; }

Measured inverse(double count, const Measured& rate) {
  return {count / rate.value, count / rate.high, rate.low > 0 ? count / rate.low : count / rate.value * 2};
}

}  // namespace

void BarState::update(const LogEvent& event, std::optional<double> time) {
  if (!first_time) first_time = time;
  last_time = time;
  line = event.line;
  const int64_t before = step;
  step = event.step.value_or(step);
  if (!from) from = step;
  if (event.steps) steps = event.steps;
  if (before == 0 && step == 1) {
    // Keras gives the first step as its share of what is left; the others as the time since the bar began.
    if (keras && event.left && steps && *steps > 1) first_step = *event.left * (1.0 / static_cast<double>(*steps - 1));
    const auto own = keras                                           ? event.step_time
                     : event.elapsed && event.elapsed->width() < 0.5 ? event.elapsed
                                                                     : std::nullopt;
    if (own) first_step = first_step ? sharper(*own, first_step) : *own;
  }
  if (event.elapsed) elapsed = event.elapsed;
  if (event.left) left = event.left;
  if (event.rate) rate = event.rate;
  if (event.step_time) step_time = event.step_time;
}

std::optional<Measured> BarState::seconds() const {
  if (step == 0) return std::nullopt;
  const auto count = static_cast<double>(step);
  std::optional<Measured> by_rate;
  if (step_time && count > 0) {
    // Keras leaves the first step out of the mean where it drew it.
    by_rate = keras && first_step && count > 1 ? *first_step + *step_time * (count - 1) : *step_time * count;
  } else if (rate && rate->value > 0 && count > 0) {
    by_rate = inverse(count, *rate);
  }
  std::optional<Measured> by_clock;
  if (first_time && last_time && *last_time > *first_time) by_clock = Measured::exact(*last_time - *first_time);
  if (keras && elapsed && elapsed->value == 0 && by_rate && by_rate->low > 1) return by_rate;  // still the time left
  if (elapsed) {
    const Measured shown = elapsed->low == elapsed->value ? centred(*elapsed) : *elapsed;
    const Measured sharp = sharper(shown, by_rate);
    return sharp.width() > 0.1 * sharp.value ? sharper(sharp, by_clock) : sharp;
  }
  return by_rate ? by_rate : by_clock;
}

bool BarState::in_time() const {
  constexpr double kSlackSeconds = 0.3, kSlackShare = 0.2;
  if (!first_time || !last_time || !complete()) return false;
  const auto own = elapsed && elapsed->value > 0 ? seconds() : std::nullopt;
  const double shown = *last_time - *first_time;
  if (!own) return elapsed && shown < 1 + kSlackSeconds;
  return shown > own->low - kSlackSeconds - kSlackShare * own->value &&
         shown < own->high + kSlackSeconds + kSlackShare * own->value;
}

std::optional<double> EpochDraft::bars_end() const {
  if (!train || !train->in_time()) return std::nullopt;
  double latest = *train->last_time;
  for (const BarState& bar : inner) {
    if (!bar.in_time()) return std::nullopt;
    latest = std::max(latest, *bar.last_time);
  }
  return latest;
}

void BesideSteps::add(int64_t step, const Measured& time) {
  if (!first) {
    first = time;
    first_step = step;
  }
  last = time;
  last_step = step;
  sum = sum + time;
}

void EpochDraft::add_step(const LogEvent& event, std::optional<double> time) {
  if (event.steps) steps = event.steps;
  if (event.elapsed) elapsed = event.elapsed;
  // A meter that nobody resets goes on with the mean of all epochs: its first one has more than the first step.
  constexpr double kOwn = 0.1;
  if (event.mean_step_time && event.step_time && event.step.value_or(2) <= 1 && !first_step)
    mean_of_run = std::abs(event.mean_step_time->value - event.step_time->value) > kOwn * event.step_time->value;
  if (event.mean_step_time && !mean_of_run) mean_step = event.mean_step_time;
  if (event.mean_data_time) mean_input = event.mean_data_time;
  if (event.examples) examples = event.examples;
  if (!event.step) return;
  if (event.beside_step) beside.add(*event.step, *event.beside_step);
  if (!first_step) {
    first_step = event.step;
    first_step_time = time;
  }
  const int64_t covered = *event.step - last_step.value_or(std::min(steps_before, *event.step - 1));
  if (covered > 0 && covered < 100000000) {
    if (event.step_time) {
      step_seconds += event.step_time->value * static_cast<double>(covered);
      steps_covered += covered;
    }
    if (event.data_time) {
      input_seconds += event.data_time->value * static_cast<double>(covered);
      inputs_covered += covered;
    }
  }
  if (covered > 0) stride = covered;
  last_step = event.step;
  last_step_time = time;
  if (steps && *last_step >= *steps && time) end = time;
}

std::optional<int64_t> EpochDraft::steps_told() const {
  return last_step ? std::optional<int64_t>(*last_step - steps_before) : std::nullopt;
}

bool EpochDraft::steps_done() const {
  if (!steps || !last_step) return false;
  const int64_t last = *steps - (*first_step == 0 ? 1 : 0);
  return *last_step + std::max<int64_t>(stride, 1) > last;
}

std::optional<int64_t> EpochDraft::step_count() const {
  if (train && train->steps) return train->steps;
  if (train && train->step > 0) return train->step;
  return steps;
}

std::optional<Measured> EpochDraft::by_bars() const {
  if (!train || train->step == 0) return std::nullopt;
  auto total = train->seconds();
  if (!total) return std::nullopt;
  if (!train->complete() && train->steps) {  // the last updates were not drawn
    if (2 * train->step >= *train->steps)
      total = *total * (static_cast<double>(*train->steps) / static_cast<double>(train->step));
    else if (train->left)
      total = *total + *train->left;
  }
  for (const BarState& bar : inner)
    if (!bar.inside)
      if (const auto time = bar.seconds()) total = *total + *time;
  return total;
}

std::optional<Measured> EpochDraft::by_steps() const {
  const auto count = steps ? steps : std::max(steps_told(), std::optional<int64_t>(steps_covered));
  if (elapsed && elapsed->value > 0) {
    // The clock of the last line about a step, drawn out to the last step.
    const bool more = steps && last_step && *last_step > 0 && *steps > *last_step;
    const double factor = more ? static_cast<double>(*steps) / static_cast<double>(*last_step) : 1;
    return *elapsed * (factor < 2 ? factor : 1);
  }
  if (!count || *count <= 0) return std::nullopt;
  const auto all = static_cast<double>(*count);
  if (mean_step) return *mean_step * all;
  if (steps_covered > 0) {
    const double seconds = step_seconds / static_cast<double>(steps_covered) * all;
    return Measured{seconds, seconds * 0.95, seconds * 1.05};
  }
  return std::nullopt;
}

std::optional<Measured> EpochDraft::seconds() const {
  std::optional<Measured> by_clock;
  if (begin && end && *end > *begin) {
    const double time = *end - *begin;
    by_clock = Measured{time, std::max(0.0, time - clock_resolution), time + clock_resolution} *
               (1.0 / static_cast<double>(covers));
  } else if (begin && !end && last_step_time && last_step && *last_step > 0 && steps_done()) {
    // Drawn out from the last line about a step to the last step.
    const double factor =
        std::max(1.0, static_cast<double>(*steps) / static_cast<double>(*last_step + (*first_step == 0 ? 1 : 0)));
    by_clock = Measured::exact((*last_step_time - *begin) * factor);
  }
  std::optional<Measured> best = printed;
  if (best && best->low == best->value) best = centred(*best);
  if (!best) {
    best = by_bars();
    if (best && validation) best = *best + *validation;
    if (best && after_bars && !validation) best = *best + Measured::exact(*after_bars);
  }
  if (best) return best->width() > 0.02 * best->value ? sharper(*best, by_clock) : *best;
  if (by_clock) return by_clock;
  best = by_steps();
  if (best && validation) best = *best + *validation;
  return best;
}

std::optional<double> EpochDraft::first_step_seconds() const {
  if (train && train->first_step) return train->first_step->value;
  // By the clock, if the first line about a step really was about one of the first.
  const auto count = step_count();
  if (!begin || !first_step_time || !first_step || *first_step_time < *begin) return std::nullopt;
  if (*first_step > 1 && (!count || *first_step * 50 > *count)) return std::nullopt;
  return *first_step_time - *begin;
}

std::optional<double> EpochDraft::waited_for_input() const {
  if (input) return input;
  const auto count = steps ? steps : steps_told();
  if (!count) return std::nullopt;
  if (mean_input) return mean_input->value * static_cast<double>(*count);
  if (inputs_covered > 0) return input_seconds / static_cast<double>(inputs_covered) * static_cast<double>(*count);
  return std::nullopt;
}

std::optional<double> EpochDraft::validation_seconds() const {
  if (validation) return validation->value;
  double total = 0;
  bool any = false;
  for (const BarState& bar : inner) {
    if (bar.role != LogEvent::Role::validation) continue;
    if (const auto time = bar.seconds()) {
      total += time->value;
      any = true;
    }
  }
  return any ? std::optional<double>(total) : std::nullopt;
}

}  // namespace isochron
