// A profiler one can leave on: what each op costs, by name and by shape, with FLOPs, bytes and the share of the
// machine's peak; a trace for chrome://tracing and Perfetto; memory over time.
//
//   iso::profiler::Profile profile;                         // records from here …
//   step(x, y);
//   profile.stop();                                         // … to here, or to the end of the block
//   fmt::print("{}", profile.key_averages().table({.sort_by = "cpu_time_total", .row_limit = 10}));
//   profile.export_chrome_trace("trace.json");
//
//   iso::profiler::Profile some({.schedule = {.wait = 1, .warmup = 1, .active = 3, .repeat = 2},
//                                .on_trace_ready = [](auto& p) { p.export_chrome_trace("trace.json"); }});
//   model.fit(x, y, {.profiler = &some});                   // or some.step() at the end of each step of one's own loop
//
// Contract
// - The thread that starts a profile is the one profiled; the engine's other threads appear in the trace. Only one
//   profile records at a time (StateError), and it must be stopped by the thread that started it.
// - Fused ops are named by what is inside: "matmul + bias + relu", "fused(greater, where) + sum".
// - Sums are exact however long it runs; the trace keeps the first `max_events` events, memory a thinned sequence.
// - Each call costs two clock readings at most: under 3 % of the smallest training steps, nothing while not recording.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "isochron/profiler/key_averages.h"
#include "isochron/timeline/run_record.h"

namespace isochron::profiler {

class Profile;
class Recording;

// Which steps are recorded, as in PyTorch: `skip_first` steps are left out, then `wait` unrecorded steps, `warmup`
// recorded and dropped, `active` recorded, and so on `repeat` times (0: to the end). active = 0: everything.
struct Schedule {
  int wait = 0, warmup = 0, active = 0, repeat = 0, skip_first = 0;
};

struct ProfileOptions {
  Schedule schedule = {};
  std::function<void(Profile&)> on_trace_ready = {};  // after each active part, and at stop() when one is unfinished
  size_t max_events = 1'000'000;                      // of the trace, 24 bytes each
};

struct KeyAveragesOptions {
  bool group_by_input_shape = false;
};

// Memory at moments some milliseconds apart, in bytes.
struct MemoryPoint {
  double seconds = 0;    // since the recording began
  double resident = 0;   // of the process
  double tensors = 0;    // held by tensors
  double workspace = 0;  // temporaries of the plan that ran
};

class Profile {
 public:
  Profile() : Profile(ProfileOptions{}) {}
  // Starts at once. ValueError for a schedule with negative numbers, or with waiting but no active steps.
  explicit Profile(ProfileOptions options);
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // Begins anew: what was recorded is forgotten, the schedule begins with its first step.
  void start();
  void stop();
  // The end of a step.
  void step();
  bool recording() const;

  // Of everything recorded so far, or of the last active part.
  KeyAverages key_averages(KeyAveragesOptions options = {}) const;
  // FileError when the file can't be written.
  void export_chrome_trace(const std::string& path) const;
  std::vector<MemoryPoint> memory_timeline() const;
  // The same as JSON: {"seconds": […], "resident_bytes": […], "tensor_bytes": […], "workspace_bytes": […]}.
  void export_memory_timeline(const std::string& path) const;
  // Steps and ops for a RunRecord whose time zero lies at `origin_ns` of the monotonic clock.
  isochron::Profile for_record(int64_t origin_ns) const;

 private:
  enum class Action { none, warmup, record };
  Action action_of(int64_t step) const;
  void enter(Action action);
  void ready();

  ProfileOptions options_;
  std::unique_ptr<Recording> recording_;
  Action action_ = Action::none;
  bool started_ = false;
  int64_t step_ = 0;
};

// Names a part of one's own code in profiles: from here to the end of the block. Costs nothing while none is recorded.
//
//   { iso::profiler::RecordFunction range("preprocess"); … }
class RecordFunction {
 public:
  explicit RecordFunction(const std::string& name);
  ~RecordFunction();
  RecordFunction(const RecordFunction&) = delete;
  RecordFunction& operator=(const RecordFunction&) = delete;

 private:
  bool open_;
};

}  // namespace isochron::profiler
