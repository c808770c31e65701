// The record of one training run, from whatever source: our own engine, a watched foreign process, a
// log or a trace. Everything that explains a run (diagnose/, report/) sees only this type.
//
//   RunRecord run = RunRecord::from_json(text);
//   for (const Epoch& epoch : run.epochs) fmt::print("{}: {:.2f} s\n", epoch.index, epoch.seconds);
//
// All times are seconds since `RunRecord` time zero, which is the start of the process where that is
// known. docs/run-record.md documents the JSON form.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isochron/timeline/phase.h"

namespace isochron {

// A named interval with a phase.
struct Span {
  std::string name;
  Phase phase = Phase::other;
  double start = 0;
  double seconds = 0;
  int epoch = 0;   // 1-based; 0: outside any epoch
  int thread = 0;  // 0: the training thread
};

// A reading of the process or machine. A missing value was not measured.
struct Sample {
  double time = 0;
  std::map<std::string, double> values;  // by the names of timeline/sample_keys.h
};

// One optimizer update.
struct Step {
  int64_t index = 0;  // 1-based over the whole run
  int epoch = 0;
  double start = 0;
  double seconds = 0;
  std::optional<double> input_seconds;  // the part spent waiting for its batch
};

// One pass over the training data.
struct Epoch {
  int index = 0;  // 1-based, as the run itself counts where it does
  double start = 0;
  double seconds = 0;
  std::optional<int64_t> steps;
  std::optional<int64_t> examples;
  std::optional<double> validation_seconds;  // part of `seconds`
  PhaseSeconds phases{};                     // all zero where the source can't tell
  std::map<std::string, double> metrics;     // loss, accuracy, …; "tokens": tokens seen in this epoch
  std::optional<double> first_step_seconds;  // from the epoch's start to the end of its first step
  std::optional<double> input_seconds;       // the part spent waiting for batches
  std::optional<double> tail_seconds;        // from the end of its last step to its own end
  std::map<std::string, double> callbacks;   // seconds spent in each
  double resolution = 0;                     // `seconds` may be off by this much: logs round
};

// An epoch that began and, as far as the record goes, did not end.
struct OpenEpoch {
  int index = 0;
  double start = 0;
  std::optional<int64_t> step;   // steps done
  std::optional<int64_t> steps;  // of so many
};

// Something known about the run that is no time series: "framework" = "keras", "exit" = "-9", …
struct Fact {
  std::string key;
  std::string value;
  std::string source;  // where it was seen: a file and line, a reading
  std::optional<double> time;
  int epoch = 0;  // the epoch under way or about to begin; 0: before the first, or unknown
};

// What one operation cost in each step of a profile: vectors run parallel to `Profile::steps`.
struct ProfileOp {
  std::string name;
  Phase phase = Phase::other;
  std::vector<int64_t> counts;
  std::vector<double> seconds;   // self time: the callees' share is theirs
  std::vector<double> elements;  // sizes of the inputs, summed; empty where shapes were not recorded
};

// A window of the run seen through a profiler (Kineto, XPlane, our own): steps and operations.
struct Profile {
  std::string source;  // the file it came from
  double start = 0;
  double seconds = 0;
  std::vector<Step> steps;                // at least one; the whole window where no steps are marked
  std::vector<PhaseSeconds> step_phases;  // by step: the training thread's time, no second counted twice
  std::vector<ProfileOp> ops;
};

// What one stage of the input pipeline did over the whole run.
struct InputStage {
  std::string name;
  int64_t elements = 0;
  double busy_seconds = 0;  // in all its threads together
  int threads = 0;          // that run it ahead of training; 0: none of its own
  double wait_seconds = 0;  // that its consumer waited for them
};

struct RunRecord {
  std::string source;     // "isochron", "watch", "console", "kineto", "xplane", "tfevents", "csv", …
  std::string framework;  // "isochron", "keras", "tensorflow", "torch", "lightning", …; empty: unknown
  double seconds = 0;     // the whole run
  std::vector<Epoch> epochs;
  std::vector<Step> steps;
  std::vector<Span> spans;
  std::vector<Sample> samples;
  std::vector<Fact> facts;
  std::vector<Profile> profiles;
  std::vector<InputStage> input_stages;
  std::optional<double> wall_start;   // Unix time of time zero
  std::optional<int> planned_epochs;  // as the run announced them
  std::optional<OpenEpoch> open_epoch;
  PhaseSeconds outside_phases{};  // before, between and after epochs, in the training thread; all zero: unknown

  std::string to_json(int indent = 1) const;
  // Throws FileError naming the place that does not fit the schema.
  static RunRecord from_json(const std::string& text);
  // Spans and epochs in the Chrome trace format (chrome://tracing, Perfetto).
  std::string to_chrome_trace() const;

  const Fact* find_fact(const std::string& key) const;
};

}  // namespace isochron
