// What a profile keeps while it runs: sums by op, in fixed order of their first call, and the events of the trace up to
// a bound. Used by Profile alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "isochron/exec/plan_observer.h"
#include "isochron/profiler/call_description.h"
#include "isochron/profiler/profile.h"
#include "isochron/timeline/kept.h"
#include "isochron/timeline/timeline.h"

namespace isochron::profiler {

class Recording final : public PlanObserver, public SpanObserver {
 public:
  struct Row {
    CallDescription what;
    bool range = false;  // a span or a range of the user's, which may hold others
    int64_t calls = 0, self_ns = 0, total_ns = 0;
  };
  struct Event {
    int64_t begin_ns, end_ns;
    int32_t row;     // -1: a step
    int32_t thread;  // 0: the one that is profiled; below kOtherThreads: the team; then others
  };
  static constexpr int32_t kOtherThreads = 1000;
  static constexpr size_t kPiece = 8192;  // events

  explicit Recording(size_t max_events);

  // Forgets everything; this thread is the one profiled, and time begins now.
  void restart();
  void attach();
  void detach();
  // Ends a step and begins the next one.
  void step();

  void range_begins(const std::string& name, int64_t now_ns);
  void range_ends(int64_t now_ns);

  void plan_begins() override;
  void plan_ran(const Executable& plan, const PlanTimes& times) override;
  void span_begins(Phase phase, const char* name, int64_t now_ns) override;
  void span_ends(int64_t now_ns) override;

  // Valid under lock().
  std::unique_lock<std::mutex> lock() const { return std::unique_lock(mutex_); }
  const std::vector<Row>& rows() const { return rows_; }
  template <class F>
  void for_each_event(F&& f) const {
    for (size_t i = 0; i < event_count_; ++i) f(events_[i / kPiece][i % kPiece]);
  }
  int64_t lost_events() const { return lost_events_; }
  int64_t steps() const { return steps_; }
  int64_t begin_ns() const { return begin_ns_; }
  int64_t end_ns() const { return end_ns_; }
  std::vector<MemoryPoint> memory() const;
  bool on_profiled_thread() const { return std::this_thread::get_id() == thread_; }

 private:
  struct Open {
    int32_t row;
    int64_t begin_ns, children_ns;
  };
  int32_t number_of_this_thread();
  int32_t row_of(CallDescription what, bool range);
  const std::vector<int32_t>& rows_of(const Executable& plan);
  void keep(int32_t row, int32_t thread, int64_t begin_ns, int64_t end_ns);
  void open(int32_t row, int64_t now_ns);
  void close(int64_t now_ns);
  void look_at_memory(const Executable& plan, int64_t now_ns);

  mutable std::mutex mutex_;
  const size_t max_events_;
  std::thread::id thread_;
  std::vector<Row> rows_;
  std::map<std::string, int32_t> row_by_key_;
  std::unordered_map<uint64_t, std::vector<int32_t>> plans_;  // by id: rows of the calls, then the rest of the run
  std::map<std::pair<const char*, Phase>, int32_t> row_by_span_;
  std::map<std::thread::id, int32_t> other_threads_;
  std::vector<std::unique_ptr<Event[]>> events_;  // pieces: none moves when another comes; kept when all begins anew
  size_t event_count_ = 0;
  int32_t step_row_ = -1;
  int64_t lost_events_ = 0, steps_ = 0;
  std::vector<Open> stack_;  // the first one is the step, or all there is
  bool in_plan_ = false;     // the phases a plan reports are its calls' own; of the profiled thread alone
  int64_t begin_ns_ = 0, end_ns_ = 0, memory_ns_ = 0;
  Thinned<MemoryPoint> memory_{64, 4096};
};

}  // namespace isochron::profiler
