// What a Sampler knows, put into a run record.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "isochron/observe/sampler.h"

namespace isochron::observe {
namespace {

constexpr double kShortestSpan = 0.3;
constexpr size_t kMaxSpans = 4000;
constexpr double kLongWait = 1;
constexpr size_t kHotSpotsPerEpoch = 3;

const Epoch* epoch_at(const RunRecord& run, double time) {
  for (const Epoch& epoch : run.epochs)
    if (time >= epoch.start && time < epoch.start + epoch.seconds) return &epoch;
  return nullptr;
}

std::string text_of(const Activity& activity) {
  std::string text = activity.what.empty() ? std::string(name_of(activity.phase)) : activity.what;
  if (!activity.user.empty()) text += " at " + activity.user;
  return text;
}

}  // namespace

void Sampler::fill(RunRecord& run, bool ended) const {
  run.samples = store_.samples();
  add_framework(run);
  add_epochs(run, ended);
  add_first_epoch(run);
  mend_late_output(run, ended);
  run.spans = log_.spans(kShortestSpan);
  if (run.spans.size() > kMaxSpans) run.spans.resize(kMaxSpans);
  for (Span& span : run.spans)
    if (const Epoch* epoch = epoch_at(run, span.start + span.seconds / 2)) span.epoch = epoch->index;
  if (!log_.empty())
    for (Epoch& epoch : run.epochs) {
      epoch.phases = log_.phases(epoch.start, epoch.start + epoch.seconds);
      const auto shares = log_.shares(epoch.start, epoch.start + epoch.seconds);
      for (size_t i = 0; i < std::min(shares.size(), kHotSpotsPerEpoch); ++i)
        if (shares[i].seconds > 0.05 * epoch.seconds)
          run.facts.push_back({"hotspot", fmt::format("{:.2f} s {}", shares[i].seconds, text_of(shares[i].activity)),
                               "stack samples", epoch.start, epoch.index});
    }
  add_input_facts(run);
  add_profilers(run);
  add_facts(run);
}

// Output often does not say which framework printed it; the stacks do.
void Sampler::add_framework(RunRecord& run) const {
  if (!run.framework.empty() && run.framework != "tensorflow" && run.framework != "torch") return;
  if (const auto name = training_framework(frameworks_seen_); !name.empty()) run.framework = name;
  if (run.framework.empty()) run.framework = loaded_framework_;
}

// Long waits in stages of tf.data that fill up: what TensorFlow's own log says only after ten seconds.
void Sampler::add_input_facts(RunRecord& run) const {
  double shuffle = 0;
  for (const Span& span : run.spans) {
    if (span.name == kWorkerStart && span.epoch > 0)
      run.facts.push_back(
          {"workers.start", fmt::format("{:.2f}", span.seconds), "stack samples", span.start, span.epoch});
    if (span.name != kShuffleFill || span.seconds < kLongWait) continue;
    shuffle = std::max(shuffle, span.seconds);
    run.facts.push_back({"shuffle.fill", fmt::format("the shuffle buffer was being filled for {:.1f} s", span.seconds),
                         "stack samples", span.start, span.epoch});
  }
  for (const Epoch& epoch : run.epochs) {
    const ActivityLog::Lead lead = log_.lead(epoch.start, epoch.start + epoch.seconds);
    if (lead.seconds < kShortestSpan) continue;
    const char* store = lead.store == Store::shuffle_buffer ? " buffer" : lead.store == Store::cache ? " cache" : "";
    run.facts.push_back(
        {"input.lead", fmt::format("{:.2f}{}", lead.seconds, store), "stack samples", epoch.start, epoch.index});
  }
  if (shuffle > 0) run.facts.push_back({"shuffle.seconds", fmt::format("{:.1f}", shuffle), "stack samples"});
  if (const double cache = log_.seconds_of(kCacheFill); cache >= kShortestSpan)
    run.facts.push_back({"dataset.cache", fmt::format("steps waited {:.1f} s while the cache was being filled", cache),
                         "stack samples"});
}

// Epochs by a variable called epoch in the training loop. The last of them, if it was done, ends where the loop was
// seen last.
std::vector<Epoch> Sampler::epochs_of_loop(Last last) const {
  std::vector<Epoch> epochs;
  std::vector<EpochChange> changes = epochs_seen_;
  if (changes.size() < 2) return epochs;
  const int64_t base = changes.front().value;
  if (last == Last::done || (last == Last::unknown && left_epochs_))
    changes.push_back({last_epoch_look_, changes.back().value + 1});
  for (size_t i = 0; i + 1 < changes.size(); ++i) {
    if (changes[i].value < base || changes[i + 1].value != changes[i].value + 1) continue;
    Epoch epoch;
    epoch.index = static_cast<int>(changes[i].value + (base == 0 ? 1 : 0));
    epoch.start = changes[i].time;
    epoch.seconds = changes[i + 1].time - changes[i].time;
    epoch.resolution = 0.1;
    epochs.push_back(epoch);
  }
  return epochs;
}

// Output that names no epochs, only the last one, done or not (Lightning on a pipe), or none at all (--pid): the loop
// tells them.
void Sampler::add_epochs(RunRecord& run, bool ended) const {
  const bool lightning = run.framework == "lightning";
  if ((run.open_epoch && !lightning) || run.epochs.size() > (lightning ? 1 : 0)) return;
  const bool finished =
      std::any_of(run.facts.begin(), run.facts.end(), [](const Fact& f) { return f.key == "finished"; });
  std::vector<Epoch> epochs = epochs_of_loop(run.open_epoch                     ? Last::open
                                             : ended || (lightning && finished) ? Last::done
                                                                                : Last::unknown);
  if (epochs.empty()) return;
  run.epochs = std::move(epochs);
  if (run.open_epoch) run.open_epoch->start = run.epochs.back().start + run.epochs.back().seconds;
  for (Fact& fact : run.facts)  // the output, which told no epochs, told what happened in them
    if (const Epoch* epoch = fact.time ? epoch_at(run, *fact.time) : nullptr) fact.epoch = epoch->index;
  run.facts.push_back({"epochs.from", "a variable of the training loop", "stack samples"});
}

// Into a pipe Python writes when its buffer is full or the program ends: what came then is no time of an epoch's end.
// The loop knows better; what the output tells of an epoch stays with it, and a time it printed, if the two agree.
void Sampler::mend_late_output(RunRecord& run, bool ended) const {
  constexpr double kLate = 0.5, kAgree = 0.25;  // seconds
  std::vector<Epoch> epochs = epochs_of_loop(ended ? Last::done : Last::unknown);
  const bool once = std::is_sorted(epochs_seen_.begin(), epochs_seen_.end(),
                                   [](const EpochChange& a, const EpochChange& b) { return a.value < b.value; });
  if (!once || run.epochs.empty() || epochs.size() < run.epochs.size()) return;  // folds count anew
  if (epochs.front().index > 1)  // a run that goes on: the two may count from different numbers
    for (int shift = run.epochs.front().index - epochs.front().index; Epoch & epoch : epochs) epoch.index += shift;
  const auto told = [&](const Epoch& epoch) {
    return std::find_if(run.epochs.begin(), run.epochs.end(), [&](const Epoch& e) { return e.index == epoch.index; });
  };
  size_t compared = 0, late = 0;
  for (const Epoch& epoch : epochs)
    if (const auto by_output = told(epoch); by_output != run.epochs.end()) {
      ++compared;
      late += by_output->start > epoch.start + kLate ||
              by_output->start + by_output->seconds > epoch.start + epoch.seconds + kLate;
    }
  if (2 * late <= compared) return;
  for (Epoch& epoch : epochs) {
    const auto by_output = told(epoch);
    if (by_output == run.epochs.end()) continue;
    const Epoch seen = epoch;
    epoch = *by_output;
    epoch.start = seen.start;
    if (std::abs(epoch.seconds - seen.seconds) < kAgree) continue;
    epoch.seconds = seen.seconds;
    epoch.resolution = seen.resolution;
  }
  run.epochs = std::move(epochs);
  if (ended) run.open_epoch.reset();
  run.facts.push_back({"epochs.from", "a variable of the training loop, as the output came late", "stack samples"});
}

// A first epoch of which the output tells only the end began where its variable was first seen, or else where the
// program first trained; the line before its end may be of its own middle.
void Sampler::add_first_epoch(RunRecord& run) const {
  const Fact* told = run.find_fact("epoch.unbegun");
  if (!told || !told->time) return;
  const auto begin = epochs_seen_.empty() ? log_.training_began() : std::optional(epochs_seen_.front().time);
  if (!begin || *begin >= *told->time) return;
  const bool known = !run.epochs.empty() && run.epochs.front().index == told->epoch;
  if (known && run.epochs.front().start <= *begin) return;
  if (!known) run.epochs.insert(run.epochs.begin(), Epoch{})->index = told->epoch;
  Epoch& epoch = run.epochs.front();
  epoch.start = *begin;
  epoch.seconds = *told->time - *begin;
  epoch.resolution = 0.1;
}

// A profiler of Python's own says nothing in the output. One that is on behind the last epoch was on in none of them.
void Sampler::add_profilers(RunRecord& run) const {
  const int behind = run.epochs.empty() ? 0 : run.epochs.back().index + 1;
  bool on = false;
  for (const double time : profiler_changes_) {
    on = !on;
    const auto epoch =
        std::find_if(run.epochs.begin(), run.epochs.end(), [&](const Epoch& e) { return time < e.start + e.seconds; });
    run.facts.push_back({on ? "profiler.start" : "profiler.stop", "a profiler is on", "its memory", time,
                         epoch == run.epochs.end() ? behind : epoch->index});
  }
}

void Sampler::add_facts(RunRecord& run) const {
  const auto add = [&](const char* key, std::string value, const char* source) {
    run.facts.push_back({key, std::move(value), source});
  };
  if (const std::string version = trainer_.python_version(); !version.empty()) add("python", version, "its memory");
  if (log_.empty() && !why_no_stacks_.empty()) add("missing", "Python stacks: " + why_no_stacks_, "watch");
  if (!counters_ || !counters_->read()) {
    const std::string why = counters_ ? counters_->why_not() : "attached to a running process";
    add("missing", "hardware counters: " + why, "watch");
  }
  std::vector<std::pair<std::string, double>> strangers(busy_strangers_.begin(), busy_strangers_.end());
  std::sort(strangers.begin(), strangers.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [command, seconds] : strangers)
    if (seconds >= 1) add("other_process", fmt::format("{} used {:.0f} CPU seconds", command, seconds), "/proc");
  std::vector<std::pair<std::string, WrittenFile>> written(files_.files().begin(), files_.files().end());
  std::sort(written.begin(), written.end(), [](const auto& a, const auto& b) {
    return a.second.bytes_written + a.second.bytes > b.second.bytes_written + b.second.bytes;
  });
  for (size_t i = 0; i < std::min<size_t>(written.size(), 20); ++i) {
    const auto& [path, file] = written[i];
    run.facts.push_back({"written_file",
                         fmt::format("{} ({:.0f} kB, written {} times, {:.0f} kB in all)", path, file.bytes / 1e3,
                                     file.writes, std::max(file.bytes_written, file.bytes) / 1e3),
                         "inotify", file.first_time});
  }
  for (const auto& [path, bytes] : files_read_)
    if (bytes > 8 << 20) add("read_file", fmt::format("{} ({:.0f} MB)", path, bytes / 1e6), "/proc");
  for (const auto& [pid, time] : ended_workers_)
    if (ended_workers_.size() <= 64) run.facts.push_back({"child.ended", std::to_string(pid), "/proc", time});
}

}  // namespace isochron::observe
