#include "isochron/diagnose/wording.h"

#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/fixes.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron {
namespace {

// The time of one epoch, or whatever takes its place.
std::string one_of(const Case& patient, double seconds) { return time_text(seconds / patient.unit.count); }

size_t how_many(const Case& patient) {
  return patient.unit.count > 1 ? patient.run.steps.size() : patient.epochs().size();
}

std::string healthy_text(const Case& patient) {
  if (const auto untimed = patient.number("epochs.untimed"); patient.empty() && untimed)
    return fmt::format("{:.0f} epoch{}, but nothing here tells how long {} took", *untimed, *untimed == 1 ? "" : "s",
                       *untimed == 1 ? "it" : "they");
  if (patient.empty()) return "no epochs and no error in this record";
  if (patient.epochs().size() == 1)
    return fmt::format("one {} of {}: nothing to compare it with", patient.unit.word, one_of(patient, patient.total));
  std::string text = fmt::format("{} even {}s of about {}", how_many(patient), patient.unit.word,
                                 one_of(patient, patient.shape.usual));
  const double overhead = patient.shape.first_overhead;
  if (overhead > 0.02 * patient.shape.usual)
    text += fmt::format("; the first took {} more, ordinary start-up", one_of(patient, overhead));
  return text;
}

std::string times_text(const Case& patient) {
  constexpr size_t kMost = 12;
  std::string times;
  for (size_t i = 0; i < std::min(patient.epochs().size(), kMost); ++i)
    times += fmt::format("{}{:.3g}", i ? ", " : "", patient.epoch(i).seconds / patient.unit.count);
  if (patient.epochs().size() > kMost) times += ", ...";
  return fmt::format("{} times in seconds: {}", patient.unit.word, times);
}

// Where in its epochs the extra time lies, if most of it lies in one place.
std::string place_text(const Case& patient) {
  constexpr double kMost = 0.5;
  const double extra = patient.shape.extra_total;
  const double tail = patient.explained([&](size_t i) { return patient.epoch(i).tail_seconds; });
  const double head = patient.explained([&](size_t i) { return patient.epoch(i).first_step_seconds; });
  if (tail > kMost * extra)
    return fmt::format("{} of the extra time passes after the last step: saving, logging, validation or callbacks",
                       percent_text(tail / extra));
  if (head > kMost * extra)
    return fmt::format("{} of the extra time passes before the first step is done", percent_text(head / extra));
  return "";
}

// Whether slow epochs compute or wait, where a watch saw it.
std::string computed_text(const Case& patient) {
  const auto computed = [&](size_t i) { return patient.growth(sample_key::cpu_seconds, i); };
  const auto usual = patient.usually(computed);
  if (!usual || *usual <= 0) return "";
  double slow = 0;
  for (const size_t i : patient.slow_epochs()) slow += computed(i).value_or(0);
  slow /= static_cast<double>(std::max<size_t>(patient.slow_epochs().size(), 1));
  return fmt::format("slow epochs used {} of CPU time, usual ones {}{}", time_text(slow), time_text(*usual),
                     slow > 1.3 * *usual ? ": they compute more" : ": they wait for something");
}

}  // namespace

std::string shape_text(const Case& patient, Symptom symptom) {
  const EpochShape& shape = patient.shape;
  switch (symptom) {
    case Symptom::slow_first:
      return fmt::format("{} {} took {}, {:.1f}x the {} of the next ones", patient.unit.word, patient.epoch(0).index,
                         one_of(patient, patient.epoch(0).seconds), shape.ratio, one_of(patient, shape.usual));
    case Symptom::slowing:
      return fmt::format("{}s grow from {} to {}", patient.unit.word, one_of(patient, shape.usual),
                         one_of(patient, patient.epochs().back().seconds));
    case Symptom::slower_later:
      return fmt::format("from {0} {1} on {0}s take {2:.1f}x as long: {3} before", patient.unit.word,
                         patient.epoch(shape.change).index, shape.ratio, one_of(patient, shape.usual));
    case Symptom::uneven:
      return fmt::format("{} took {:.1f}x the usual {}", patient.epochs_text(patient.slow_epochs()), shape.ratio,
                         one_of(patient, shape.usual));
    default:  // on average: shares and waits beside it are those of all of them
      return fmt::format("{} {}{} of about {}", how_many(patient), patient.unit.word, how_many(patient) == 1 ? "" : "s",
                         one_of(patient, patient.total / static_cast<double>(patient.epochs().size())));
  }
}

Verdict healthy_verdict(const Case& patient) {
  const RunRecord& run = patient.run;
  Verdict verdict{Symptom::healthy, Cause::none, 0, patient.epochs().size() > 1 ? 0.9 : 0.5, healthy_text(patient)};
  if (patient.empty()) {
    verdict.confidence = 0;
    verdict.fix = how_to_find_out(verdict.symptom, run.framework, patient.under_watch());
    return verdict;
  }
  verdict.evidence = {times_text(patient)};
  if (run.source == "console" && !run.planned_epochs && patient.facts("finished").empty())
    verdict.evidence.push_back(
        "the log does not say how many epochs were planned, so it cannot show whether the run came to its end");
  const double cpus = patient.highest(sample_key::cpus, 0, 1e18).value_or(2);
  if (const auto used = cores_of_others(patient); used && *used > 0.25 * cpus)
    verdict.evidence.push_back(fmt::format(
        "other programs used {:.1f} of {:.0f} cores all along: without them it would be faster", *used, cpus));
  return verdict;
}

Verdict unknown_verdict(const Case& patient, Symptom symptom, double share) {
  constexpr double kAll = 0.7;      // a share from which nothing is explained
  constexpr size_t kMostSpots = 3;  // places a watch saw
  Verdict verdict{symptom, Cause::unknown, share, 0.5};
  verdict.summary = share > kAll
                        ? shape_text(patient, symptom) + "; why, this record does not tell"
                        : fmt::format("{} of the extra time is not explained by this record", percent_text(share));
  verdict.fix = how_to_find_out(symptom, patient.run.framework, patient.under_watch());
  for (std::string line : {times_text(patient), place_text(patient), computed_text(patient)})
    if (!line.empty()) verdict.evidence.push_back(std::move(line));
  size_t spots = 0;
  for (const Fact* spot : patient.facts("hotspot"))
    for (const size_t i : patient.slow_epochs())
      if (patient.epoch(i).index == spot->epoch && spots++ < kMostSpots)
        verdict.evidence.push_back(fmt::format("epoch {}: {}", spot->epoch, spot->value));
  if ((symptom == Symptom::slower_later || symptom == Symptom::slowing) && !patient.shape.first_is_slow)
    verdict.evidence.push_back(
        fmt::format("the first {} is not slower than the later ones, so no start-up cost explains this: it is the "
                    "amount of work, input, memory, disk or the machine",
                    patient.unit.word));
  return verdict;
}

}  // namespace isochron
