// Profiler events -> a Profile: who called whom, what a step was spent on, what each operation cost.
//
//   TraceCollector trace(classify);
//   trace.add(thread, name_id, start, duration, elements);   // millions of times; 32 bytes each
//   trace.add_step(thread, index, start, duration);
//   Profile profile = trace.finish("trace.json.gz");
//
// Times are seconds on the trace's own clock. Events of one thread nest; an event's self time is what its callees
// leave, so nothing is counted twice.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "isochron/timeline/run_record.h"

namespace isochron {

// What an operation's name says about it.
struct OpClass {
  std::optional<Phase> phase;      // none: that of whatever called it
  Phase otherwise = Phase::other;  // where that has none either
  bool ends_step = false;          // an optimizer's update: where no steps are marked, one ends here
  bool waits = false;              // counts for the step on whichever thread it runs: the step cannot go on without it
};
using Classify = OpClass (*)(std::string_view name);

class TraceCollector {
 public:
  explicit TraceCollector(Classify classify) : classify_(classify) {}

  uint32_t name_id(std::string_view name);
  uint32_t thread_id(std::string_view name);
  void add(uint32_t thread, uint32_t name, double start, double duration, float elements = -1);
  void add_step(uint32_t thread, int64_t index, double start, double duration);
  // For formats whose names stand behind the events: events from position `first` on were added with positions in
  // `names` as their names; those of kNoName go.
  static constexpr uint32_t kNoName = ~uint32_t{0};
  void set_names(size_t first, const std::vector<uint32_t>& names);
  size_t size() const { return events_.size(); }
  // The training loop runs on this thread; without such a word it is the one with the most events or step marks.
  void prefer(uint32_t thread) { preferred_.insert(thread); }
  bool empty() const { return events_.empty() && steps_.empty(); }
  // More events than memory should hold: the rest is left out.
  bool full() const { return events_.size() >= kMostEvents; }

  // `origin`: what to add to the trace's clock for Unix time.
  std::optional<Profile> finish(std::string source, double origin);

 private:
  static constexpr size_t kMostEvents = size_t{14} << 20;  // 340 MB

  struct Event {
    double start;
    float duration;
    float elements;
    uint32_t name;
    uint32_t thread;
  };
  struct StepMark {
    double start, duration;
    int64_t index;
    uint32_t thread;
  };

  uint32_t main_thread() const;
  void find_steps(uint32_t thread);
  void close_gaps();
  std::vector<double> repeated_calls(uint32_t thread) const;
  std::optional<size_t> step_at(double time, size_t& last) const;
  void sort_events();
  void attribute(Profile& profile, uint32_t main);
  void keep_largest(Profile& profile) const;

  Classify classify_;
  std::vector<std::string> names_;
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> name_ids_;
  std::unordered_map<std::string, uint32_t> thread_ids_;
  std::vector<Event> events_;
  std::vector<StepMark> steps_;
  std::set<uint32_t> preferred_;
};

}  // namespace isochron
