// A process and all its descendants, read from /proc: CPU, memory, faults, I/O, threads; and who came
// and went.
//
//   ProcessTree tree(child_pid);
//   tree.update(now, ProcessTree::Detail::threads);
//   double cpu = tree.totals().cpu_seconds;         // never falls: what ended processes used stays in
//
// Reading never stops or changes the processes. A process that may not be read (another user's)
// keeps the values that could be read. Not thread-safe: one thread updates and reads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "isochron/observe/proc_text.h"

namespace isochron::observe {

struct ThreadReading {
  int tid = 0;
  std::string name;
  char state = '?';
  double cpu_seconds = 0;
  double run_delay_seconds = 0;  // runnable, but waiting for a CPU
};

struct ProcessCounters {
  double cpu_seconds = 0;
  double system_seconds = 0;  // the kernel's part of it
  double run_delay_seconds = 0;
  double minor_faults = 0;
  double major_faults = 0;
  double read_bytes = 0;   // from storage
  double write_bytes = 0;  // to storage
  double read_chars = 0;   // through read(), the page cache included
  double write_chars = 0;
  double read_calls = 0;
  double write_calls = 0;
  double voluntary_switches = 0;    // of the main thread
  double involuntary_switches = 0;  // of the main thread

  ProcessCounters& operator+=(const ProcessCounters& other);
};

struct ProcessReading {
  int pid = 0;
  int parent = 0;
  int64_t start_ticks = 0;
  double first_seen = 0;
  std::string name;
  std::vector<std::string> command;
  char state = '?';
  int threads = 0;
  double rss_bytes = 0;
  double anonymous_bytes = 0;
  double swap_bytes = 0;
  ProcessCounters counters;
  std::vector<ThreadReading> thread_list;  // as of the last update with Detail::threads
};

struct ProcessEvent {
  enum class Kind { started, ended };
  Kind kind;
  double time = 0;
  ProcessReading process;  // as last seen
};

class ProcessTree {
 public:
  // `known`: no search for new processes, which costs the more the more there are on the machine. With the others the
  // machine is searched only if a process or thread was started since the last search.
  enum class Detail { known, processes, threads };

  explicit ProcessTree(int root_pid) : root_(root_pid) {}

  // Reads every process of the tree; `now` stamps what comes and goes. Threads, swap and context
  // switches are read only with Detail::threads.
  void update(double now, Detail detail);

  int root() const { return root_; }
  const std::map<int, ProcessReading>& alive() const { return alive_; }
  bool contains(int pid) const { return alive_.contains(pid); }
  // Counters of all processes of the tree that were ever seen.
  ProcessCounters totals() const;
  // What came and went since the last call.
  std::vector<ProcessEvent> take_events();

 private:
  bool anyone_started();
  void find_members(double now);
  bool read_process(ProcessReading& process, Detail detail);
  void read_threads(ProcessReading& process);

  struct ProcessFiles {
    ProcFile stat, status, io;
    std::string named_at_command;  // its name when its command line was read
    struct Thread {
      ProcFile stat, schedstat;
    };
    std::map<int, Thread> threads;
  };

  int root_;
  std::map<int, ProcessReading> alive_;
  std::map<int, ProcessFiles> files_;
  std::unordered_set<int> strangers_;  // pids known to be outside the tree
  ProcFile load_{"/proc/loadavg"};
  int64_t newest_pid_ = -1;  // of the machine when it was searched last
  int unsearched_ = 0;       // updates since
  ProcessCounters ended_;
  std::vector<ProcessEvent> events_;
};

// All process ids of the machine that /proc shows.
std::vector<int> list_process_ids();
// The numeric entries of a /proc directory, e.g. /proc/1/task.
std::vector<int> list_numeric_entries(const std::string& directory);

}  // namespace isochron::observe
