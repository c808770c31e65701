// Why nothing comes: a command that has been silent for a while is either stuck or slow, and its
// threads, descriptors and stacks tell on what.
//
//   StallFinding finding = explain_stall({.silence = 62, …}, tree, trainer);
//   finding.summary;    // "stuck: the main process waits for data-loader workers, which wait for a lock"
#pragma once

#include <string>
#include <vector>

#include "isochron/observe/process_tree.h"
#include "isochron/observe/trainer.h"

namespace isochron::observe {

// How much happened during the last seconds of the silence.
struct RecentWork {
  double seconds = 0;
  double cpu_seconds = 0;
  double read_bytes = 0;   // from storage
  double write_bytes = 0;  // to storage
  double major_faults = 0;
  double swapped_in_bytes = 0;  // by the machine
  double delay_seconds = 0;     // wanting to run, without a core
};

struct StallSituation {
  double silence = 0;  // seconds since the last output
  RecentWork recent;
  std::vector<int> dead_workers;  // workers that ended during the silence
};

struct StallFinding {
  bool stuck = false;   // false: it works, slowly or silently
  std::string cause;    // id as in docs/causes.md: "wait.worker", …; empty: not known
  std::string summary;  // one line
  std::vector<std::string> evidence;
  std::vector<std::string> stack;  // of the thread that waits, innermost first
};

StallFinding explain_stall(const StallSituation& situation, const ProcessTree& tree, Trainer& trainer);

}  // namespace isochron::observe
