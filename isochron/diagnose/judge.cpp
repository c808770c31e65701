#include "isochron/diagnose/judge.h"

#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/fixes.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/tensorflow_pauses.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/diagnose/wording.h"

namespace isochron {
namespace {

constexpr double kOverall = 0.3;   // share of all time from which something makes even epochs slow
constexpr double kMention = 0.03;  // smaller shares are not worth a verdict
constexpr double kMinor = 0.3;     // a cause that explains less is not the answer while more is unexplained
constexpr double kUnknown = 0.2;   // an unexplained rest from which it is said

// A case and what all rules find in it.
struct Examination {
  Examination(const RunRecord& run, const EpochUnit& unit) : patient(run, unit) { ask_rules(); }

  void see_as(const EpochShape& shape) {
    patient.shape = shape;
    ask_rules();
  }

  // That others are there is known where it matters, and no explanation of single epochs.
  bool explains(double seconds, bool overall) const {
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
      return f.cause != Cause::machine_contention && f.overall == overall &&
             f.seconds >= kMinor * std::max(seconds, 1e-9);
    });
  }

  Case patient;
  std::vector<Finding> findings;
  std::string looked_past;  // what is no complaint, and worth a line all the same

 private:
  void ask_rules() {
    findings.clear();
    for (const Rule rule : rules::kAll) rule(patient, findings);
  }
};

// What is to be explained: the symptom, and the seconds it cost.
struct Complaint {
  Symptom symptom;
  double seconds;
  bool overall() const { return symptom == Symptom::slow_overall; }
};

void set_aside(Case& patient, size_t epoch, double seconds) {
  patient.set_aside.resize(patient.epochs().size());
  patient.set_aside[epoch] += seconds;
}

void look_past_start(Examination& exam) {
  if (!starts_as_usual(exam.patient, exam.findings)) return;
  const EpochShape shape = shape_without_start(exam.patient);
  set_aside(exam.patient, 0, shape.first_overhead);
  exam.see_as(shape);
}

// Where TensorFlow's own pauses take little of the time they are worth a line, not a complaint.
bool look_past_pauses(Examination& exam) {
  Case& patient = exam.patient;
  const auto pauses = tensorflow_pauses(patient);
  if (!pauses || pauses->seconds >= kOverall * patient.total) return false;
  for (const size_t i : pauses->epochs) set_aside(patient, i, patient.shape.extra[i]);
  exam.looked_past = pauses->evidence + "; `options.autotune.enabled = False` of tf.data ends them";
  EpochShape shape = shape_without(patient, [](size_t) { return 0; });
  shape.first_overhead += patient.set_aside[0];
  exam.see_as(shape);
  return true;
}

// An ordinary start, pauses and steps that somebody wanted to profile are no complaints.
void look_past_the_ordinary(Examination& exam) {
  look_past_start(exam);
  if (look_past_pauses(exam)) look_past_start(exam);
  if (const auto shape = shape_without_profiles(exam.patient)) exam.see_as(*shape);
}

// Unevenness without a reason must not hide a first epoch that has one and is most of it.
void prefer_explained_start(Examination& exam) {
  constexpr double kMost = 0.5;  // of what all slow epochs take more
  const EpochShape uneven = exam.patient.shape;
  if (uneven.symptom != Symptom::uneven || !uneven.first_is_slow || exam.explains(uneven.extra_total, false)) return;
  exam.see_as(shape_of_start(exam.patient));
  const double start = exam.patient.shape.extra_total;
  if (start < kMost * uneven.extra_total || !exam.explains(start, false) ||
      starts_as_usual(exam.patient, exam.findings))
    exam.see_as(uneven);
}

std::string what_to_do(const Case& patient, Cause cause, Symptom symptom) {
  return cause == Cause::unknown ? how_to_find_out(symptom, patient.run.framework, patient.under_watch())
                                 : fix_for(cause, patient.run.framework);
}

// Findings that are symptoms by themselves.
std::vector<Verdict> terminal_verdicts(const Examination& exam, Symptom symptom) {
  const Case& patient = exam.patient;
  std::vector<Verdict> verdicts;
  for (const Finding& finding : exam.findings) {
    if (finding.symptom != symptom) continue;
    verdicts.push_back({symptom, finding.cause, finding.cause == Cause::unknown ? 0.0 : 1.0, finding.confidence,
                        finding.summary, finding.evidence, what_to_do(patient, finding.cause, symptom)});
  }
  std::stable_sort(verdicts.begin(), verdicts.end(),
                   [](const Verdict& a, const Verdict& b) { return a.confidence > b.confidence; });
  for (size_t i = 1; i < verdicts.size(); ++i) verdicts[i].share = 0;
  return verdicts;
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

// Even epochs may still lose most of their time to one thing.
std::optional<Complaint> complaint_of_even_epochs(Examination& exam) {
  constexpr double kFair = 0.5;  // confidence
  const double total = exam.patient.total;
  if (total <= 0) return std::nullopt;
  std::erase_if(exam.findings,
                [&](const Finding& f) { return !f.overall || f.seconds < kOverall * total || f.confidence < kFair; });
  if (exam.findings.empty()) return std::nullopt;
  return Complaint{Symptom::slow_overall, total};
}

// What slows every epoch alike does not explain why some are slower, but may be much more time than they lost. Of
// waiting for data, what single epochs waited for another reason is not alike.
Complaint complaint_of_uneven_epochs(Examination& exam) {
  constexpr double kSure = 0.75;  // confidence
  const Case& patient = exam.patient;
  Complaint complaint{patient.shape.symptom, patient.shape.extra_total};
  for (const Finding& finding : exam.findings) {
    const double alike =
        finding.seconds - (finding.cause == Cause::input_bound ? known_reasons(exam.findings, /*overall=*/false) : 0);
    if (finding.overall && patient.dwarfs_extra(alike) && finding.confidence >= kSure)
      complaint = {Symptom::slow_overall, patient.total};
  }
  std::erase_if(exam.findings, [&](const Finding& f) { return f.overall != complaint.overall(); });
  return complaint;
}

// Seconds that have a reason are not told twice.
void leave_to_reasons(std::vector<Finding>& findings) {
  for (Finding& waiting : findings)
    if (waiting.cause == Cause::input_bound)
      waiting.seconds = std::max(0.0, waiting.seconds - known_reasons(findings, waiting.overall));
}

// Certainty first among causes that explain about as much. What a framework does in every program, in ordinary size,
// comes after what only this one does.
void sort_by_weight(Examination& exam, const Complaint& complaint) {
  constexpr double kOrdinary = 3.0, kSecondary = 0.7;  // seconds
  const Case& patient = exam.patient;
  // Of the first epoch, in which it did not stand still for want of a core.
  const double own_share = patient.empty() ? 1 : 1 - standing_still(patient, 0).value_or(0);
  const auto weight = [&](const Finding& finding) {
    const double share = std::min(1.0, finding.seconds / std::max(complaint.seconds, 1e-9));
    const bool ordinary =
        !finding.overall && is_of_framework(patient, finding) && finding.seconds * own_share < kOrdinary;
    return finding.confidence * (0.1 + share) * (ordinary ? kSecondary : 1);
  };
  std::stable_sort(exam.findings.begin(), exam.findings.end(),
                   [&](const Finding& a, const Finding& b) { return weight(a) > weight(b); });
}

// Unevenness of the machine rather than of the run: no complaint, where nothing else explains it.
std::optional<Verdict> noise_of_machine(const Case& patient) {
  const bool others = noise_of_shared_machine(patient);
  if (!others && !speed_of_machine_changes(patient)) return std::nullopt;
  Verdict verdict = healthy_verdict(patient);
  verdict.confidence = 0.5;
  verdict.summary = fmt::format("{} epochs of about {}, {}", patient.epochs().size(), time_text(patient.shape.usual),
                                others ? "uneven on a machine that others keep busy"
                                       : fmt::format("some up to {:.1f}x as long: the same steps took more CPU time "
                                                     "then, as on cores whose speed changes",
                                                     patient.shape.ratio));
  return verdict;
}

// Findings in their order, each with its share of what is to be explained, and what is left of it.
std::vector<Verdict> share_out(Examination& exam, const Complaint& complaint) {
  const Case& patient = exam.patient;
  std::vector<Verdict> verdicts;
  double left = 1;
  for (Finding& finding : exam.findings) {
    const double share = std::min(left, finding.seconds / std::max(complaint.seconds, 1e-9));
    if (share < kMention) continue;
    left -= share;
    verdicts.push_back({complaint.symptom, finding.cause, share, finding.confidence, std::move(finding.summary),
                        std::move(finding.evidence), what_to_do(patient, finding.cause, complaint.symptom)});
  }
  if (!complaint.overall() && (left > kUnknown || verdicts.empty())) {
    // Where the causes found explain little, that is the answer.
    const bool first = verdicts.empty() || (verdicts.front().share < kMinor && left > 2 * verdicts.front().share);
    verdicts.insert(first ? verdicts.begin() : verdicts.end(), unknown_verdict(patient, complaint.symptom, left));
  }
  if (complaint.overall() || verdicts.front().cause != Cause::unknown)
    verdicts.front().summary = shape_text(patient, complaint.symptom) + "; " + verdicts.front().summary;
  return verdicts;
}

}  // namespace

std::vector<Verdict> judge(const RunRecord& run, const EpochUnit& unit) {
  Examination exam(run, unit);
  look_past_the_ordinary(exam);
  prefer_explained_start(exam);
  for (const Symptom symptom : {Symptom::died, Symptom::stuck})
    if (auto verdicts = terminal_verdicts(exam, symptom); !verdicts.empty()) return verdicts;

  const bool even = exam.patient.shape.symptom == Symptom::healthy;
  const auto complaint = even ? complaint_of_even_epochs(exam) : complaint_of_uneven_epochs(exam);
  if (!complaint) {
    Verdict verdict = healthy_verdict(exam.patient);
    if (!exam.looked_past.empty()) verdict.evidence.push_back(exam.looked_past);
    return {verdict};
  }
  leave_to_reasons(exam.findings);
  sort_by_weight(exam, *complaint);
  if (!exam.explains(complaint->seconds, complaint->overall()))
    if (const auto noise = noise_of_machine(exam.patient)) return {*noise};
  return share_out(exam, *complaint);
}

}  // namespace isochron
