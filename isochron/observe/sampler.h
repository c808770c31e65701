// Watches a process tree ten times a second for under 1 % of a core, and turns what it sees into
// the samples, spans and facts of a run record.
//
//   Sampler sampler(pid, {.folders = {working_folder}});
//   sampler.tick(now);                                   // every 100 ms; `now` in seconds since the start
//   sampler.fill(record);                                // after the run, or any time
//
// Values have the names of timeline/sample_keys.h. tick() and fill() belong to one thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "isochron/observe/activity_log.h"
#include "isochron/observe/float_probe.h"
#include "isochron/observe/hardware_counters.h"
#include "isochron/observe/machine.h"
#include "isochron/observe/process_tree.h"
#include "isochron/observe/sample_store.h"
#include "isochron/observe/stall.h"
#include "isochron/observe/trainer.h"
#include "isochron/observe/written_files.h"

namespace isochron::observe {

// CPU time this process itself has used.
double own_cpu_seconds();

// By how much pauses between looks must grow, from 1 to 3, so that looking stays below 1 % of a core: on a slow or
// crowded machine, or with hundreds of processes to look at.
double pace_for_cost(double cpu_seconds, double seconds);

struct SamplerOptions {
  std::vector<std::string> folders;            // where the command is expected to write
  std::vector<std::string> own_files;          // written by us, not by the command
  const HardwareCounters* counters = nullptr;  // attached before the command ran; may be absent
};

class Sampler {
 public:
  Sampler(int pid, const SamplerOptions& options);

  void tick(double now);
  // An epoch began or ended: samples around it keep their full resolution.
  void pin(double time) { store_.pin(time); }

  // Why nothing comes, for a command that has been silent for `silence` seconds.
  StallFinding explain(double now, double silence);

  // Adds samples, spans, facts, and by epoch the seconds of each phase.
  // `ended`: the command has come to its end by itself.
  void fill(RunRecord& run, bool ended = false) const;

  // The processes of the tree that live now.
  std::vector<int> pids() const;
  const std::vector<Sample>& samples() const { return store_.samples(); }
  const ActivityLog& activities() const { return log_; }
  const Activity& now_doing() const { return trainer_.last_activity(); }
  // CPU seconds of the tree and bytes moved so far: to see whether a silent program works.
  const ProcessCounters& totals() const { return totals_; }

 private:
  struct EpochChange {
    double time;
    int64_t value;
  };

  void look(double now);
  void note_events(double now);
  void look_at_files(double now);
  void look_for_strangers(double now);
  void look_at_numbers(double now);
  Sample make_sample(double now);
  void add_facts(RunRecord& run) const;
  void add_profilers(RunRecord& run) const;
  void add_input_facts(RunRecord& run) const;
  void add_framework(RunRecord& run) const;
  void add_epochs(RunRecord& run, bool ended) const;
  void add_first_epoch(RunRecord& run) const;
  enum class Last { done, open, unknown };  // what became of the last epoch; unknown: whether its loop was left tells
  std::vector<Epoch> epochs_of_loop(Last last) const;
  void mend_late_output(RunRecord& run, bool ended) const;

  int pid_;
  ProcessTree tree_;
  Machine machine_;
  Trainer trainer_;
  WrittenFiles files_;
  StrangerFinder strangers_;
  SampleStore store_;
  ActivityLog log_;
  const HardwareCounters* counters_;

  int ticks_ = 0;
  double last_tick_ = 0;
  ProcessCounters totals_;
  MachineReading reading_;
  MachineReading first_reading_;
  double own_cpu_at_start_ = 0;
  double other_cpu_ = 0;
  double other_cpu_then_ = 0, last_strangers_ = 0;  // when strangers were looked for last
  double next_numbers_ = 1;                         // when its numbers are looked at next
  double children_started_ = 0;
  double main_cpu_ = 0;
  std::optional<FloatProbe> numbers_;  // those of the trainer
  std::optional<double> subnormal_share_;
  int open_files_ = 0, sockets_ = 0;
  std::string why_no_stacks_;
  std::string loaded_framework_;                // by its library
  std::map<std::string, int> frameworks_seen_;  // looks that found its code on the stack
  double last_epoch_look_ = 0;                  // when the loop was seen last
  bool left_epochs_ = false;                    // it was not seen any more after that
  std::vector<EpochChange> epochs_seen_;
  bool profiled_ = false;
  std::vector<double> profiler_changes_;            // when one was first seen on, off, on, …
  std::map<int, double> ended_workers_;             // pid, time
  std::map<std::string, double> busy_strangers_;    // command, core seconds
  std::map<std::string, double> files_read_;        // path, size: files read while training
  std::deque<std::pair<double, RecentWork>> work_;  // counters of the last half minute
};

}  // namespace isochron::observe
