// A shuffle buffer that must be full before the first batch comes out.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::rules {
namespace {

// Keras and tf.data: what an iterator does before its first batch, once more in every epoch. The first is left out,
// as it traces the step; retracing and worker processes have rules of their own.
void by_first_steps(const Case& patient, Finding& finding) {
  constexpr double kLeast = 0.5;  // seconds an epoch, below which making an iterator is all
  constexpr double kMostOfAll = 0.6;
  const FirstWaits waits = first_waits(patient, 1);
  if (!patient.tensorflow() || !waits.in_every_epoch() || waits.average() < kLeast) return;
  if (!patient.facts("retracing").empty() || patient.growth(sample_key::children_started, 0, 1e18).value_or(0) > 0)
    return;
  const double all = waits.seconds + std::min(waits.average(), patient.epoch(0).first_step_seconds.value_or(0));
  if (!is_overall(patient, all, 0.3)) return;
  if (patient.phase(0, Phase::input) && patient.phase_total(Phase::input) < 0.5 * all) return;
  finding.overall = true;
  finding.seconds = all;
  // Where it is most of every epoch, nothing that happens once matters beside it.
  finding.confidence = all > kMostOfAll * patient.total ? 0.78 : 0.65;
  finding.summary = fmt::format("each epoch waits about {} for its first batch, as if a shuffle buffer had to be full",
                                time_text(waits.average()));
  finding.evidence.push_back(
      fmt::format("the first step of {} of {} later epochs takes {} longer than the others, {} of all time",
                  waits.waiting, waits.known, time_text(waits.average()), percent_text(all / patient.total)));
}

// A trace in which the shuffle stage gives elements and asks for none: its buffer took the whole dataset before the
// first step, and whatever that cost was part of the first step.
void by_full_buffer(const Case& patient, Finding& finding) {
  constexpr double kLeast = 1;  // seconds
  const auto first_step = first_step_beyond_others(patient);
  const double seconds = first_step.value_or(0) - kTracingOfSmallGraph;
  if (seconds < kLeast || !small_graph_traced(patient)) return;
  for (const Profile& profile : patient.run.profiles) {
    const auto stages = [&](bool behind) {
      return ops_where(profile, [&](const ProfileOp& op) {
        const size_t at = op.name.find("::Shuffle");
        return at != std::string::npos && (op.name.find_first_of(":[", at + 2) != std::string::npos) == behind;
      });
    };
    if (stages(false).empty() || !stages(true).empty()) continue;
    finding.seconds = std::min(seconds, patient.shape.extra_total);
    finding.confidence = 0.7;
    finding.summary = fmt::format("the first step waited {} or more for a shuffle buffer that takes the whole dataset",
                                  time_text(seconds));
    finding.evidence.push_back(fmt::format(
        "the first step took {} longer than first steps of later epochs, and the trace shows little to build for it",
        time_text(*first_step)));
    finding.evidence.push_back(
        fmt::format("in the trace {} gives elements without asking for any: its buffer holds all of them",
                    stages(false).front()->name));
    return;
  }
}

// Watched: one long stretch of making input before the first step of the run, and steps in a row after it. A buffer
// that must be full first looks so; batches that are skipped after resuming do, too, and workers that start.
void by_lead(const Case& patient, Finding& finding) {
  constexpr double kMost = 0.7, kLeast = 1;  // of the extra input, and seconds
  const auto waited = patient.explained_by({Phase::input});
  if (patient.shape.symptom != Symptom::slow_first || !waited || !patient.loads().empty()) return;
  const InputLead lead = input_lead(patient, 0);
  const double seconds =
      lead.seconds - patient.usually([&](size_t i) { return input_lead(patient, i).seconds; }).value_or(0);
  const bool named = lead.store == "buffer";
  if (seconds < kLeast || seconds < kMost * *waited || seconds < 0.4 * patient.shape.extra_total ||
      lead.store == "cache")
    return;
  const auto computing = [&](size_t i) { return computed_seconds(patient, i); };
  const auto first = computing(0), usual = patient.usually(computing);
  const bool computes = first && usual && *first - *usual > 0.3 * seconds;
  if (!named && (!computes || patient.growth(sample_key::children_started, size_t{0}).value_or(0) > 0)) return;
  finding.seconds = std::min(seconds, patient.shape.extra_total);
  finding.confidence = named ? 0.88 : 0.72;
  finding.summary =
      fmt::format("input was made for {} before the first step, as a shuffle buffer that must be full wants it",
                  time_text(seconds));
  finding.evidence.push_back(
      fmt::format("{} of making input before the first step of the run{}, then steps without such waits",
                  time_text(seconds), named ? ", by lines that name a buffer" : ""));
  for (std::string& line : patient.spans_text({Phase::input})) finding.evidence.push_back(std::move(line));
}

}  // namespace

void input_shuffle_fill(const Case& patient, std::vector<Finding>& findings) {
  Finding finding{Cause::input_shuffle_fill};
  const auto notices = patient.facts("shuffle.fill");
  const double extra = patient.shape.extra_total;
  if (!notices.empty()) {
    std::set<int> epochs;
    for (const Fact* notice : notices) epochs.insert(notice->epoch);
    // TensorFlow speaks up after ten seconds of filling.
    const double seconds = std::max(patient.number("shuffle.seconds").value_or(10.0), 10.0);
    finding.overall = epochs.size() > 1 && epochs.size() * 2 >= patient.epochs().size();
    finding.seconds = finding.overall ? seconds * static_cast<double>(epochs.size()) : std::min(seconds, extra);
    finding.confidence = 0.95;
    const std::string& text = notices.back()->value;
    const size_t numbers = text.rfind(": ");
    finding.evidence.push_back(fmt::format(
        "\"{}\" ({})", numbers == std::string::npos ? text : "Filling up shuffle buffer" + text.substr(numbers),
        notices.back()->source));
    finding.evidence.push_back(fmt::format("filling took about {}", time_text(seconds)));
    finding.summary =
        fmt::format("the shuffle buffer was filled for {} before the first batch came", time_text(seconds));
    if (!finding.overall && patient.shape.symptom != Symptom::slow_first) return;
  } else if (patient.shape.symptom == Symptom::slow_first) {
    for (const Profile& profile : patient.run.profiles) {
      double seconds = 0;
      for (const ProfileOp* op : ops_where(profile, [](const ProfileOp& o) {
             return o.phase == Phase::input && o.name.find("Shuffle") != std::string::npos;
           }))
        seconds = std::max(seconds, op->seconds[0]);
      const double waited = first_step_excess(profile, Phase::input);
      if (seconds < 0.1 || waited < 0.5 * patient.shape.extra_total) continue;
      finding.seconds = std::min(waited, extra);
      finding.confidence = 0.8;
      finding.summary =
          fmt::format("the first step waited {} for a batch while the shuffle buffer was filled", time_text(waited));
      finding.evidence.push_back(
          fmt::format("the trace shows {} of waiting for the first batch, with a shuffle stage busy for {}",
                      time_text(waited), time_text(seconds)));
    }
  }
  if (finding.seconds == 0 && patient.shape.symptom == Symptom::slow_first) by_full_buffer(patient, finding);
  if (finding.seconds == 0) by_first_steps(patient, finding);
  if (finding.seconds == 0 && patient.watched()) by_lead(patient, finding);
  if (finding.seconds > 0) findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
