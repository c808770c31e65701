// Graph construction, tracing and compilation in the first step.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"

namespace isochron::rules {
namespace {

// Seconds by a profile that saw the first step: tracing or compiling there and hardly again.
double by_profile(const Case& patient, std::vector<std::string>& evidence) {
  double most = 0;
  for (const Profile& profile : patient.run.profiles) {
    const double seconds = first_step_excess(profile, Phase::trace) + first_step_excess(profile, Phase::compile);
    if (seconds < 0.05 || seconds <= most) continue;
    most = seconds;
    evidence.push_back(
        fmt::format("the trace shows {} of tracing and compiling in its first step of {}, {} in all others together",
                    time_text(seconds), time_text(profile.steps[0].seconds),
                    time_text(phase_total(profile, Phase::trace, 1) + phase_total(profile, Phase::compile, 1))));
  }
  return most;
}

// A trace that begins later says nothing about the first step.
bool first_step_traced(const Case& patient) {
  constexpr int64_t kFirst = 2;  // frameworks count from 0, from 1, or from where their profiler was warmed up
  return std::any_of(patient.run.profiles.begin(), patient.run.profiles.end(), [](const Profile& profile) {
    return !profile.steps.empty() && profile.steps.front().index <= kFirst;
  });
}

}  // namespace

void startup_graph(const Case& patient, std::vector<Finding>& findings) {
  const bool first_epoch = patient.shape.symptom == Symptom::slow_first;
  if (!first_epoch && !(patient.shape.first_is_slow && patient.tensorflow())) return;
  Finding finding{Cause::startup_graph};
  const double extra = std::max(patient.shape.first_overhead, 0.0);
  constexpr double kMostTracing = 3.0;  // seconds, of a small model
  if (const auto seconds = patient.explained_by({Phase::build, Phase::trace, Phase::compile});
      seconds && *seconds > 0.05 * extra) {
    finding.seconds = *seconds;
    finding.confidence = 0.9;
    finding.evidence.push_back(
        fmt::format("{} of the first epoch went into building, tracing and compiling the graph", time_text(*seconds)));
    for (std::string& line : patient.spans_text({Phase::build, Phase::trace, Phase::compile}))
      finding.evidence.push_back(std::move(line));
  }
  if (const double seconds = by_profile(patient, finding.evidence); seconds > finding.seconds) {
    finding.seconds = std::min(seconds, extra);
    finding.confidence = 0.93;
  }
  if (const auto seconds = first_step_beyond_others(patient); seconds && patient.tensorflow()) {
    // A shuffle buffer is filled before the first step too; what it took is not the graph's.
    double left = *seconds - patient.number("shuffle.seconds").value_or(0);
    const bool small = small_graph_traced(patient);
    if (small && finding.seconds == 0) left = std::min(left, kTracingOfSmallGraph);
    if (left > 0.1 * extra) {
      finding.evidence.push_back(fmt::format("the first step of epoch {} took {}, first steps of later epochs {}",
                                             patient.epoch(0).index, time_text(*patient.epoch(0).first_step_seconds),
                                             patient.epochs().size() > 1 && patient.epoch(1).first_step_seconds
                                                 ? time_text(*patient.epoch(1).first_step_seconds)
                                                 : std::string("are not shown")));
      if (small && left < *seconds)
        finding.evidence.push_back(
            fmt::format("the trace shows so few different operations that tracing them takes no more than about {}",
                        time_text(left)));
      else if (finding.seconds == 0)
        finding.evidence.push_back(
            "the first batch is part of that step; `profile_batch=1` in a TensorBoard callback would tell them apart");
      if (left > finding.seconds) finding.seconds = std::min(left, extra);
      finding.confidence = std::max(finding.confidence, 0.75);
    }
  } else if (finding.seconds == 0 && patient.tensorflow() && !first_step_traced(patient) && !patient.watched() &&
             extra < kMostTracing && patient.facts("shuffle.fill").empty()) {
    // What Keras always pays in its first epoch: seldom less than half a second, seldom more than a few.
    finding.seconds = std::min(extra, 2.0);
    finding.confidence = 0.5;
    finding.evidence.push_back(
        fmt::format("{} once, in the first epoch, is what TensorFlow takes to trace a small model", time_text(extra)));
  }
  if (const auto told = patient.facts("graph.compile"); first_epoch && finding.seconds == 0 && !told.empty()) {
    finding.seconds = 0.7 * extra;
    finding.confidence = 0.6;
    finding.evidence.push_back(fmt::format("\"{}\" ({})", told.front()->value, told.front()->source));
  }
  if (finding.seconds <= 0 || finding.evidence.empty()) return;
  finding.summary = fmt::format("building and tracing the graph {} {} before the first step was done",
                                finding.confidence > 0.8 ? "took" : "probably took", time_text(finding.seconds));
  if (!first_epoch) finding.seconds = 0;  // true, but not what made this run's slow epochs slow
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
