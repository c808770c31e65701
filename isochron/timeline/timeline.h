// The recorder every run keeps: where each second went, in fixed memory, for well under 1 % of the time.
//
//   Timeline timeline;                               // this thread trains
//   TimelineScope here(timeline);                    // deep code reports to it from now on
//   for (int epoch = 1; epoch <= epochs; ++epoch) {
//     timeline.begin_epoch(epoch);
//     while (more) {
//       timeline.begin_step();
//       ScopedSpan span(Phase::input, "next batch");
//       … span.next(Phase::forward, "forward"); …    // one clock reading ends one span and begins the next
//       timeline.end_step();
//     }
//     timeline.end_epoch();
//   }
//   RunRecord run = timeline.to_record();
//
// Deep code (compile, allocate, input) writes `ScopedSpan span(Phase::compile, "compile")`, which does
// nothing while no timeline is current in its thread.
//
// Contract
// - Spans of the thread that made the timeline account for its time: a phase gets the time in which it was
//   the innermost one, and what no span covers is `other`. So the phases of an epoch add up to its wall time.
// - Inside `validate`, the recurring phases (input, forward, metrics, …) count as `validate`; one-off ones
//   (build, trace, compile, init, allocate) keep their own.
// - Spans of other threads are kept beside, with their thread's number, and account for nothing.
// - Names are string literals: only the pointer is kept.
// - Memory is fixed: of each kind the first and the most recent entries stay, or a thinned sequence; sums
//   stay exact. Nothing allocates between construction and to_record(), save fact().
// - begin_… and end_… belong to the thread that made the timeline; the rest may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "isochron/base/clock.h"
#include "isochron/timeline/phase.h"
#include "isochron/timeline/run_record.h"

namespace isochron {

// What the training thread is doing, for those who watch it.
struct Activity {
  Phase phase = Phase::other;
  const char* name = "";
  int64_t since_ns = 0;  // on the monotonic clock
  int epoch = 0;         // 0: outside any
  int64_t steps = 0;     // completed over the whole run
};

struct TimelineOptions {
  // Time zero; by default the start of the process for its first timeline, and now for later ones.
  std::optional<int64_t> origin_ns;
  int64_t (*clock)() = monotonic_ns;
};

class Timeline {
 public:
  explicit Timeline(TimelineOptions options = {});
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // The timeline this thread reports to, or nullptr.
  static Timeline* current();

  void begin_epoch(int index);
  // Also reads memory, faults and I/O of the process, unless that was done in the last 20 ms.
  void end_epoch(std::optional<int64_t> examples = std::nullopt);
  void begin_step();
  void end_step();

  // A span that has just ended: the time since begin_ns turned out to belong to this phase.
  void past(Phase phase, const char* name, int64_t begin_ns);

  // Adds to a counter, which ends up among the record's facts ("cache_hits" = "31"). At most 64 names.
  void count(const char* name, int64_t by = 1);
  void fact(std::string key, std::string value, std::string source = {});
  void plan_epochs(int epochs);
  // Reads the process now (about 20 us), and what surrounds it (files, other processes) where that was not done lately.
  void sample();
  // Likewise, and its surroundings in any case: when all is written.
  void sample_surroundings();

  Activity activity() const;
  RunRecord to_record() const;

 private:
  friend class ScopedSpan;
  int64_t enter(Phase phase, const char* name);
  int64_t leave(Phase phase, const char* name, int64_t begin_ns);
  int64_t replace(Phase phase, const char* name, int64_t begin_ns, Phase next_phase, const char* next_name);
  void sample(bool surroundings);

  struct State;
  std::unique_ptr<State> state_;
};

// Makes a timeline current in this thread, and what was current before again afterwards.
class TimelineScope {
 public:
  explicit TimelineScope(Timeline& timeline);
  ~TimelineScope();
  TimelineScope(const TimelineScope&) = delete;
  TimelineScope& operator=(const TimelineScope&) = delete;

 private:
  Timeline* before_;
};

// Sees the spans of one thread begin and end, whether or not a timeline is current there: the profiler.
class SpanObserver {
 public:
  virtual ~SpanObserver() = default;
  virtual void span_begins(Phase phase, const char* name, int64_t now_ns) = 0;
  // The innermost one; also of spans that began before the observer came.
  virtual void span_ends(int64_t now_ns) = 0;

  static SpanObserver* current();
  static void set_current(SpanObserver* observer);
};

// An interval with a phase, from here to the end of the block: two clock readings.
class ScopedSpan {
 public:
  ScopedSpan(Phase phase, const char* name) : ScopedSpan(Timeline::current(), phase, name) {}
  ScopedSpan(Timeline& timeline, Phase phase, const char* name) : ScopedSpan(&timeline, phase, name) {}
  ~ScopedSpan() {
    if (name_) end();
  }
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

  // Ends it before the block does. Returns how long it was; 0 where no timeline is current.
  int64_t end() {
    const int64_t now = timeline_ ? timeline_->leave(phase_, name_, begin_ns_) : 0;
    if (SpanObserver* observer = SpanObserver::current()) observer->span_ends(now ? now : monotonic_ns());
    name_ = nullptr;
    return timeline_ ? now - begin_ns_ : 0;
  }

  // Ends this span and begins another in its place.
  void next(Phase phase, const char* name) {
    if (timeline_) begin_ns_ = timeline_->replace(phase_, name_, begin_ns_, phase, name);
    phase_ = phase;
    name_ = name;
    if (SpanObserver* observer = SpanObserver::current()) {
      const int64_t now = timeline_ ? begin_ns_ : monotonic_ns();
      observer->span_ends(now);
      observer->span_begins(phase, name, now);
    }
  }

 private:
  ScopedSpan(Timeline* timeline, Phase phase, const char* name)
      : timeline_(timeline), phase_(phase), name_(name), begin_ns_(timeline ? timeline->enter(phase, name) : 0) {
    if (SpanObserver* observer = SpanObserver::current())
      observer->span_begins(phase, name, timeline ? begin_ns_ : monotonic_ns());
  }

  Timeline* timeline_;
  Phase phase_;
  const char* name_;
  int64_t begin_ns_;
};

}  // namespace isochron
