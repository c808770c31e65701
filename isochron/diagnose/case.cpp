#include "isochron/diagnose/case.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "isochron/base/median.h"

namespace isochron {
namespace {

// A run says that it goes on where another one stopped. Who only loads weights begins anew.
bool goes_on(const RunRecord& run) { return run.find_fact("resume") != nullptr; }

}  // namespace

Case::Case(const RunRecord& record, EpochUnit what) : run(record), unit(std::move(what)) {
  std::vector<double> seconds, resolution;
  for (const Epoch& epoch : run.epochs) {
    seconds.push_back(epoch.seconds);
    resolution.push_back(epoch.resolution);
    total += epoch.seconds;
  }
  // A first epoch of which only the end is told is taken to begin at the line before. Where another logger wrote that,
  // it may stand anywhere, and how long the epoch took says nothing.
  if (run.find_fact("epoch.begun-by-other") && seconds.size() > 2 && !watched())
    seconds[0] = median_of({seconds.begin() + 1, seconds.end()});
  // After resuming the first epoch shown may be the rest of one: that it is short makes no other one slow.
  const double missing = goes_on(run) && seconds.size() > 2 ? std::max(0.0, seconds[1] - seconds[0]) : 0;
  if (missing > 0) seconds[0] += missing;
  shape = shape_of(seconds, resolution);
  shape.first_overhead -= missing;
}

std::vector<const Fact*> Case::facts(std::string_view key) const {
  std::vector<const Fact*> found;
  for (const Fact& fact : run.facts)
    if (fact.key == key) found.push_back(&fact);
  return found;
}

std::vector<const Fact*> Case::loads() const {
  std::vector<const Fact*> found;
  for (const Fact& fact : run.facts)
    if (fact.key == "resume" || fact.key == "weights.loaded") found.push_back(&fact);
  return found;
}

std::optional<double> Case::number(std::string_view key) const {
  for (const Fact* fact : facts(key)) {
    double value = 0;
    const char* end = fact->value.data() + fact->value.size();
    if (std::from_chars(fact->value.data(), end, value).ec == std::errc()) return value;
  }
  return std::nullopt;
}

std::optional<double> Case::phase(size_t position, Phase phase) const {
  const PhaseSeconds& phases = run.epochs[position].phases;
  if (std::all_of(phases.begin(), phases.end(), [](double seconds) { return seconds == 0; })) return std::nullopt;
  return phases[static_cast<size_t>(phase)];
}

double Case::phase_total(Phase which, size_t from) const {
  double seconds = 0;
  for (size_t i = from; i < epochs().size(); ++i) seconds += phase(i, which).value_or(0);
  return seconds;
}

std::optional<double> Case::explained_by(std::initializer_list<Phase> phases) const {
  bool any = false;
  const double seconds = explained([&](size_t i) -> std::optional<double> {
    double sum = 0;
    for (const Phase one : phases) {
      const auto part = phase(i, one);
      if (!part) return std::nullopt;
      any = true;
      sum += *part;
    }
    return sum;
  });
  return any ? std::optional<double>(seconds) : std::nullopt;
}

std::vector<std::string> Case::spans_text(std::initializer_list<Phase> phases) const {
  std::map<std::string, double> by_name;
  for (const Span& span : run.spans) {
    if (std::find(phases.begin(), phases.end(), span.phase) == phases.end()) continue;
    for (size_t i = 0; i < run.epochs.size(); ++i)
      if (shape.slow(i) && run.epochs[i].index == span.epoch) by_name[span.name] += span.seconds;
  }
  std::vector<std::pair<std::string, double>> sorted(by_name.begin(), by_name.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> lines;
  for (size_t i = 0; i < std::min<size_t>(sorted.size(), 2); ++i)
    lines.push_back(
        fmt::format("{}: {} in {}", sorted[i].first, time_text(sorted[i].second), epochs_text(slow_epochs())));
  return lines;
}

std::optional<double> Case::usually(const std::function<std::optional<double>(size_t)>& value_of) const {
  std::vector<double> values;
  for (size_t i = 0; i < run.epochs.size(); ++i)
    if (!shape.slow(i) && !(i == 0 && shape.first_is_slow))
      if (const auto value = value_of(i)) values.push_back(*value);
  if (values.empty()) return std::nullopt;
  return median_of(std::move(values));
}

double Case::explained(const std::function<std::optional<double>(size_t)>& seconds_of) const {
  const double base = usually(seconds_of).value_or(0);
  double sum = 0;
  for (size_t i = 0; i < run.epochs.size(); ++i) {
    if (!shape.slow(i)) continue;
    if (const auto seconds = seconds_of(i)) sum += std::clamp(*seconds - base, 0.0, shape.extra[i]);
  }
  return sum;
}

std::optional<double> Case::growth(const char* key, double from, double to) const {
  struct Reading {
    double time, value;
  };
  std::optional<Reading> before, first, last, after;
  for (const Sample& sample : run.samples) {
    const auto value = sample.values.find(key);
    if (value == sample.values.end()) continue;
    const Reading reading{sample.time, value->second};
    if (sample.time <= from) before = reading;
    if (sample.time > from && sample.time <= to && !first) first = reading;
    if (sample.time <= to) last = reading;
    if (sample.time > to && !after) after = reading;
  }
  // Not known is not nothing, where looking began in the middle.
  if (first && !before && first->time - from > 0.5 * (to - from)) return std::nullopt;
  if (first) return last->value - (before ? before : first)->value;
  // Nobody looked in so short a time: its share of what came between two looks.
  if (!before || !after) return std::nullopt;
  return (after->value - before->value) * (to - from) / (after->time - before->time);
}

std::optional<double> Case::growth(const char* key, size_t position) const {
  const Epoch& e = run.epochs[position];
  return growth(key, e.start, e.start + e.seconds);
}

std::optional<double> Case::average(const char* key, double from, double to) const {
  double sum = 0;
  int count = 0;
  for (const Sample& sample : run.samples) {
    if (sample.time < from || sample.time > to) continue;
    if (const auto value = sample.values.find(key); value != sample.values.end()) {
      sum += value->second;
      ++count;
    }
  }
  return count > 0 ? std::optional<double>(sum / count) : std::nullopt;
}

std::optional<double> Case::average(const char* key, size_t position) const {
  const Epoch& e = run.epochs[position];
  return average(key, e.start, e.start + e.seconds);
}

std::optional<double> Case::latest(const char* key, double until) const {
  std::optional<double> last;
  for (const Sample& sample : run.samples) {
    if (sample.time > until) break;
    if (const auto value = sample.values.find(key); value != sample.values.end()) last = value->second;
  }
  return last;
}

std::optional<double> Case::highest(const char* key, double from, double to) const {
  std::optional<double> most;
  for (const Sample& sample : run.samples) {
    if (sample.time < from || sample.time > to) continue;
    if (const auto value = sample.values.find(key); value != sample.values.end())
      most = std::max(most.value_or(value->second), value->second);
  }
  return most;
}

std::vector<size_t> Case::slow_epochs() const {
  std::vector<size_t> positions;
  for (size_t i = 0; i < run.epochs.size(); ++i)
    if (shape.slow(i)) positions.push_back(i);
  return positions;
}

double Case::extra_of(const std::vector<size_t>& positions) const {
  double seconds = 0;
  for (const size_t i : positions) seconds += shape.extra[i];
  return seconds;
}

std::vector<size_t> Case::slow_among(const std::vector<int>& indices) const {
  std::vector<size_t> hits;
  size_t false_alarm = 0;
  for (size_t i = 0; i < run.epochs.size(); ++i) {
    if (std::find(indices.begin(), indices.end(), run.epochs[i].index) == indices.end()) continue;
    if (shape.slow(i))
      hits.push_back(i);
    else if (i > 0)
      ++false_alarm;
  }
  if (extra_of(hits) < 0.8 * shape.extra_total || false_alarm * 4 > indices.size()) hits.clear();
  return hits;
}

std::vector<size_t> Case::slow_with_fact(std::string_view key) const {
  std::set<int> at, before;
  for (const Fact* fact : facts(key)) {
    at.insert(fact->epoch);
    before.insert(fact->epoch - 1);
  }
  std::vector<size_t> hits = slow_among({at.begin(), at.end()});
  return hits.empty() ? slow_among({before.begin(), before.end()}) : hits;
}

std::string Case::epochs_text(const std::vector<size_t>& positions) const {
  if (positions.empty()) return "no " + unit.word;
  std::string text = unit.word + (positions.size() == 1 ? " " : "s ");
  const bool run_on = positions.size() > 2 && positions.back() - positions.front() + 1 == positions.size();
  if (run_on)
    return fmt::format("{}s {} to {}", unit.word, run.epochs[positions.front()].index,
                       run.epochs[positions.back()].index);
  constexpr size_t kMost = 6;
  for (size_t i = 0; i < std::min(positions.size(), kMost); ++i) {
    if (i > 0) text += i + 1 == positions.size() ? " and " : ", ";
    text += std::to_string(run.epochs[positions[i]].index);
  }
  if (positions.size() > kMost) text += fmt::format(" and {} more", positions.size() - kMost);
  return text;
}

std::string time_text(double seconds) {
  if (seconds >= 2 * 3600) return fmt::format("{:.1f} h", seconds / 3600);
  if (seconds >= 200) return fmt::format("{:.1f} min", seconds / 60);
  if (seconds >= 10) return fmt::format("{:.0f} s", seconds);
  if (seconds >= 1) return fmt::format("{:.1f} s", seconds);
  if (seconds >= 0.001) return fmt::format("{:.0f} ms", seconds * 1e3);
  return fmt::format("{:.0f} us", seconds * 1e6);
}

std::string percent_text(double share) { return fmt::format("{:.0f} %", share * 100); }

}  // namespace isochron
