// A run that goes on no more, and on what it waits.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/rules.h"

namespace isochron::rules {
namespace {

struct Told {
  const char* key;
  Cause cause;
  const char* summary;
};
// What a log says by itself.
constexpr Told kTold[] = {
    {"peer.lost", Cause::wait_peer, "a collective operation waited for a rank that did not come"},
    {"worker.timeout", Cause::wait_worker, "the data loader waited for a worker that did not deliver"},
};

constexpr size_t kMostStackLines = 6;

// What an observer wrote down while the process hung.
bool by_observation(const Case& patient, std::vector<Finding>& findings) {
  const auto state = patient.facts("stall.state"), cause = patient.facts("stall.cause"),
             summary = patient.facts("stall.summary");
  if (state.empty() || state.back()->value != "stuck") return false;
  Finding finding;
  finding.symptom = Symptom::stuck;
  finding.cause = cause.empty() ? Cause::unknown : cause_from_name(cause.back()->value).value_or(Cause::unknown);
  finding.confidence = finding.cause == Cause::unknown ? 0.8 : 0.92;
  finding.summary = summary.empty() ? "the run hangs" : summary.back()->value;
  if (const auto silent = patient.number("stall.seconds"))
    finding.evidence.push_back(fmt::format("no output and no progress for {}", time_text(*silent)));
  for (const Fact* fact : patient.facts("stall.evidence")) finding.evidence.push_back(fact->value);
  const auto stack = patient.facts("stall.stack");
  for (size_t i = 0; i < std::min(stack.size(), kMostStackLines); ++i)
    finding.evidence.push_back("stack: " + stack[i]->value);
  findings.push_back(std::move(finding));
  return true;
}

// Watched until somebody ended it: it computed, but for so long without a word that it was no epoch any more.
bool by_silence(const Case& patient, std::vector<Finding>& findings) {
  constexpr double kLeast = 30, kTimes = 20;  // seconds, and the longest epoch so often
  const auto silence = patient.number("silence");
  const auto summary = patient.facts("stall.summary");
  if (summary.empty() || summary.back()->value.find("it computes") == std::string::npos) return false;
  if (!silence || patient.epochs().size() < 2 || patient.facts("ended.by").empty()) return false;
  if (patient.run.planned_epochs && patient.epochs().back().index >= *patient.run.planned_epochs) return false;
  double longest = 0;
  for (const Epoch& epoch : patient.epochs()) longest = std::max(longest, epoch.seconds);
  if (*silence < kLeast || *silence < kTimes * longest) return false;
  Finding finding{Cause::unknown, 0, 0.7};
  finding.symptom = Symptom::stuck;
  finding.summary =
      fmt::format("a loop did not end: nothing came for {} after epoch {}, and no epoch before took longer than {}",
                  time_text(*silence), patient.epochs().back().index, time_text(longest));
  // "slow, not stuck: it computes on …" was said before so much time had passed.
  finding.evidence.push_back(summary.back()->value.substr(summary.back()->value.find("it computes")));
  for (const Fact* line : patient.facts("stall.stack"))
    if (finding.evidence.size() <= kMostStackLines) finding.evidence.push_back("stack: " + line->value);
  findings.push_back(std::move(finding));
  return true;
}

// A child process or a thread raised an exception, and nothing came after it: who waits for it waits for ever. Threads
// may also end so as the program does, so for them epochs must be missing.
bool by_lost_worker(const Case& patient, std::vector<Finding>& findings) {
  const auto processes = patient.facts("process.exception"), threads = patient.facts("thread.exception");
  const RunRecord& run = patient.run;
  if (processes.empty() && (threads.empty() || !(run.open_epoch || run.planned_epochs))) return false;
  const Fact& lost = processes.empty() ? *threads.back() : *processes.back();
  const char* who = processes.empty() ? "thread" : "child process";
  Finding finding{Cause::wait_worker, 0, 0.6};
  finding.symptom = Symptom::stuck;
  finding.summary = fmt::format(
      "the record stops after a {} ended by \"{}\": what waits for it hangs, unless it was the trainer itself", who,
      lost.value);
  finding.evidence.push_back(
      fmt::format("\"{}\" ({}), raised in a {}, and no epoch after it", lost.value, lost.source, who));
  findings.push_back(std::move(finding));
  return true;
}

}  // namespace

void stuck(const Case& patient, std::vector<Finding>& findings) {
  const RunRecord& run = patient.run;
  if (by_observation(patient, findings) || by_silence(patient, findings)) return;
  for (const Told& row : kTold) {
    const auto facts = patient.facts(row.key);
    if (facts.empty()) continue;
    Finding finding{row.cause, 0, 0.85, row.summary};
    finding.symptom = Symptom::stuck;
    finding.evidence.push_back(fmt::format("\"{}\" ({})", facts.front()->value, facts.front()->source));
    findings.push_back(std::move(finding));
    return;
  }
  // By the log alone: it simply stops.
  const auto last = patient.empty() ? 0 : patient.epochs().back().index;
  const bool finished = !patient.facts("finished").empty() || !patient.facts("log.evaluated").empty() ||
                        (run.planned_epochs && last >= *run.planned_epochs) || !patient.facts("exit").empty();
  if (finished || run.source == "isochron") return;
  if (by_lost_worker(patient, findings)) return;
  Finding finding{Cause::unknown};
  finding.symptom = Symptom::stuck;
  finding.confidence = 0.5;
  const bool by_hand = !patient.facts("interrupted").empty();
  const std::string_view how = by_hand ? "where somebody interrupted it: stuck, or stopped on purpose"
                                       : "without an error: stuck, killed or still running";
  if (run.open_epoch) {
    const OpenEpoch& open = *run.open_epoch;
    std::string where = fmt::format("epoch {}", open.index);
    if (run.planned_epochs) where += fmt::format(" of {}", *run.planned_epochs);
    if (open.step && open.steps) where += fmt::format(", step {} of {}", *open.step, *open.steps);
    finding.summary = fmt::format("the record stops in {} {}", where, how);
    finding.evidence.push_back(where + " began and did not end");
    if (!patient.empty())
      finding.evidence.back() += fmt::format("; {} epoch{} before it took {}{}", patient.epochs().size(),
                                             patient.epochs().size() == 1 ? "" : "s", time_text(patient.shape.usual),
                                             patient.epochs().size() == 1 ? "" : " each");
  } else if (run.planned_epochs && !patient.empty() && last < *run.planned_epochs &&
             patient.facts("log.headers").empty()) {
    // Logs that announce an epoch before it begins would show one that hangs; the others go silent.
    finding.summary = fmt::format("the record stops after epoch {} of {} {}", last, *run.planned_epochs, how);
    finding.evidence.push_back(
        fmt::format("{} epochs were planned, the last one seen is {}", *run.planned_epochs, last));
    finding.confidence = 0.4;
  } else {
    return;
  }
  for (const Fact* fact : patient.facts("interrupted"))
    finding.evidence.push_back(fmt::format("\"{}\" ({})", fact->value, fact->source));
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
