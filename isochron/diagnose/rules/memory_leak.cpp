// Something kept for every step, and gone through again in every step.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::rules {
namespace {

bool gathers(std::string_view name) {
  for (const std::string_view part :
       {"aten::cat", "aten::stack", "aten::_cat", "aten::concat", "ConcatV2", "aten::index_put", "aten::vstack"})
    if (name.starts_with(part)) return true;
  return false;
}

bool leak_by_profiles(const Case& patient, Finding& finding) {
  for (const Profile& profile : patient.run.profiles) {
    if (profile.steps.size() < 2) continue;
    const double all = steps_total(profile);
    // Inputs that grow from step to step, and the time spent on operations whose inputs do.
    double growing = 0;
    const ProfileOp* largest = nullptr;
    bool gathered = false;
    for (const ProfileOp& op : profile.ops) {
      const Growth growth = growth_of(op.elements);
      if (!growth.steady || (patient.unit.traced && !growth.even)) continue;
      growing += op_seconds(op);
      gathered = gathered || gathers(op.name);
      if (!largest || op_seconds(op) > op_seconds(*largest)) largest = &op;
    }
    if (largest && growing > 0.25 * all) {
      finding.seconds = patient.shape.extra_total * std::min(1.0, growing / all + 0.1);
      finding.confidence = gathered ? 0.9 : 0.75;
      finding.evidence.push_back(
          fmt::format("operations whose inputs grow from step to step take {} of the traced time, {} most of it",
                      percent_text(growing / all), largest->name));
      finding.evidence.push_back(fmt::format("the inputs of {} grow from {:.3g} to {:.3g} elements within {} steps",
                                             largest->name, largest->elements.front(), largest->elements.back(),
                                             profile.steps.size()));
      return true;
    }
    // Without shapes: gathering that dominates a run that slows down.
    for (const ProfileOp* op : largest_ops(profile, 4)) {
      if (!gathers(op->name) || op_seconds(*op) < 0.15 * all) continue;
      finding.seconds = patient.shape.extra_total * 0.6;
      finding.confidence = 0.6;
      finding.evidence.push_back(fmt::format("{} takes {} of the traced time in a run that slows down steadily",
                                             op->name, percent_text(op_seconds(*op) / all)));
      return true;
    }
  }
  return false;
}

// Seconds that slow epochs spend more than others in lines of the program itself, and the line that takes most.
double in_own_lines(const Case& patient, std::string& line) {
  double most = 0;
  for (const OwnLine& own : own_lines(patient)) {
    if (own.seconds <= most) continue;
    most = own.seconds;
    line = own.place;
  }
  return patient.explained_by({Phase::other}).value_or(0);
}

bool by_memory(const Case& patient, Finding& finding) {
  constexpr double kMuch = 20e6, kMuchShare = 0.05;  // more than caches and arenas of frameworks vary by
  constexpr double kSome = 2e6;                      // enough where the program's own lines take ever longer
  const std::vector<double> memory = memory_by_epoch(patient);
  const Growth growth = growth_of(memory);
  std::string line;
  const double own = in_own_lines(patient, line);
  // Going through what was kept is computing; lines that wait (for a thread of TensorFlow's) keep nothing.
  constexpr double kComputing = 0.7;
  const auto cpu = [&](size_t i) { return patient.growth(sample_key::cpu_seconds, i); };
  const bool waits = patient.usually(cpu) && patient.explained(cpu) < kComputing * own;
  const bool by_lines = own > 0.5 * patient.shape.extra_total && !line.empty() && !waits;
  // A dataset that keeps what it gave goes through it again when it makes the next example.
  const double made = patient.explained_by({Phase::input}).value_or(0);
  const bool by_input = made > 0.5 * patient.shape.extra_total;
  // In the first epoch any program takes the memory it needs.
  const double before = memory.size() > 3 ? memory[1] : growth.first;
  const double grown = growth.last - before;
  if (!growth.steady || !memory_rises_on(patient) || grown < (by_lines ? kSome : std::max(kMuch, kMuchShare * before)))
    return false;
  finding.seconds = by_lines ? own : by_input ? made : 0.7 * patient.shape.extra_total;
  finding.confidence = 0.75;
  if (by_lines)
    finding.evidence.push_back(
        fmt::format("the program's own lines take {} more than at first, most of it at {}", time_text(own), line));
  if (by_input) {
    finding.evidence.push_back(fmt::format("making the input takes {} more than at first", time_text(made)));
    if (std::string place = most_seen(patient, made); !place.empty()) finding.evidence.push_back(std::move(place));
  }
  finding.evidence.push_back(
      fmt::format("memory grows with every epoch, from {} to {}", bytes_text(before), bytes_text(growth.last)));
  return true;
}

}  // namespace

void memory_leak(const Case& patient, std::vector<Finding>& findings) {
  if (patient.shape.symptom != Symptom::slowing && patient.shape.symptom != Symptom::slower_later) return;
  Finding finding{Cause::memory_leak};
  const bool traced = leak_by_profiles(patient, finding);
  if (work_grows(patient) && !traced) return;
  if (!by_memory(patient, finding) && !traced) return;
  finding.summary = "something is kept for every step and gone through again in the next";
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
