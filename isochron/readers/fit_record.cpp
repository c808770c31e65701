// The second half of FitBuilder: what was gathered becomes a RunRecord.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "isochron/readers/fit_builder.h"

namespace isochron {
namespace {

// Readings that grow by about as much each time as the first one shows are a clock nobody reset.
bool is_running_clock(const std::vector<double>& readings, bool named_so, double resolution) {
  if (readings.size() < 3) return named_so && readings.size() == 2 && readings[1] > readings[0] * 1.5;
  std::vector<double> steps;
  for (size_t i = 1; i < readings.size(); ++i) {
    if (readings[i] <= readings[i - 1]) return false;
    steps.push_back(readings[i] - readings[i - 1]);
  }
  const double mean = std::accumulate(steps.begin(), steps.end(), 0.0) / static_cast<double>(steps.size());
  double variance = 0;
  for (const double step : steps) variance += (step - mean) * (step - mean);
  const double spread = std::sqrt(variance / static_cast<double>(steps.size())) / mean;
  if (named_so) {
    // "elapsed 1:30, 1:32, 3:10, 3:20": as times of epochs these are far more even than their differences would be.
    const auto [shortest, longest] = std::minmax_element(steps.begin(), steps.end());
    return spread < 0.25 || *longest / *shortest < readings.back() / readings.front();
  }
  // A real slow-down that grows this evenly from nothing would be taken for a clock; noise tells most of them apart.
  // The first reading holds the start-up as well, so it is no smaller than the steps. One that is much longer is rather
  // the first of epochs that become slower than a slow one on a clock nobody reset.
  // Of a few whole seconds nobody can say how evenly they grow.
  constexpr double kStart = 1.35, kResolutions = 5;
  return mean > kResolutions * resolution && spread < 0.08 && readings[0] > 0.97 * mean && readings[0] < kStart * mean;
}

// Keras draws its bar to the end, validates, and draws it again with metrics of that: where all epochs before have
// them, one that has none is not done.
bool still_validates(const std::vector<EpochDraft>& drafts) {
  const auto validated = [](const EpochDraft& draft) {
    return std::any_of(draft.metrics.begin(), draft.metrics.end(),
                       [](const auto& metric) { return metric.first.starts_with("val_"); });
  };
  const EpochDraft& last = drafts.back();
  return drafts.size() > 1 && last.train && last.train->keras && !last.ended && !validated(last) &&
         std::all_of(drafts.begin(), drafts.end() - 1, validated);
}

}  // namespace

// "Epoch 1 [100/200] loss 0.3 time 12.1s": such times are those of steps or of a few of them where they do not grow
// within an epoch; the epoch's time is their sum then, and not the one that stands beside its last step.
void FitBuilder::take_times_of_steps(Fit& fit) {
  constexpr double kGrows = 1.3, kFurther = 1.5;
  const auto told = [](const EpochDraft& draft) { return draft.beside.first && draft.printed && draft.printed_at; };
  const auto of_steps = [&](const EpochDraft& draft) {
    return !told(draft) ||
           (static_cast<double>(*draft.printed_at) >= kFurther * static_cast<double>(draft.beside.first_step) &&
            draft.printed->value < kGrows * draft.beside.first->value);
  };
  if (std::none_of(fit.drafts.begin(), fit.drafts.end(), told)) return;
  // A clock of the whole run hardly grows within its later epochs either, but never goes back.
  const EpochDraft* before = nullptr;
  bool goes_on = true;
  for (const EpochDraft& draft : fit.drafts) {
    if (!told(draft)) continue;
    if (before) goes_on = goes_on && draft.beside.first->value > before->printed->value;
    before = &draft;
  }
  if (goes_on && before != &fit.drafts.front()) return;
  if (!std::all_of(fit.drafts.begin(), fit.drafts.end(), of_steps)) return;
  for (EpochDraft& draft : fit.drafts) {
    if (!told(draft)) continue;
    const Measured sum = draft.beside.sum + *draft.printed;
    draft.printed.reset();
    draft.printed_at.reset();
    if (!draft.seconds()) draft.printed = sum;
  }
}

// A time below the last line about an epoch alone is that of the whole run.
void FitBuilder::take_time_below(Fit& fit) {
  const auto below = [](const EpochDraft& draft) { return draft.told_below; };
  if (fit.drafts.size() < 2 || !below(fit.drafts.back()) || below(fit.drafts[fit.drafts.size() - 2])) return;
  if (!fit.run_time) fit.run_time = fit.drafts.back().printed;
  fit.drafts.back().printed.reset();
}

// Printed times that are readings of a clock become differences.
void FitBuilder::take_clocks(Fit& fit) {
  using Member = std::optional<Measured> EpochDraft::*;
  const auto with = [&](Member member) {
    std::vector<EpochDraft*> drafts;
    for (EpochDraft& draft : fit.drafts)
      if (draft.*member) drafts.push_back(&draft);
    return drafts;
  };
  // Whether bars or the log's own times beside the printed ones speak for them as they are.
  const auto confirmed = [](const std::vector<EpochDraft*>& drafts, Member member) {
    const EpochDraft& last = *drafts.back();
    const double reading = (last.*member)->value;
    const EpochDraft& first = *drafts.front();
    constexpr double kMoreWork = 1.5;  // so many more examples take longer: no wonder that times grow
    if (first.examples && last.examples && *last.examples > kMoreWork * *first.examples) return true;
    if (last.begin && last.end && std::abs(*last.end - *last.begin - reading) < 0.15 * reading) return true;
    const auto bar = last.train ? last.train->seconds() : std::nullopt;
    return bar && bar->value > 0.7 * reading;
  };
  const auto running = [&](const std::vector<EpochDraft*>& drafts, Member member, bool named_so) {
    std::vector<double> readings;
    double resolution = 0;
    for (const EpochDraft* draft : drafts) {
      readings.push_back((draft->*member)->value);
      resolution = std::max(resolution, (draft->*member)->width());
    }
    return !drafts.empty() && is_running_clock(readings, named_so, resolution) && !confirmed(drafts, member);
  };
  const auto differences = [](const std::vector<EpochDraft*>& drafts, Member member) {
    for (size_t i = drafts.size(); i-- > 1;) {
      const Measured now = *(drafts[i]->*member), before = *(drafts[i - 1]->*member);
      drafts[i]->printed = Measured{now.value - before.value, now.low - before.high, now.high - before.low} *
                           (1.0 / static_cast<double>(drafts[i]->covers));
    }
  };
  // "305.3 s elapsed": since the run's beginning, or since the epoch's.
  if (auto drafts = with(&EpochDraft::clock); !drafts.empty()) {
    const bool of_run = running(drafts, &EpochDraft::clock, true);
    std::erase_if(drafts, [](const EpochDraft* draft) { return draft->printed.has_value(); });
    for (EpochDraft* draft : drafts) draft->printed = draft->clock;
    if (of_run) {
      differences(drafts, &EpochDraft::clock);
      if (!drafts.empty() && drafts.front() == &fit.drafts.front())
        drafts.front()->printed = *drafts.front()->clock * (1.0 / static_cast<double>(drafts.front()->covers));
      return;
    }
  }
  // "Epoch 2 completed in 22.41 seconds" by a clock that was never reset.
  if (const auto drafts = with(&EpochDraft::printed); running(drafts, &EpochDraft::printed, false)) {
    std::string readings;
    for (const EpochDraft* draft : drafts) readings += std::to_string(draft->printed->value) + " ";
    fit.facts.push_back({"epochs.clock", readings, "", std::nullopt, kNoEpoch});
    differences(drafts, &EpochDraft::printed);
  }
}

// `for epoch in tqdm(range(50))`: items of one bar without a name that take seconds each, in a log without a word about
// epochs, are epochs.
void FitBuilder::take_long_items(Fit& fit) {
  constexpr double kLeast = 1;  // seconds, on average
  const auto& points = fit.items_bar.points;
  if (fit.items_bars || points.size() < 3 || fit.named || fit.headers || fit.run_epochs || !fit.positions.empty())
    return;
  if (fit.drafts.size() != 1 || fit.drafts[0].numbered || !fit.drafts[0].train || fit.drafts[0].train->keras ||
      !fit.windows.empty())
    return;
  const auto items = static_cast<double>(points.back().first - points.front().first);
  const double seconds = points.back().second.value - points.front().second.value;
  if (static_cast<double>(points.size()) < items + 1 || seconds < kLeast * items) return;
  fit.epochs_bar = fit.items_bar;
  fit.planned = fit.items_bar.total;
  fit.drafts.clear();
}

// A bar whose items are epochs: the differences of its clock.
void FitBuilder::take_epochs_bar(Fit& fit) {
  const auto& points = fit.epochs_bar.points;
  if (points.size() < 2) return;
  const bool told =
      std::any_of(fit.drafts.begin(), fit.drafts.end(), [](const EpochDraft& d) { return d.seconds().has_value(); });
  if (told) return;
  fit.drafts.clear();
  for (size_t i = 1; i < points.size(); ++i) {
    const auto covered = static_cast<double>(points[i].first - points[i - 1].first);
    const double seconds = (points[i].second.value - points[i - 1].second.value) / covered;
    EpochDraft draft;
    draft.index = points[i].first;
    draft.numbered = draft.ended = true;
    draft.printed = Measured{seconds, std::max(0.0, seconds - points[i].second.width() / covered),
                             seconds + points[i].second.width() / covered};
    fit.drafts.push_back(std::move(draft));
  }
}

// One bar for the whole run, drawn on below the headers of epochs: the differences of its clock.
void FitBuilder::take_running_bar(Fit& fit) {
  auto& drafts = fit.drafts;
  const auto goes_on = [](const EpochDraft& a, const EpochDraft& b) {
    return a.train && b.train && !a.printed && !b.printed && a.train->steps == b.train->steps && !a.train->complete() &&
           b.train->from >= a.train->step && a.train->elapsed && b.train->elapsed &&
           b.train->elapsed->value >= a.train->elapsed->value;
  };
  const auto one_bar = [&](auto first, auto last) {
    return std::adjacent_find(first, last, [&](const auto& a, const auto& b) { return !goes_on(a, b); }) == last;
  };
  // Behind a bar that is done an epoch may still be named, as the one that was reached.
  const bool named_behind = drafts.size() > 2 && !drafts.back().train && !drafts.back().printed &&
                            drafts[drafts.size() - 2].train && drafts[drafts.size() - 2].train->complete();
  if (drafts.size() < 2 || !one_bar(drafts.begin(), drafts.end() - (named_behind ? 1 : 0))) return;
  if (named_behind) drafts.pop_back();
  for (size_t i = drafts.size(); i-- > 0;) {
    const BarState now = *drafts[i].train;
    const bool open = i + 1 == drafts.size() && !now.complete();
    if (open) continue;
    const Measured before = i > 0 ? *drafts[i - 1].train->elapsed : Measured::exact(0);
    drafts[i].printed = Measured{now.elapsed->value - before.value, std::max(0.0, now.elapsed->low - before.high),
                                 now.elapsed->high - before.low};
    drafts[i].steps = now.step - (i > 0 ? drafts[i - 1].train->step : 0);
    drafts[i].ended = true;
  }
  for (EpochDraft& draft : drafts)
    if (draft.ended) draft.train.reset();
}

// One bar without a name and no word of epochs: long items are epochs (`for epoch in tqdm(range(50))`), short ones
// steps. And bars drawn before their headers, because the two went through different streams, move one place on.
void FitBuilder::take_lone_bars(Fit& fit) {
  auto& drafts = fit.drafts;
  // And one whose run turns out to have had several epochs was the run's,
  if (drafts.size() == 1 && !drafts[0].numbered && fit.run_epochs.value_or(0) > 1.01) drafts.clear();
  // as was one that took as long as all epochs of which lines told the times.
  if (drafts.size() > 2 && !drafts.back().numbered && drafts.back().train && !drafts.back().printed) {
    const auto told = [](const EpochDraft& draft) { return draft.numbered && draft.printed; };
    double all = 0;
    for (const EpochDraft& draft : drafts) all += draft.printed ? draft.printed->value : 0;
    const auto bar = drafts.back().train->seconds();
    if (bar && bar->high > 0.9 * all && std::all_of(drafts.begin(), drafts.end() - 1, told)) drafts.pop_back();
  }
  if (drafts.size() >= 2 && fit.headers && !drafts.front().header && drafts.front().train && drafts.back().header &&
      !drafts.back().train && !drafts.back().printed) {
    for (size_t i = 0; i + 1 < drafts.size(); ++i) {
      const int64_t index = drafts[i + 1].index;
      drafts[i].index = index;
    }
    drafts.pop_back();
  }
}

// "training finished" also ends the epoch under way, in logs that only announce epochs.
void FitBuilder::take_end(Fit& fit) {
  if (fit.drafts.empty() || fit.drafts.back().ended) return;
  EpochDraft& last = fit.drafts.back();
  for (const Fact& fact : fit.facts)
    if (fact.key == "finished" && fact.time && last.begin && *fact.time > *last.begin && last.header && !last.train &&
        !last.steps) {
      last.ended = true;
      last.end = fact.time;
    }
}

// Logs that only tell of steps: an epoch reaches from its first line to that of the next, with the wait before that.
// None follows the last epoch; the wait before its own first line takes its place.
void FitBuilder::take_last_steps(Fit& fit) {
  if (fit.headers || fit.drafts.size() < 3) return;
  EpochDraft& last = fit.drafts.back();
  const EpochDraft& before = fit.drafts[fit.drafts.size() - 2];
  const auto by_steps = [](const EpochDraft& draft) {
    return !draft.printed && !draft.train && draft.begin && draft.begin == draft.first_step_time &&
           draft.last_step_time && draft.steps_done();
  };
  if (last.end || !by_steps(last) || !by_steps(before)) return;
  const auto own = last.seconds();
  const auto drawn_out = own ? own->value - (*last.last_step_time - *last.begin) : 0;
  const double wait = *last.begin - *before.last_step_time - drawn_out;
  if (own && wait > 0) last.end = *last.begin + own->value + wait;
}

// What a loop does behind its bar (it validates, it saves) takes time that no bar shows; where the lines have times, it
// is what passes before the next epoch's bar is drawn. After the last epoch the log may go on until the program ends:
// as long as others did is taken for its own.
void FitBuilder::take_gaps(Fit& fit) {
  constexpr double kLeast = 0.1, kLeastShare = 0.03;
  auto& drafts = fit.drafts;
  double longest = 0;
  const auto take = [&](EpochDraft& draft, double end, double next) {
    const auto own = draft.seconds();
    if (!own || draft.printed || draft.covers > 1 || next - end < std::max(kLeast, kLeastShare * own->value)) return;
    draft.after_bars = next - end;
    draft.end = next;
    longest = std::max(longest, next - end);
  };
  for (size_t i = 0; i + 1 < drafts.size(); ++i) {
    EpochDraft& next = drafts[i + 1];
    const auto end = drafts[i].bars_end();
    if (!end || !next.bars_end() || next.header || next.train->keras || next.train->from.value_or(1) > 0) continue;
    take(drafts[i], *end, *next.train->first_time);
    next.begin = next.train->first_time;
  }
  if (drafts.empty() || longest == 0 || !fit.last_time || fit.headers) return;
  if (const auto end = drafts.back().bars_end(); end && *fit.last_time - *end <= 2 * longest)
    take(drafts.back(), *end, *fit.last_time);
}

// Nothing may say how many steps an epoch has, nor that it ended, but the epochs before it: one that was told as far as
// each of them is done, and what follows its last line takes as long as it took before.
void FitBuilder::take_as_long(Fit& fit) {
  if (fit.drafts.size() < 2) return;
  EpochDraft& last = fit.drafts.back();
  if (last.ended || last.train || last.steps) return;
  if (!last.last_step) {  // nothing but headers and lines about results
    last.ended = last.header && last.lines > 0 &&
                 std::all_of(fit.drafts.begin(), fit.drafts.end() - 1, [&](const EpochDraft& draft) {
                   return draft.header && !draft.train && !draft.last_step && draft.lines <= last.lines;
                 });
    return;
  }
  const auto told_as_far = [&](const EpochDraft& draft) {
    return draft.last_step && draft.stride == last.stride &&
           *draft.last_step - *draft.first_step == *last.last_step - *last.first_step;
  };
  if (!std::all_of(fit.drafts.begin(), fit.drafts.end(), told_as_far)) return;
  last.ended = true;
  const EpochDraft& before = fit.drafts[fit.drafts.size() - 2];
  if (last.last_step_time && before.end && before.last_step_time)
    last.end = *last.last_step_time + std::max(0.0, *before.end - *before.last_step_time);
}

// How many epochs a log tells of, with or without times.
size_t FitBuilder::epochs_named(const Fit& fit) {
  const double by_position = fit.positions.empty() ? 0 : std::clamp(fit.positions.back().epoch, 0.0, 1e6);
  return std::max(fit.drafts.size(), static_cast<size_t>(by_position));
}

RunRecord FitBuilder::record_of(Fit fit) {
  // "epoch 10", "epoch 20", …: the first of them stands for ten as well.
  if (fit.drafts.size() > 1 && fit.drafts[1].covers > 1 && fit.drafts[0].index == fit.drafts[1].covers)
    fit.drafts[0].covers = fit.drafts[1].covers;
  constexpr size_t kFewest = 3;  // one or two lines that begin with a number count nothing
  const auto bare = [](const EpochDraft& draft) { return draft.bare; };
  if (fit.drafts.size() < kFewest && std::all_of(fit.drafts.begin(), fit.drafts.end(), bare)) fit.drafts.clear();
  take_times_of_steps(fit);
  take_time_below(fit);
  take_clocks(fit);  // first: only what was printed can be a reading of a clock
  take_positions(fit);
  take_long_items(fit);
  take_epochs_bar(fit);
  take_running_bar(fit);
  take_lone_bars(fit);
  take_end(fit);
  take_gaps(fit);
  take_as_long(fit);
  take_last_steps(fit);
  RunRecord run;
  run.source = "console";
  run.framework = fit.framework;
  // Lightning's "Epoch 0/5" counts from 0, and its last epoch may be all that a pipe got of it.
  const bool zero_based =
      (fit.inclusive && fit.framework == "lightning") ||
      std::any_of(fit.drafts.begin(), fit.drafts.end(), [](const EpochDraft& d) { return d.index == 0; });
  std::optional<double> origin;
  for (const EpochDraft& draft : fit.drafts)
    if (draft.begin && !origin) origin = draft.begin;
  std::optional<Fact> untold;  // the first epoch, if nothing says when it began
  for (const EpochDraft& draft : fit.drafts) {
    const bool last = &draft == &fit.drafts.back();
    const bool bar_done = draft.train && draft.train->complete() && !(last && still_validates(fit.drafts));
    const int index = static_cast<int>(draft.index + (zero_based ? 1 : 0));
    if (last && !draft.ended && !bar_done && !draft.steps_done()) {
      OpenEpoch open{index, draft.begin.value_or(0), std::nullopt, draft.step_count()};
      if (draft.train)
        open.step = draft.train->step;
      else if (draft.last_step)
        open.step = draft.last_step;
      run.open_epoch = open;
      continue;
    }
    const auto seconds = draft.seconds();
    if (!seconds && !draft.begin && draft.end && &draft == &fit.drafts.front())
      untold = Fact{"epoch.unbegun", std::to_string(index), "the log tells only of its end", draft.end, index};
    if (!seconds || !(seconds->value >= 0) || seconds->value > 1e9) continue;
    if (&draft == &fit.drafts.front() && draft.begin && draft.begin == fit.before_first && !draft.header &&
        !draft.printed && !draft.train)
      untold = Fact{"epoch.unbegun", std::to_string(index), "taken to begin at the line before it", draft.end, index};
    Epoch epoch;
    epoch.index = index;
    epoch.seconds = seconds->value;
    epoch.resolution = 0.5 * seconds->width();
    epoch.start = draft.begin.value_or(run.epochs.empty() ? 0 : run.epochs.back().start + run.epochs.back().seconds);
    // An epoch that is only told at its end began that long before, whatever was printed meanwhile; what lies before it
    // (imports) is not its own.
    if (draft.end && draft.printed && !draft.header)
      epoch.start = std::max(run.epochs.empty() ? 0.0 : draft.begin.value_or(0), *draft.end - epoch.seconds);
    epoch.steps = draft.step_count();
    if (draft.examples) epoch.examples = static_cast<int64_t>(*draft.examples);
    epoch.validation_seconds = draft.validation_seconds();
    epoch.first_step_seconds = draft.first_step_seconds();
    epoch.input_seconds = draft.waited_for_input();
    epoch.tail_seconds = draft.after_bars;
    epoch.metrics = draft.metrics;
    run.epochs.push_back(std::move(epoch));
  }
  // What is only known of all epochs is spread over them by their times.
  double told = 0;
  for (const Epoch& epoch : run.epochs) told += epoch.seconds;
  for (Epoch& epoch : run.epochs)
    if (fit.run_input && *fit.run_input < told && !epoch.input_seconds)
      epoch.input_seconds = *fit.run_input * epoch.seconds / told;
  if (fit.planned) run.planned_epochs = static_cast<int>(*fit.planned + (zero_based && fit.inclusive ? 1 : 0));
  // A loop of fit(epochs=1), or epochs counted on beyond the plan.
  if (run.planned_epochs && !run.epochs.empty() && run.epochs.back().index > *run.planned_epochs)
    run.planned_epochs.reset();
  if (fit.run_time)
    run.seconds = fit.run_time->value;
  else if (origin && fit.last_time)
    run.seconds = *fit.last_time - *origin;
  else
    for (const Epoch& epoch : run.epochs) run.seconds += epoch.seconds;
  run.facts = std::move(fit.facts);
  for (Fact& fact : run.facts) fact.epoch = fact.epoch == kNoEpoch ? 0 : fact.epoch + (zero_based ? 1 : 0);
  if (untold) run.facts.push_back(std::move(*untold));
  if (untold && fit.before_first_foreign)
    run.facts.push_back({"epoch.begun-by-other", "1", "a line of another logger"});
  if (const size_t named = epochs_named(fit); run.epochs.empty() && named > 0)
    run.facts.push_back({"epochs.untimed", std::to_string(named), ""});
  const auto by_bar = [](const EpochDraft& draft) { return draft.train && !draft.printed && !draft.train->keras; };
  if (!run.epochs.empty() && std::all_of(fit.drafts.begin(), fit.drafts.end(), by_bar))
    run.facts.push_back({"epochs.by-bars", "1", ""});
  if (fit.headers) run.facts.push_back({"log.headers", "1", ""});
  if (fit.trailing) run.facts.push_back({"log.evaluated", "1", ""});
  run.steps = std::move(fit.windows);
  return run;
}

std::vector<RunRecord> FitBuilder::finish() const {
  std::vector<RunRecord> runs;
  for (const Fit& fit : fits_) runs.push_back(record_of(fit));
  return runs;
}

}  // namespace isochron
