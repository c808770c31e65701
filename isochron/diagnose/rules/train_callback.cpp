// Callbacks: work beside the training steps.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"

namespace isochron::rules {
namespace {

// Functions the training loop itself lies in.
bool may_train(const std::string& function) {
  for (const char* part : {"<", "train", "epoch", "fit", "main", "run", "step", "loop"})
    if (function.find(part) != std::string::npos) return true;
  return false;
}

// Seconds of slow epochs in the function of the program's own that only they call, and where it is.
double in_new_function(const Case& patient, std::string& place) {
  struct Use {
    double slow = 0;
    bool usual = false;
    std::string place;
  };
  std::map<std::string, Use> functions;
  for (const OwnLine& line : own_lines(patient)) {
    Use& use = functions[line.place.substr(line.place.find(' ') + 1)];
    use.place = line.place;
    for (size_t i = 0; i < patient.epochs().size(); ++i) {
      if (patient.epoch(i).index != line.epoch) continue;
      if (patient.shape.slow(i))
        use.slow += line.seconds;
      else
        use.usual = true;
    }
  }
  double most = 0;
  for (const auto& [function, use] : functions)
    if (!use.usual && !may_train(function) && use.slow > most) {
      most = use.slow;
      place = use.place;
    }
  return most;
}

// Traced: callbacks by their names, or all that passes in Keras' loop outside of the training function.
void by_traced_steps(const Case& patient, Finding& finding) {
  TracedShare traced = largest_share(patient.run, Phase::callback);
  const TracedShare outside = outside_of_operations(patient.run);
  if (outside.share > traced.share && keras_runs_steps(*outside.profile)) traced = outside;
  if (!is_overall(patient, traced.share * patient.total, 0.3)) return;
  finding.overall = true;
  finding.seconds = traced.share * patient.total;
  finding.confidence = 0.8;
  finding.evidence.push_back(fmt::format(
      "the trace ({}) shows {} of each step outside of training itself, where callbacks run (`on_train_batch_end`)",
      traced.profile->source, time_text(traced.per_step)));
}

}  // namespace

void train_callback(const Case& patient, std::vector<Finding>& findings) {
  if (patient.empty()) return;
  const bool healthy = patient.shape.symptom == Symptom::healthy;
  Finding finding{Cause::train_callback};
  const double all = patient.phase_total(Phase::callback);
  if (is_overall(patient, all, 0.3)) {
    finding.overall = true;
    finding.seconds = all;
    finding.confidence = 0.85;
    finding.evidence.push_back(
        fmt::format("{} of {} in epochs were spent in callbacks", time_text(all), time_text(patient.total)));
    if (std::string place = most_seen(patient, all); !place.empty()) finding.evidence.push_back(std::move(place));
  }
  if (const auto seconds = patient.explained_by({Phase::callback});
      !healthy && !finding.overall && seconds && *seconds > 0.1 * patient.shape.extra_total) {
    finding.seconds = *seconds;
    finding.confidence = 0.92;
    finding.evidence.push_back(
        fmt::format("slow epochs spend {} more in callbacks or after their last step", time_text(*seconds)));
    for (std::string& line : patient.spans_text({Phase::callback})) finding.evidence.push_back(std::move(line));
  }
  std::string place;
  if (const double seconds = in_new_function(patient, place);
      !healthy && finding.seconds == 0 && patient.shape.symptom != Symptom::slow_first &&
      seconds > 0.5 * patient.shape.extra_total && validated_when_slow(patient).metric.empty()) {
    finding.seconds = std::min(seconds, patient.shape.extra_total);
    finding.confidence = 0.65;
    finding.evidence.push_back(
        fmt::format("slow epochs spend {} at {}, which other epochs do not reach", time_text(seconds), place));
  }
  // Event files show how long an epoch goes on after its last step.
  const auto tail = [&](size_t i) { return behind_steps(patient, i); };
  if (const double seconds = patient.explained(tail);
      !healthy && !finding.overall && seconds > 0.3 * patient.shape.extra_total) {
    finding.seconds = std::max(finding.seconds, seconds);
    finding.confidence = std::max(finding.confidence, 0.7);
    finding.evidence.push_back(fmt::format("{} of the extra time passes after the last step of the slow epochs",
                                           percent_text(seconds / patient.shape.extra_total)));
  }
  double behind = 0;
  for (size_t i = 0; i < patient.epochs().size(); ++i) behind += tail(i).value_or(0);
  if (finding.seconds == 0 && is_overall(patient, behind, 0.3) && !saves_in_every_epoch(patient)) {
    finding.overall = true;
    finding.seconds = behind;
    finding.confidence = 0.75;
    finding.evidence.push_back(fmt::format("{} of {} pass after the last steps of epochs and are no validation",
                                           time_text(behind), time_text(patient.total)));
  }
  // New metrics in the very epochs that are slow: someone computes them.
  if (!healthy && patient.shape.symptom != Symptom::slow_first) {
    std::set<std::string> before, fresh;
    std::set<int> with;
    for (size_t i = 0; i < patient.epochs().size(); ++i)
      if (!patient.shape.slow(i))
        for (const auto& [name, value] : patient.epoch(i).metrics) before.insert(name);
    for (const Epoch& epoch : patient.epochs())
      for (const auto& [name, value] : epoch.metrics)
        if (!before.contains(name) && !names_validation(name)) {
          fresh.insert(name);
          with.insert(epoch.index);
        }
    const std::vector<size_t> slow = patient.slow_among({with.begin(), with.end()});
    if (!before.empty() && !fresh.empty() && !slow.empty()) {
      std::string names;
      for (const std::string& name : fresh) names += (names.empty() ? "" : ", ") + name;
      if (finding.seconds == 0) finding.seconds = 0.85 * patient.extra_of(slow);
      finding.confidence = finding.evidence.empty() ? 0.75 : 0.9;
      finding.evidence.push_back(fmt::format("{} appear{} in the log with {}, where epochs become slow", names,
                                             fresh.size() == 1 ? "s" : "", patient.epochs_text(slow)));
    }
  }
  for (const Fact* fact : patient.facts("callback.slow")) {
    finding.evidence.push_back(fmt::format("\"{}\" ({})", fact->value, fact->source));
    finding.confidence = std::max(finding.confidence, 0.7);
    if (finding.seconds == 0) {
      finding.overall = healthy;
      finding.seconds = healthy ? 0.35 * patient.total : 0.4 * patient.shape.extra_total;
    }
    break;
  }
  if (finding.seconds == 0) by_traced_steps(patient, finding);
  if (finding.seconds <= 0 || finding.evidence.empty()) return;
  finding.summary = "callbacks take the time, not the training steps";
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
