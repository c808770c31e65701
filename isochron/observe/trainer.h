// Finds the process that trains among the processes of a command, and says what it is doing.
//
//   Trainer trainer;
//   Trainer::Look look = trainer.look(tree, now);      // ten times a second
//
// The trainer is the topmost Python process, unless that one only waits for the processes it launched, or another one
// that is no data-loader worker has used clearly more CPU time (the ranks below a launcher). Without one (a program in
// another language, an interpreter we can't read) looks stay empty and why_no_stacks() says so.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "isochron/observe/activity.h"
#include "isochron/observe/process_tree.h"
#include "isochron/observe/python_stack.h"
#include "isochron/observe/source_lines.h"
#include "isochron/observe/stack_scan.h"

namespace isochron::observe {

// Names of waits for input that have a cause of their own.
inline constexpr char kWorkerStart[] = "starting DataLoader workers";

class Trainer {
 public:
  struct Look {
    Activity activity;
    std::optional<int64_t> epoch;  // the value of a variable called epoch, or how often batches began anew
    std::string_view framework;    // whose code is on the stack, imports apart
    bool profiled = false;         // a profiler is on
  };

  // Empty when no stack could be read at this moment.
  std::optional<Look> look(const ProcessTree& tree, double now);

  int pid() const { return pid_; }
  // What the last look saw.
  const Activity& last_activity() const { return last_; }
  // Data-loader workers that live now.
  const std::set<int>& workers() const { return workers_; }
  // The Python version of the trainer ("3.11"), empty without one.
  std::string python_version() const;
  // The Python process nearest to the root of the tree: the trainer, or what launched it; 0: none.
  int topmost(const ProcessTree& tree) const;
  // The busiest Python process below that one which is no data-loader worker; 0: none.
  int launched(const ProcessTree& tree) const;
  const std::string& why_no_stacks() const { return why_not_; }

  // Reader of a process' stacks, attached where possible; nullptr: no Python.
  PythonProcess* python(int pid);

 private:
  struct Candidate {
    std::optional<PythonProcess> python;
    double next_attempt = 0;
    double delay = 0.1;
    bool role_known = false;
  };

  void attach_new(const ProcessTree& tree, double now);
  void find_workers(const ProcessTree& tree, double now);
  void choose(const ProcessTree& tree);
  void count_passes(const PythonThread& main, Look& look);
  std::optional<int64_t> epoch_of(PythonThread& main);
  bool within_epochs(const PythonThread& main, bool importing);
  void refine_validation(Activity& activity, const std::vector<PythonFrame>& frames);
  void refine_executing(Activity& activity, char main_state, double now);
  void refine_fed(Activity& activity);
  void refine_disk(Activity& activity) const;
  void refine_loader(Activity& activity, const ProcessTree& tree, double now);

  int pid_ = 0;
  std::map<int, Candidate> candidates_;
  std::set<int> workers_;
  Activity last_;
  SourceLines source_;
  Loop closest_loop_ = Loop::none;  // around the variable that counts epochs
  std::optional<StackScanner> tensorflow_;
  int tensorflow_pid_ = 0;
  double next_scanner_attempt_ = 0;
  std::optional<int64_t> last_batch_;  // of Lightning's loop
  int64_t passes_ = 0;                 // how often its batches began anew
  int running_looks_ = 0;              // in a row with the executor's caller on a CPU
  std::string why_not_ = "no Python process was seen";
};

}  // namespace isochron::observe
