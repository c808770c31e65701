// The same function traced or compiled again and again.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"

namespace isochron::rules {
namespace {

constexpr double kLeastSeconds = 1.5;  // of tracing after the first epoch, in which any framework does some

// Watched: share of the epochs after the first in which graphs were built and compiled, if it is so in most of them.
double by_phases(const Case& patient) {
  constexpr double kLeastShare = 0.5;  // of an epoch: Keras optimises small graphs for its input in each
  double all = 0, building = 0;
  size_t epochs = 0, built = 0;
  for (size_t i = 1; i < patient.epochs().size(); ++i) {
    const auto traced = patient.phase(i, Phase::trace), compiled = patient.phase(i, Phase::compile);
    if (!traced || !compiled) continue;
    ++epochs;
    if (*traced + *compiled > kLeastShare * patient.epoch(i).seconds) ++built;
    all += patient.epoch(i).seconds;
    building += *traced + *compiled;
  }
  return epochs >= 2 && built * 3 >= epochs * 2 && building >= kLeastSeconds ? building / all : 0;
}

}  // namespace

void compute_retrace(const Case& patient, std::vector<Finding>& findings) {
  Finding finding{Cause::compute_retrace};
  finding.overall = true;
  double share = 0;
  for (const Profile& profile : patient.run.profiles) {
    if (profile.steps.size() < 2) continue;
    size_t tracing = 0;
    for (size_t i = 1; i < profile.steps.size(); ++i)
      if (phase_seconds(profile, i, Phase::trace) + phase_seconds(profile, i, Phase::compile) >
          0.2 * profile.steps[i].seconds)
        ++tracing;
    if (tracing * 2 < profile.steps.size() - 1) continue;
    const double seconds = phase_total(profile, Phase::trace, 1) + phase_total(profile, Phase::compile, 1);
    share = std::max(share, seconds / std::max(steps_total(profile, 1), 1e-9));
    finding.confidence = 0.95;
    finding.evidence.push_back(fmt::format("the trace shows a graph built in {} of {} later steps, {} of their time",
                                           tracing, profile.steps.size() - 1,
                                           percent_text(seconds / std::max(steps_total(profile, 1), 1e-9))));
  }
  const double seen = by_phases(patient);
  if (seen > 0) {
    share = std::max(share, seen);
    finding.confidence = std::max(finding.confidence, 0.92);
    finding.evidence.push_back(
        fmt::format("{} of the time after the first epoch went into tracing and compiling, which once would have done",
                    percent_text(seen)));
  }
  const auto warnings = patient.facts("retracing"), recompiles = patient.facts("recompile");
  for (const Fact* warning : warnings) {
    // "5 out of the last 5 calls to <function update at 0x…> triggered tf.function retracing"
    int hits = 0, calls = 0;
    const size_t at = warning->value.find(" out of the last ");
    if (at == std::string::npos) continue;
    // predict() and evaluate() called in a loop are warned of as well, and seldom matter.
    const bool aside = warning->value.find("predict") != std::string::npos ||
                       warning->value.find("test_function") != std::string::npos;
    if (aside && patient.shape.symptom == Symptom::healthy) continue;
    size_t start = at;
    while (start > 0 && warning->value[start - 1] >= '0' && warning->value[start - 1] <= '9') --start;
    hits = std::atoi(warning->value.c_str() + start);
    calls = std::atoi(warning->value.c_str() + at + 17);
    if (calls > 0 && hits * 5 >= calls * 4) {
      const std::string quote = warning->value.substr(start, warning->value.find(" triggered") - start);
      if (finding.evidence.empty() || finding.evidence.back().find("calls") == std::string::npos)
        finding.evidence.push_back(fmt::format("TensorFlow warns: {} were retraced ({})", quote, warning->source));
      finding.confidence = std::max(finding.confidence, 0.8);
    }
  }
  if (!recompiles.empty()) {
    finding.evidence.push_back(
        fmt::format("torch.compile: \"{}\" ({} such lines)", recompiles.front()->value, recompiles.size()));
    finding.confidence = std::max(finding.confidence, 0.75);
  }
  // Watched: slow epochs, not the first, are slow because they build graphs.
  const bool later = patient.shape.symptom != Symptom::healthy && patient.shape.symptom != Symptom::slow_first;
  if (const auto more = patient.explained_by({Phase::trace, Phase::compile});
      seen == 0 && later && more && *more > 0.5 * patient.shape.extra_total && *more > kLeastSeconds) {
    finding.overall = false;
    finding.seconds = *more;
    finding.confidence = 0.92;
    finding.summary = fmt::format("slow epochs trace and compile functions again, for {}", time_text(*more));
    finding.evidence.push_back(
        fmt::format("slow epochs spend {} more on tracing and compiling than usual ones", time_text(*more)));
    findings.push_back(std::move(finding));
    return;
  }
  if (finding.evidence.empty()) return;
  if (share == 0) {
    const double traced = patient.phase_total(Phase::trace) + patient.phase_total(Phase::compile);
    share = traced > 0 && patient.total > 0 ? traced / patient.total : 0.6;  // a log does not say how much
  }
  finding.seconds = share * patient.total;
  if (patient.shape.symptom != Symptom::healthy && !patient.dwarfs_extra(finding.seconds)) {
    finding.overall = false;
    finding.seconds = std::min(share, 0.8) * patient.shape.extra_total;
    if (patient.shape.symptom == Symptom::slow_first) finding.seconds *= 0.3;  // retracing would not stop after it
  }
  finding.summary =
      fmt::format("functions are traced and compiled again and again{}",
                  finding.confidence > 0.9 ? fmt::format(": {} of the time", percent_text(share)) : std::string());
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
