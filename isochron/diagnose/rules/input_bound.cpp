// The model waits for data, step after step.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/base/median.h"
#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"

namespace isochron::rules {
namespace {

constexpr double kChanged = 1.7;  // epochs so much longer for good, by waiting, are the story even if all of them wait
constexpr double kBound = 0.45;   // share of the time waiting for data from which the input is the bottleneck
// Tiny models spend half of their time on collating batches, and nobody minds as long as that is little.
constexpr double kLeastInAll = 1, kLeastPerStep = 5e-3;  // seconds

// Whether the traced steps are as long as those of slow epochs are.
bool of_slow_epochs(const Case& patient) {
  const auto per_step = [&](bool slow) {
    std::vector<double> seconds;
    for (size_t i = 0; i < patient.epochs().size(); ++i)
      if (patient.shape.slow(i) == slow && patient.epoch(i).steps && *patient.epoch(i).steps > 0)
        seconds.push_back(patient.epoch(i).seconds / static_cast<double>(*patient.epoch(i).steps));
    return median_of(std::move(seconds));
  };
  const double slow = per_step(true), usual = per_step(false);
  for (const Profile& profile : patient.run.profiles) {
    const double traced = steps_total(profile) / static_cast<double>(std::max<size_t>(profile.steps.size(), 1));
    if (slow > 0 && usual > 0) {
      if (traced > 0.5 * (slow + usual)) return true;
    } else if (patient.shape.symptom == Symptom::slow_first && profile.steps.front().index < 50) {
      return true;  // the first steps of the run
    }
  }
  return false;
}

}  // namespace

void input_bound(const Case& patient, std::vector<Finding>& findings) {
  Finding finding{Cause::input_bound};
  finding.overall = true;
  double share = 0;
  // Printed data times ("Data 0.5 (0.4)"), or attributed phases.
  double waited = 0, known = 0;
  for (size_t i = 0; i < patient.epochs().size(); ++i) {
    const Epoch& epoch = patient.epoch(i);
    const auto input = epoch.input_seconds ? epoch.input_seconds : patient.phase(i, Phase::input);
    if (!input) continue;
    waited += *input;
    known += epoch.seconds;
  }
  waited = std::max(0.0, waited - starting_workers(patient));  // a cause of its own
  if (known > 0 && waited / known >= kBound) {
    share = waited / known;
    finding.confidence = 0.9;
    finding.evidence.push_back(
        fmt::format("{} of {} in epochs were spent waiting for data", time_text(waited), time_text(known)));
    if (std::string place = most_seen(patient, waited); !place.empty()) finding.evidence.push_back(std::move(place));
  }
  if (known == 0) {
    double step = 0, input = 0;
    for (const Step& window : patient.run.steps)
      if (window.input_seconds) {
        step += window.seconds;
        input += *window.input_seconds;
      }
    if (step > 0 && input / step >= kBound) {
      share = input / step;
      finding.confidence = 0.9;
      finding.evidence.push_back(fmt::format("steps take {} on average, {} of it waiting for data",
                                             time_text(step / static_cast<double>(patient.run.steps.size())),
                                             percent_text(share)));
    }
  }
  for (const Profile& profile : patient.run.profiles) {
    // A first long wait is something else: workers that start, a buffer that fills.
    const size_t from = profile.steps.size() > 2 ? 1 : 0;
    const auto late = late_batches(profile);
    double input = 0, all = 0;
    for (size_t i = from; i < profile.steps.size(); ++i) {
      if (late && late->steps.contains(i)) continue;
      input += phase_seconds(profile, i, Phase::input);
      all += profile.steps[i].seconds;
    }
    if (all <= 0 || input / all < kBound) continue;
    if (input / all > share) share = input / all;
    finding.confidence = 0.92;
    finding.evidence.push_back(fmt::format("the trace ({}) waits for data in {} of {} over {} steps ({})",
                                           profile.source, time_text(input), time_text(all),
                                           profile.steps.size() - from, percent_text(input / all)));
    const auto loaders = ops_where(profile, [](const ProfileOp& op) { return op.phase == Phase::input; });
    const auto longest = std::max_element(loaders.begin(), loaders.end(), [](const ProfileOp* a, const ProfileOp* b) {
      return op_seconds(*a) < op_seconds(*b);
    });
    if (longest != loaders.end())
      finding.evidence.push_back(fmt::format(
          "the longest input operation is {}: {} per call", (*longest)->name,
          time_text(op_seconds(**longest) / static_cast<double>(std::max<int64_t>(op_count(**longest), 1)))));
  }
  if (finding.evidence.empty()) return;
  const double steps = static_cast<double>(patient.epochs().size());
  const double least = patient.unit.traced ? kLeastPerStep * steps : kLeastInAll;
  if (patient.shape.symptom == Symptom::healthy && share * patient.total < least) return;
  const auto hint = patient.facts("input.workers");
  if (!hint.empty()) finding.evidence.push_back(fmt::format("\"{}\" ({})", hint.front()->value, hint.front()->source));
  // What waiting explains of the extra time: only what slow epochs waited beyond the others.
  const double more = patient.explained([&](size_t i) {
    return patient.epoch(i).input_seconds ? patient.epoch(i).input_seconds : patient.phase(i, Phase::input);
  });
  const Symptom symptom = patient.shape.symptom;
  const bool lasting = symptom == Symptom::slowing || symptom == Symptom::slower_later;
  const bool changed = lasting && patient.shape.ratio > kChanged && more > 0.5 * patient.shape.extra_total;
  if (symptom != Symptom::healthy && (changed || !patient.dwarfs_extra(share * patient.total))) {
    finding.overall = false;
    finding.seconds = more;
    if (known == 0) {
      // A trace of the slow epochs themselves speaks for them; one of the others only if there is little but waiting.
      finding.seconds = share * (share > 0.7 || of_slow_epochs(patient) ? 0.9 : 0.2) * patient.shape.extra_total;
    }
    finding.confidence *= 0.8;
  } else {
    finding.seconds = share * patient.total;
  }
  finding.summary = fmt::format("{} of the time the model waits for data", percent_text(share));
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
