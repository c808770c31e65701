#include "isochron/diagnose/diagnose.h"

#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/case.h"
#include "isochron/diagnose/fixes.h"
#include "isochron/diagnose/own_time.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron {
namespace {

constexpr double kOverall = 0.3;   // share of all time from which something makes even epochs slow
constexpr double kMention = 0.03;  // smaller shares are not worth a verdict
constexpr double kMinor = 0.3;     // a cause that explains less is not the answer while more is unexplained
constexpr double kUnknown = 0.2;   // an unexplained rest from which it is said

// Certainty first among causes that explain about as much.
double weight(const Finding& finding, double whole) {
  return finding.confidence * (0.1 + std::min(1.0, finding.seconds / std::max(whole, 1e-9)));
}

// What a framework does in every program, in ordinary size, comes after what only this one does. `own_share`: of the
// first epoch, in which it did not stand still for want of a core.
double rank(const Case& patient, const Finding& finding, double whole, double own_share) {
  constexpr double kOrdinary = 3.0, kSecondary = 0.7;  // seconds
  const bool ordinary =
      !finding.overall && is_of_framework(patient, finding) && finding.seconds * own_share < kOrdinary;
  return weight(finding, whole) * (ordinary ? kSecondary : 1);
}

// The time of one epoch, or whatever takes its place.
std::string one_of(const Case& patient, double seconds) { return time_text(seconds / patient.unit.count); }

size_t how_many(const Case& patient) {
  return patient.unit.count > 1 ? patient.run.steps.size() : patient.epochs().size();
}

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

std::vector<std::string> epoch_lines(const Case& patient) {
  std::string times;
  constexpr size_t kMost = 12;
  for (size_t i = 0; i < std::min(patient.epochs().size(), kMost); ++i)
    times += fmt::format("{}{:.3g}", i ? ", " : "", patient.epoch(i).seconds / patient.unit.count);
  if (patient.epochs().size() > kMost) times += ", ...";
  return {fmt::format("{} times in seconds: {}", patient.unit.word, times)};
}

// Which question a record without enough evidence leaves open.
Verdict unknown_rest(const Case& patient, Symptom symptom, double share) {
  Verdict verdict{symptom, Cause::unknown, share, 0.5};
  verdict.summary = share > 1 - kMinor
                        ? shape_text(patient, symptom) + "; why, this record does not tell"
                        : fmt::format("{} of the extra time is not explained by this record", percent_text(share));
  verdict.evidence = epoch_lines(patient);
  verdict.fix = how_to_find_out(symptom, patient.run.framework, patient.under_watch());
  // Where in the epoch the time lies narrows it down.
  const double tail = patient.explained([&](size_t i) { return patient.epoch(i).tail_seconds; });
  const double head = patient.explained([&](size_t i) { return patient.epoch(i).first_step_seconds; });
  if (tail > 0.5 * patient.shape.extra_total)
    verdict.evidence.push_back(
        fmt::format("{} of the extra time passes after the last step: saving, logging, validation or callbacks",
                    percent_text(tail / patient.shape.extra_total)));
  else if (head > 0.5 * patient.shape.extra_total)
    verdict.evidence.push_back(fmt::format("{} of the extra time passes before the first step is done",
                                           percent_text(head / patient.shape.extra_total)));
  const auto computed = [&](size_t i) { return patient.growth(sample_key::cpu_seconds, i); };
  if (const auto usual = patient.usually(computed); usual && *usual > 0) {
    double slow = 0;
    for (const size_t i : patient.slow_epochs()) slow += computed(i).value_or(0);
    slow /= static_cast<double>(std::max<size_t>(patient.slow_epochs().size(), 1));
    verdict.evidence.push_back(fmt::format("slow epochs used {} of CPU time, usual ones {}{}", time_text(slow),
                                           time_text(*usual),
                                           slow > 1.3 * *usual ? ": they compute more" : ": they wait for something"));
  }
  size_t spots = 0;
  for (const Fact* spot : patient.facts("hotspot"))
    for (const size_t i : patient.slow_epochs())
      if (patient.epoch(i).index == spot->epoch && spots++ < 3)
        verdict.evidence.push_back(fmt::format("epoch {}: {}", spot->epoch, spot->value));
  if ((symptom == Symptom::slower_later || symptom == Symptom::slowing) && !patient.shape.first_is_slow)
    verdict.evidence.push_back(
        fmt::format("the first {} is not slower than the later ones, so no start-up cost explains this: it is the "
                    "amount of work, input, memory, disk or the machine",
                    patient.unit.word));
  return verdict;
}

// Findings that are symptoms by themselves (stuck, died) answer first.
std::vector<Verdict> terminal_verdicts(const Case& patient, const std::vector<Finding>& findings, Symptom symptom) {
  std::vector<Verdict> verdicts;
  for (const Finding& finding : findings) {
    if (finding.symptom != symptom) continue;
    Verdict verdict{symptom,
                    finding.cause,
                    finding.cause == Cause::unknown ? 0.0 : 1.0,
                    finding.confidence,
                    finding.summary,
                    finding.evidence,
                    ""};
    verdict.fix = finding.cause == Cause::unknown
                      ? how_to_find_out(symptom, patient.run.framework, patient.under_watch())
                      : fix_for(finding.cause, patient.run.framework);
    verdicts.push_back(std::move(verdict));
  }
  std::stable_sort(verdicts.begin(), verdicts.end(),
                   [](const Verdict& a, const Verdict& b) { return a.confidence > b.confidence; });
  for (size_t i = 1; i < verdicts.size(); ++i) verdicts[i].share = 0;
  return verdicts;
}

// A run whose epochs nobody counted: its steps, so many of them together, take their place.
RunRecord in_parts(const RunRecord& run, const std::vector<Step>& steps, size_t group, double stride = 1) {
  RunRecord parts = run;
  double start = 0;
  for (size_t i = 0; i < steps.size(); i += group) {
    Epoch part;
    part.index = static_cast<int>(parts.epochs.size()) + 1;
    part.start = start;
    double input = 0, count = 0;
    for (size_t k = i; k < std::min(i + group, steps.size()); ++k) {
      part.seconds += stride * steps[k].seconds;
      input += stride * steps[k].input_seconds.value_or(0);
      ++count;
    }
    // The last group may be smaller; all parts stand for as many steps.
    part.seconds *= static_cast<double>(group) / count;
    if (input > 0) part.input_seconds = input * static_cast<double>(group) / count;
    start += part.seconds;
    parts.epochs.push_back(part);
  }
  return parts;
}

// So many steps lie between two readings, if it is always the same number.
double stride_of(const std::vector<Step>& readings) {
  const int64_t stride = readings[1].index - readings[0].index;
  const auto other = [&](const Step& a, const Step& b) { return b.index - a.index != stride; };
  const bool even = std::adjacent_find(readings.begin(), readings.end(), other) == readings.end();
  return even && stride > 0 ? static_cast<double>(stride) : 1;
}

// The steps that traces show, the earliest trace first. How long they waited for input the rules ask the traces.
std::vector<Step> traced_steps(const RunRecord& run) {
  std::vector<const Profile*> profiles;
  for (const Profile& profile : run.profiles) profiles.push_back(&profile);
  std::stable_sort(profiles.begin(), profiles.end(),
                   [](const Profile* a, const Profile* b) { return a->start < b->start; });
  std::vector<Step> steps;
  for (const Profile* profile : profiles)
    for (const Step& step : profile->steps) {
      steps.push_back(step);
      steps.back().input_seconds.reset();
    }
  return steps;
}

// Steps so few that they take the same time may still grow: by the same number of nodes or elements each.
std::vector<Verdict> growth_of_traced(const RunRecord& parts) {
  constexpr double kCertain = 0.9;
  Case patient(parts, {.word = "step", .traced = true});
  patient.shape.symptom = Symptom::slowing;
  patient.shape.extra_total = patient.total;
  std::vector<Finding> findings;
  rules::memory_graph_growth(patient, findings);
  rules::memory_leak(patient, findings);
  std::erase_if(findings, [](const Finding& finding) { return finding.confidence < kCertain; });
  if (findings.empty() || patient.total <= 0) return {};
  Finding& found = findings.front();
  return {{Symptom::slowing, found.cause, std::min(1.0, found.seconds / patient.total), found.confidence,
           fmt::format("{} steps of about {}; {}", parts.epochs.size(), time_text(patient.shape.usual), found.summary),
           std::move(found.evidence), fix_for(found.cause, parts.framework)}};
}

Verdict healthy(const Case& patient) {
  const RunRecord& run = patient.run;
  Verdict verdict{Symptom::healthy, Cause::none, 0, patient.epochs().size() > 1 ? 0.9 : 0.5, healthy_text(patient)};
  if (patient.empty()) {
    verdict.confidence = 0;
    verdict.fix = how_to_find_out(verdict.symptom, run.framework, patient.under_watch());
    return verdict;
  }
  verdict.evidence = epoch_lines(patient);
  if (run.source == "console" && !run.planned_epochs && patient.facts("finished").empty())
    verdict.evidence.push_back(
        "the log does not say how many epochs were planned, so it cannot show whether the run came to its end");
  const double cpus = patient.highest(sample_key::cpus, 0, 1e18).value_or(2);
  if (const auto used = cores_of_others(patient); used && *used > 0.25 * cpus)
    verdict.evidence.push_back(fmt::format(
        "other programs used {:.1f} of {:.0f} cores all along: without them it would be faster", *used, cpus));
  return verdict;
}

// Waiting for data has a reason. Seconds of those that are known, in every epoch or in single ones.
double known_reasons(const std::vector<Finding>& findings, bool overall) {
  constexpr double kKnown = 0.6;  // confidence
  constexpr Cause kReasons[] = {Cause::input_cold_read,    Cause::input_shuffle_fill, Cause::input_cache_fill,
                                Cause::input_worker_start, Cause::resume_skip,        Cause::memory_leak};
  double seconds = 0;
  for (const Finding& reason : findings)
    if (std::find(std::begin(kReasons), std::end(kReasons), reason.cause) != std::end(kReasons) &&
        reason.overall == overall && reason.confidence >= kKnown)
      seconds += reason.seconds;
  return seconds;
}

// Seconds that have a reason are not told twice.
void leave_to_reasons(std::vector<Finding>& findings) {
  for (Finding& waiting : findings)
    if (waiting.cause == Cause::input_bound)
      waiting.seconds = std::max(0.0, waiting.seconds - known_reasons(findings, waiting.overall));
}

std::vector<Verdict> judge(const RunRecord& run, const EpochUnit& unit) {
  Case patient(run, unit);
  std::vector<Finding> findings;
  for (const Rule rule : rules::kAll) rule(patient, findings);
  const auto see_as = [&](const EpochShape& shape) {
    patient.shape = shape;
    findings.clear();
    for (const Rule rule : rules::kAll) rule(patient, findings);
  };
  if (starts_as_usual(patient, findings)) see_as(shape_without_start(patient));
  if (const auto shape = shape_without_profiles(patient)) see_as(*shape);
  // That others are there is known where it matters, and no explanation of single epochs.
  const auto explained = [&](double seconds, bool overall) {
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
      return f.cause != Cause::machine_contention && f.overall == overall &&
             f.seconds >= kMinor * std::max(seconds, 1e-9);
    });
  };
  // Unevenness without a reason must not hide a first epoch that has one and is most of it.
  if (patient.shape.symptom == Symptom::uneven && patient.shape.first_is_slow &&
      !explained(patient.shape.extra_total, false)) {
    constexpr double kMost = 0.5;  // of what all slow epochs take more
    const EpochShape uneven = patient.shape;
    see_as(shape_of_start(patient));
    if (patient.shape.extra_total < kMost * uneven.extra_total || !explained(patient.shape.extra_total, false) ||
        starts_as_usual(patient, findings))
      see_as(uneven);
  }
  for (const Symptom symptom : {Symptom::died, Symptom::stuck})
    if (auto verdicts = terminal_verdicts(patient, findings, symptom); !verdicts.empty()) return verdicts;
  std::erase_if(findings, [](const Finding& finding) { return finding.symptom.has_value(); });

  Symptom symptom = patient.shape.symptom;
  double whole = patient.shape.extra_total;
  if (symptom == Symptom::healthy && patient.total <= 0) return {healthy(patient)};
  if (symptom == Symptom::healthy) {
    std::erase_if(findings, [&](const Finding& f) {
      return !f.overall || f.seconds < kOverall * patient.total || f.confidence < 0.5;
    });
    whole = patient.total;
    if (!findings.empty()) symptom = Symptom::slow_overall;
    if (findings.empty()) return {healthy(patient)};
  } else {
    // What slows every epoch alike does not explain why some are slower, but may be much more time than they lost.
    // Of waiting for data, what single epochs waited for another reason is not alike.
    for (const Finding& finding : findings) {
      const double alike =
          finding.seconds - (finding.cause == Cause::input_bound ? known_reasons(findings, /*overall=*/false) : 0);
      if (finding.overall && patient.dwarfs_extra(alike) && finding.confidence >= 0.75) {
        symptom = Symptom::slow_overall;
        whole = patient.total;
      }
    }
    std::erase_if(findings, [&](const Finding& f) { return f.overall != (symptom == Symptom::slow_overall); });
  }
  leave_to_reasons(findings);
  const double own_share = patient.empty() ? 1 : 1 - standing_still(patient, 0).value_or(0);
  std::stable_sort(findings.begin(), findings.end(), [&](const Finding& a, const Finding& b) {
    return rank(patient, a, whole, own_share) > rank(patient, b, whole, own_share);
  });

  if (!explained(whole, symptom == Symptom::slow_overall)) {
    const bool others = noise_of_shared_machine(patient);
    if (others || speed_of_machine_changes(patient)) {
      Verdict verdict = healthy(patient);
      verdict.confidence = 0.5;
      verdict.summary =
          fmt::format("{} epochs of about {}, {}", patient.epochs().size(), time_text(patient.shape.usual),
                      others ? "uneven on a machine that others keep busy"
                             : fmt::format("some up to {:.1f}x as long: the same steps took more CPU time "
                                           "then, as on cores whose speed changes",
                                           patient.shape.ratio));
      return {verdict};
    }
  }

  std::vector<Verdict> verdicts;
  double left = 1;
  for (Finding& finding : findings) {
    const double share = std::min(left, finding.seconds / std::max(whole, 1e-9));
    if (share < kMention) continue;
    left -= share;
    verdicts.push_back({symptom, finding.cause, share, finding.confidence, std::move(finding.summary),
                        std::move(finding.evidence), fix_for(finding.cause, run.framework)});
  }
  if (symptom != Symptom::slow_overall && (left > kUnknown || verdicts.empty())) {
    // Where the causes found explain little, that is the answer.
    const bool first = verdicts.empty() || (verdicts.front().share < kMinor && left > 2 * verdicts.front().share);
    verdicts.insert(first ? verdicts.begin() : verdicts.end(), unknown_rest(patient, symptom, left));
  }
  if (verdicts.front().cause != Cause::unknown)
    verdicts.front().summary = shape_text(patient, symptom) + "; " + verdicts.front().summary;
  return verdicts;
}

// On a machine that others keep busy the run's own time tells more, if it tells anything for certain.
std::vector<Verdict> diagnose_epochs(const RunRecord& run, const EpochUnit& unit = {}) {
  constexpr double kCertain = 0.7, kMost = 0.5;  // confidence, and share of the extra time
  std::vector<Verdict> verdicts = judge(run, unit);
  const Verdict& first = verdicts.front();
  if (first.symptom == Symptom::died || first.symptom == Symptom::stuck) return verdicts;
  const auto own = in_own_time(run);
  if (!own) return verdicts;
  std::vector<Verdict> alone = judge(*own, unit);
  const Verdict& answer = alone.front();
  const bool found = answer.cause != Cause::none && answer.cause != Cause::unknown;
  if (!found || answer.confidence < kCertain || answer.share < kMost) return verdicts;
  // The cause is certain anyway; what shape short epochs would have had is not. Noise makes a shape uneven, and puts a
  // step into a trend, not the other way round.
  const bool clearer = (first.symptom == Symptom::uneven && answer.symptom != Symptom::uneven) ||
                       (first.symptom == Symptom::slower_later && answer.symptom == Symptom::slowing);
  if (answer.cause == first.cause && !clearer) return verdicts;
  alone.front().summary = "without the waits for cores that other programs used, " + alone.front().summary;
  return alone;
}

}  // namespace

std::vector<Verdict> diagnose(const RunRecord& run) {
  constexpr size_t kFewestReadings = 6, kPartsOfRun = 12;  // readings of a log stand for many steps each
  constexpr size_t kPartsOfTraces = 50;                    // a trace shows every step, the first may be special
  if (!run.epochs.empty() || run.open_epoch) return diagnose_epochs(run);
  if (run.steps.size() >= kFewestReadings) {
    const size_t group = (run.steps.size() + kPartsOfRun - 1) / kPartsOfRun;
    const double stride = stride_of(run.steps);
    RunRecord parts = in_parts(run, run.steps, group, stride);
    for (size_t i = 0; i < parts.epochs.size(); ++i)
      parts.epochs[i].index = static_cast<int>(run.steps[i * group].index);
    std::vector<Verdict> verdicts =
        diagnose_epochs(parts, {.word = "step", .count = static_cast<double>(group) * stride});
    verdicts.front().evidence.push_back(
        fmt::format("this run counts steps, not epochs: {} readings of step times{}", run.steps.size(),
                    group > 1 ? fmt::format(", of which each {} were taken together", group) : ""));
    return verdicts;
  }
  const std::vector<Step> traced = traced_steps(run);
  if (traced.empty()) return diagnose_epochs(run);
  const size_t group = (traced.size() + kPartsOfTraces - 1) / kPartsOfTraces;
  const RunRecord parts = in_parts(run, traced, group);
  std::vector<Verdict> verdicts = diagnose_epochs(parts, {.word = group > 1 ? "part" : "step", .traced = true});
  // Single steps differ; without a reason for it that is no complaint.
  if (verdicts.front().cause == Cause::unknown) verdicts = {healthy(Case(parts, {.word = "step", .traced = true}))};
  if (verdicts.front().cause == Cause::none && group == 1)
    if (auto growing = growth_of_traced(parts); !growing.empty()) verdicts = std::move(growing);
  verdicts.front().evidence.push_back(
      fmt::format("a trace shows steps, here {} of them; add the run's log for an answer about epochs", traced.size()));
  return verdicts;
}

}  // namespace isochron
