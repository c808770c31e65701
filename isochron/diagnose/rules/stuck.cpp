// A run that goes on no more, and on what it waits.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/fixes.h"
#include "isochron/diagnose/rules.h"

namespace isochron::rules {
namespace {

struct Observed {
  const char* key;
  Cause cause;
  const char* summary;
};
// Facts an observer writes while a process hangs, and what a log may say by itself.
constexpr Observed kObserved[] = {
    {"stall.worker", Cause::wait_worker, "training waits for a data-loading worker that does not deliver"},
    {"stall.lock", Cause::wait_lock, "threads wait for a lock nobody releases"},
    {"stall.io", Cause::wait_io, "training waits for data from a file, pipe or socket"},
    {"stall.peer", Cause::wait_peer, "training waits for another rank"},
    {"stall.swap", Cause::memory_swap, "the process waits for memory to come back from swap"},
    {"peer.lost", Cause::wait_peer, "a collective operation waited for a rank that did not come"},
    {"worker.timeout", Cause::wait_worker, "the data loader waited for a worker that did not deliver"},
};

}  // namespace

void stuck(const Case& patient, std::vector<Finding>& findings) {
  const RunRecord& run = patient.run;
  bool observed = false;
  for (const Observed& row : kObserved) {
    for (const Fact* fact : patient.facts(row.key)) {
      Finding finding{row.cause, 0, 0.9, row.summary};
      finding.symptom = Symptom::stuck;
      finding.evidence.push_back(fact->source.empty() ? fact->value
                                                      : fmt::format("{} ({})", fact->value, fact->source));
      for (const Fact* stack : patient.facts("stall.stack")) finding.evidence.push_back(stack->value);
      findings.push_back(std::move(finding));
      observed = true;
      break;
    }
  }
  if (observed) return;
  // By the log alone: it simply stops.
  const auto last = patient.empty() ? 0 : patient.epochs().back().index;
  const bool finished = !patient.facts("finished").empty() || !patient.facts("log.evaluated").empty() ||
                        (run.planned_epochs && last >= *run.planned_epochs) || patient.number("exit").value_or(1) == 0;
  if (finished || run.source == "isochron") return;
  const auto silent = patient.number("stall.seconds");
  Finding finding{Cause::unknown};
  finding.symptom = Symptom::stuck;
  finding.confidence = silent ? 0.8 : 0.5;
  if (run.open_epoch) {
    const OpenEpoch& open = *run.open_epoch;
    std::string where = fmt::format("epoch {}", open.index);
    if (run.planned_epochs) where += fmt::format(" of {}", *run.planned_epochs);
    if (open.step && open.steps) where += fmt::format(", step {} of {}", *open.step, *open.steps);
    finding.summary = fmt::format("the record stops in {} without an error: stuck, killed or still running", where);
    finding.evidence.push_back(fmt::format("{} began and did not end; {} epochs before it took {} each", where,
                                           patient.epochs().size(),
                                           patient.empty() ? std::string("nothing") : time_text(patient.shape.usual)));
  } else if (run.planned_epochs && !patient.empty() && last < *run.planned_epochs &&
             patient.facts("log.headers").empty()) {
    // Logs that announce an epoch before it begins would show one that hangs; the others go silent.
    finding.summary = fmt::format(
        "the record stops after epoch {} of {} without an error: stuck, killed, stopped early or still running", last,
        *run.planned_epochs);
    finding.evidence.push_back(
        fmt::format("{} epochs were planned, the last one seen is {}, and nothing says that training stopped",
                    *run.planned_epochs, last));
    finding.confidence = silent ? 0.7 : 0.4;
  } else if (!silent) {
    return;
  } else {
    finding.summary = fmt::format("no sign of progress for {}", time_text(*silent));
  }
  if (silent) finding.evidence.push_back(fmt::format("no output and no progress for {}", time_text(*silent)));
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
