// A run that ended by an error: out of memory, a full disk, a signal, an exception.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "isochron/diagnose/rules.h"

namespace isochron::rules {
namespace {

std::string quoted(const Fact& fact) {
  return fact.source.empty() ? fact.value : fmt::format("\"{}\" ({})", fact.value, fact.source);
}

// Signals are kept as negative numbers.
std::string exit_text(double exit) {
  if (exit >= 0) return fmt::format("with exit status {:.0f}", exit);
  const int signal = static_cast<int>(-exit);
  const char* name = sigabbrev_np(signal);
  return name ? fmt::format("by signal {} (SIG{})", signal, name) : fmt::format("by signal {}", signal);
}

}  // namespace

void died(const Case& patient, std::vector<Finding>& findings) {
  Finding finding;
  finding.symptom = Symptom::died;
  const auto full = patient.facts("disk.full"), memory = patient.facts("oom"), shared = patient.facts("shared-memory"),
             killed = patient.facts("killed"), worker = patient.facts("worker.died"), crash = patient.facts("crash");
  auto exception = patient.facts("exception");
  const std::string when = patient.empty() ? "before the first epoch was done"
                                           : fmt::format("after epoch {}", patient.epochs().back().index);
  const auto exit = patient.number("exit");
  if (!patient.facts("interrupted").empty()) return;  // the user's own doing
  // Whoever ended a run that hung used a signal: that is how it ended, not why.
  const auto stall = patient.facts("stall.state");
  const bool ended = !patient.facts("ended.by").empty() || (!stall.empty() && stall.back()->value == "stuck");
  // A child process that raised an exception before all epochs were done was the trainer, if the run ended with it.
  const auto& planned = patient.run.planned_epochs;
  const bool complete =
      !patient.facts("finished").empty() || (planned && !patient.empty() && patient.epochs().back().index >= *planned);
  // What crashes when everything is done, as an interpreter that shuts down may, ended no training.
  const bool harmless = complete && exception.empty() && crash.empty() && exit && *exit < 0;
  if (exception.empty() && exit && !complete) exception = patient.facts("process.exception");
  if (!full.empty()) {
    finding.cause = Cause::disk_full;
    finding.confidence = 0.92;
    finding.summary = fmt::format("the run died {} because a file could not be written: the disk is full", when);
    for (const Fact* fact : full) finding.evidence.push_back(quoted(*fact));
  } else if (!memory.empty() || !shared.empty()) {
    // What grew over several epochs leaked; what failed at the start never fitted.
    const bool late = patient.epochs().size() >= 2;
    finding.cause = late ? Cause::memory_leak : Cause::memory_oversized;
    finding.confidence = late ? 0.65 : 0.9;
    finding.summary = fmt::format("the run died {}: not enough memory", when);
    for (const Fact* fact : memory) finding.evidence.push_back(quoted(*fact));
    for (const Fact* fact : shared) finding.evidence.push_back(quoted(*fact));
  } else if (!killed.empty() || (exit && *exit == -9 && !ended)) {
    const bool late = patient.epochs().size() >= 3;
    finding.cause = late ? Cause::memory_leak : Cause::memory_oversized;
    const auto tight = patient.facts("memory.tight");
    finding.confidence = tight.empty() ? 0.5 : 0.75;
    finding.summary = fmt::format("the run was killed {}: most often the kernel, when memory runs out", when);
    for (const Fact* fact : killed) finding.evidence.push_back(quoted(*fact));
    if (exit) finding.evidence.push_back("the process ended by signal 9");
    if (!tight.empty()) finding.evidence.push_back(quoted(*tight.back()));
  } else if (!worker.empty() && !ended) {
    finding.cause = Cause::wait_worker;
    finding.confidence = 0.7;
    finding.summary = fmt::format("the run died {}: a data-loading worker ended", when);
    for (const Fact* fact : worker) finding.evidence.push_back(quoted(*fact));
  } else if (!ended && !harmless &&
             (!exception.empty() || !crash.empty() || (exit && *exit != 0 && *exit != -2 && *exit != -15))) {
    finding.cause = Cause::unknown;
    finding.confidence = 0.85;
    const Fact* last = !exception.empty() ? exception.back() : !crash.empty() ? crash.back() : nullptr;
    std::string words = last ? last->value : "";
    while (words.ends_with('.')) words.pop_back();  // the sentence has one of its own
    finding.summary = last ? fmt::format("the run died {}: {}", when, words)
                           : fmt::format("the run ended {} {}", when, exit_text(*exit));
    finding.evidence.push_back(last ? quoted(*last) : "it ended " + exit_text(*exit));
  } else {
    return;
  }
  constexpr size_t kMost = 4;
  if (finding.evidence.size() > kMost) finding.evidence.resize(kMost);
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
