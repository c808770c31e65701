// Checkpoints written while training waits.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::rules {
namespace {

constexpr double kAlways = 0.1;  // share of a slow epoch's saving from which usual epochs are said to save as well

// Seconds of saving in a usual epoch and in the last slow one.
std::pair<double, double> saving(const Case& patient) {
  const auto seconds = [&](size_t i) { return patient.phase(i, Phase::checkpoint); };
  const auto slow = patient.slow_epochs();
  return {patient.usually(seconds).value_or(0), slow.empty() ? 0 : seconds(slow.back()).value_or(0)};
}

}  // namespace

void disk_checkpoint(const Case& patient, std::vector<Finding>& findings) {
  if (patient.empty()) return;
  const bool healthy = patient.shape.symptom == Symptom::healthy;
  Finding finding{Cause::disk_checkpoint};
  double overall = patient.phase_total(Phase::checkpoint);
  double behind = 0;
  for (size_t i = 0; i < patient.epochs().size(); ++i) behind += behind_steps(patient, i).value_or(0);
  if (overall == 0 && is_overall(patient, behind, 0.3) && saves_in_every_epoch(patient)) {
    overall = behind;
    finding.overall = true;
    finding.seconds = behind;
    finding.confidence = 0.8;
    finding.evidence.push_back(
        fmt::format("{} of {} pass after the last steps of epochs and are no validation; the log says \"{}\" ({})",
                    time_text(behind), time_text(patient.total), patient.facts("checkpoint").front()->value,
                    patient.facts("checkpoint").front()->source));
  } else if (is_overall(patient, overall, 0.3)) {
    finding.overall = true;
    finding.seconds = overall;
    finding.confidence = 0.9;
    finding.evidence.push_back(fmt::format("{} of {} were spent saving", time_text(overall), time_text(patient.total)));
  } else if (const auto seconds = patient.explained_by({Phase::checkpoint});
             !healthy && seconds && *seconds > 0.1 * patient.shape.extra_total) {
    finding.seconds = *seconds;
    finding.confidence = 0.92;
    finding.evidence.push_back(fmt::format("slow epochs spend {} more on saving than the others", time_text(*seconds)));
    for (std::string& line : patient.spans_text({Phase::checkpoint})) finding.evidence.push_back(std::move(line));
  }
  if (const TracedShare traced = largest_share(patient.run, Phase::checkpoint);
      finding.seconds == 0 && is_overall(patient, traced.share * patient.total, 0.3)) {
    overall = finding.seconds = traced.share * patient.total;
    finding.overall = true;
    finding.confidence = 0.85;
    finding.evidence.push_back(fmt::format("the trace ({}) shows {} of saving in each step", traced.profile->source,
                                           time_text(traced.per_step)));
  }
  const auto notices = patient.facts("checkpoint");
  if (!healthy && !finding.overall && !notices.empty()) {
    if (const auto slow = patient.slow_with_fact("checkpoint"); !slow.empty()) {
      if (finding.seconds == 0) finding.seconds = 0.9 * patient.extra_of(slow);
      finding.confidence = std::max(finding.confidence, 0.88);
      finding.evidence.push_back(fmt::format("slow epochs ({}) are those in which the log says \"{}\" ({})",
                                             patient.epochs_text(slow), notices.front()->value,
                                             notices.front()->source));
    } else if (patient.shape.symptom == Symptom::slowing && notices.size() + 1 >= patient.epochs().size() &&
               finding.seconds == 0) {
      return;  // saved in every epoch: what grows is something else
    }
  }
  if (!healthy && patient.watched() && finding.seconds == 0 && patient.shape.symptom == Symptom::uneven) {
    const auto written = [&](size_t i) { return patient.growth(sample_key::write_chars, i); };
    const auto usual = patient.usually(written);
    double slow = 0;
    for (const size_t i : patient.slow_epochs()) slow += written(i).value_or(0);
    slow /= static_cast<double>(std::max<size_t>(patient.slow_epochs().size(), 1));
    if (usual && slow > 10e6 && slow > 5 * *usual) {
      finding.seconds = 0.8 * patient.shape.extra_total;
      finding.confidence = 0.75;
      finding.evidence.push_back(
          fmt::format("slow epochs write {} to files, the others {}", bytes_text(slow), bytes_text(*usual)));
    }
  }
  if (finding.seconds <= 0 || finding.evidence.empty()) return;
  if (finding.overall)
    finding.summary = fmt::format("{} of the time goes into saving checkpoints", percent_text(overall / patient.total));
  else if (const auto [usual, last] = saving(patient); usual > kAlways * last)
    finding.summary =
        fmt::format("saving took {} of a usual epoch and {} of the last slow one", time_text(usual), time_text(last));
  else
    finding.summary = "the slow epochs are those that save a checkpoint";
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
