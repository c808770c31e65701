#include "isochron/readers/merge_runs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "isochron/base/median.h"

namespace isochron {
namespace {

// Null where the run tells of no epoch of that number.
const Epoch* epoch_of(const RunRecord& run, int index) {
  const auto found =
      std::find_if(run.epochs.begin(), run.epochs.end(), [&](const Epoch& epoch) { return epoch.index == index; });
  return found == run.epochs.end() ? nullptr : &*found;
}

// A log may tell of fewer epochs than there were: a bar redrawn in place leaves its last state in a pipe. Where another
// source tells of the same ones and of more, all are that one's.
bool tells_more(const RunRecord& run, const RunRecord& other) {
  constexpr double kSlack = 0.2, kSlackSeconds = 0.5;
  return other.epochs.size() > run.epochs.size() &&
         std::all_of(run.epochs.begin(), run.epochs.end(), [&](const Epoch& own) {
           const Epoch* same = epoch_of(other, own.index);
           return same &&
                  std::abs(same->seconds - own.seconds) <= kSlack * own.seconds + kSlackSeconds + own.resolution;
         });
}

void take_epochs(RunRecord& run, RunRecord other) {
  for (Epoch& epoch : other.epochs)
    for (const Epoch& own : run.epochs)
      if (own.index == epoch.index) epoch.metrics.insert(own.metrics.begin(), own.metrics.end());
  run.epochs = std::move(other.epochs);
  if (run.steps.empty()) run.steps = std::move(other.steps);
  run.wall_start = other.wall_start;
}

// A table of the same epochs adds what the log lacks.
void merge_table(RunRecord& run, const RunRecord& table) {
  // The first epoch, too, of which a log with stamps may tell only the end.
  if (run.find_fact("epoch.unbegun") && !run.epochs.empty() && table.epochs.size() == run.epochs.size() + 1 &&
      table.epochs[1].index == run.epochs[0].index) {
    Epoch first = table.epochs[0];
    first.start = run.epochs[0].start - first.seconds;
    run.epochs.insert(run.epochs.begin(), std::move(first));
  }
  if (tells_more(run, table)) take_epochs(run, table);
  if (run.epochs.size() != table.epochs.size()) return;
  for (size_t i = 0; i < run.epochs.size(); ++i)
    for (const auto& [name, value] : table.epochs[i].metrics) run.epochs[i].metrics.emplace(name, value);
}

// Bars show what a loop does with its batches; what it does behind them the times of events tell, from one epoch to the
// next. How long the first one was they do not: the next one stands for it, unless it is an odd one.
void take_what_bars_hide(RunRecord& run, const RunRecord& events) {
  if (!run.find_fact("epochs.by-bars") || run.epochs.size() < 3) return;
  const bool roughly = events.find_fact("epochs.by-counter") != nullptr;  // where exactly epochs end, it does not tell
  const double least = roughly ? 0.3 : 0.1, least_share = roughly ? 0.1 : 0.03;
  std::vector<double> hidden;
  for (size_t i = 1; i < run.epochs.size(); ++i) {
    const Epoch& own = run.epochs[i];
    const Epoch* same = epoch_of(events, own.index);
    if (!same && (i + 1 < run.epochs.size() || !roughly)) return;
    if (!same) {  // where the last one ended, nothing tells: as much follows it as the one before
      hidden.push_back(hidden.back());
      run.epochs[i].resolution = std::max(own.resolution, std::abs(hidden.back()));
      continue;
    }
    hidden.push_back(same->seconds - own.seconds);
    run.epochs[i].resolution = std::max(own.resolution, same->resolution);
    if (hidden.back() < -least - least_share * own.seconds) return;
  }
  hidden.insert(hidden.begin(), std::min(hidden.front(), median_of(hidden)));
  for (size_t i = 0; i < run.epochs.size(); ++i) {
    Epoch& epoch = run.epochs[i];
    if (hidden[i] < least + least_share * epoch.seconds) continue;
    epoch.seconds += hidden[i];
    epoch.tail_seconds = hidden[i];
  }
}

// Where a log shows whole seconds only, the times of events that agree with it are sharper.
void sharpen(RunRecord& run, const RunRecord& events) {
  constexpr double kCoarse = 0.05;
  for (Epoch& own : run.epochs)
    for (const Epoch& epoch : events.epochs)
      if (epoch.index == own.index && own.resolution > kCoarse * own.seconds && epoch.resolution < own.resolution &&
          std::abs(epoch.seconds - own.seconds) <= own.resolution + kCoarse * own.seconds) {
        own.seconds = epoch.seconds;
        own.resolution = epoch.resolution;
        break;
      }
}

// How many epochs a log tells of, with their times or without; 0 where the last one may not be done.
size_t epochs_told(const RunRecord& run) {
  if (run.open_epoch) return 0;
  const Fact* untimed = run.find_fact("epochs.untimed");
  return untimed ? std::strtoul(untimed->value.c_str(), nullptr, 10) : run.epochs.size();
}

// TensorFlow's name in a log may be all that TensorBoard's import left there; traces and events know better.
bool by_import_at_most(const RunRecord& run) { return run.framework.empty() || run.framework == "tensorflow"; }

}  // namespace

std::vector<RunRecord> merge_runs(Gathered gathered) {
  std::vector<RunRecord> runs = std::move(gathered.records);
  std::vector<RunRecord> facts_only;
  for (RunRecord& log : gathered.logs)
    (log.epochs.empty() && !log.open_epoch && log.steps.empty() ? facts_only : runs).push_back(std::move(log));
  for (RunRecord& table : gathered.tables) {
    if (runs.empty())
      runs.push_back(std::move(table));
    else
      merge_table(runs.back(), table);
  }
  size_t told = runs.size() == 1 ? epochs_told(runs[0]) : 0;
  if (runs.empty())
    for (const RunRecord& log : facts_only) told = std::max(told, epochs_told(log));
  if (runs.empty() && !gathered.events.tags.empty())
    runs.push_back(record_of(gathered.events, told));
  else if (!gathered.events.tags.empty() && runs.size() == 1) {
    if (RunRecord events = record_of(gathered.events, told); runs[0].epochs.empty() || tells_more(runs[0], events))
      take_epochs(runs[0], std::move(events));
    else {
      take_what_bars_hide(runs[0], events);
      sharpen(runs[0], events);
      refine(runs[0], gathered.events);
    }
    if (by_import_at_most(runs[0])) runs[0].framework = framework_of(gathered.events, runs[0].framework);
  }
  if (runs.empty()) runs.emplace_back();
  // What another stream of the same run says (stderr beside stdout) belongs to it.
  for (RunRecord& other : facts_only) {
    RunRecord& run = runs.back();
    for (Fact& fact : other.facts) run.facts.push_back(std::move(fact));
    if (by_import_at_most(run) || other.framework == "lightning") run.framework = other.framework;
  }
  // Traces belong to the run that was longest: profiling a fit that is over in a moment is rare.
  auto longest = std::max_element(runs.begin(), runs.end(),
                                  [](const RunRecord& a, const RunRecord& b) { return a.seconds < b.seconds; });
  for (Profile& profile : gathered.profiles) longest->profiles.push_back(std::move(profile));
  std::sort(longest->profiles.begin(), longest->profiles.end(),
            [](const Profile& a, const Profile& b) { return a.start < b.start; });
  if (!gathered.profile_framework.empty() && by_import_at_most(*longest))
    longest->framework = gathered.profile_framework;
  if (longest->source.empty() && !longest->profiles.empty())
    longest->source = gathered.profile_framework == "torch" ? "kineto" : "xplane";
  return runs;
}

}  // namespace isochron
