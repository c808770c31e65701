#include "isochron/profiler/recording.h"

#include <fmt/core.h>

#include "isochron/base/memory_info.h"
#include "isochron/tensor/storage.h"

namespace isochron::profiler {
namespace {

constexpr int64_t kMemoryGapNs = 10'000'000;

}  // namespace

Recording::Recording(size_t max_events) : max_events_(max_events) { restart(); }

void Recording::restart() {
  std::lock_guard lock(mutex_);
  thread_ = std::this_thread::get_id();
  rows_.clear();
  row_by_key_.clear();
  plans_.clear();
  row_by_span_.clear();
  other_threads_.clear();
  event_count_ = 0;
  step_row_ = -1;
  lost_events_ = steps_ = 0;
  begin_ns_ = end_ns_ = monotonic_ns();
  memory_ns_ = 0;
  memory_ = Thinned<MemoryPoint>(64, 4096);
  stack_.assign(1, {-1, begin_ns_, 0});
  in_plan_ = false;
}

void Recording::attach() {
  set_plan_observer(this);
  SpanObserver::set_current(this);
}

void Recording::detach() {
  set_plan_observer(nullptr);
  if (SpanObserver::current() == this) SpanObserver::set_current(nullptr);
  std::lock_guard lock(mutex_);
  end_ns_ = monotonic_ns();
  while (stack_.size() > 1) close(end_ns_);
}

int32_t Recording::number_of_this_thread() {
  if (on_profiled_thread()) return 0;
  const auto next = kOtherThreads + static_cast<int32_t>(other_threads_.size());
  return other_threads_.try_emplace(std::this_thread::get_id(), next).first->second;
}

int32_t Recording::row_of(CallDescription what, bool range) {
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}", what.name, what.shapes, what.implementation, static_cast<int>(what.phase));
  const auto [found, added] = row_by_key_.try_emplace(key, static_cast<int32_t>(rows_.size()));
  if (added) rows_.push_back({std::move(what), range});
  return found->second;
}

const std::vector<int32_t>& Recording::rows_of(const Executable& plan) {
  std::vector<int32_t>& rows = plans_[plan.id()];
  if (rows.empty()) {
    for (size_t i = 0; i < plan.calls(); ++i) rows.push_back(row_of(describe_call(plan, i), false));
    rows.push_back(row_of({"wait for threads", "[]", "", Phase::sync, 0, 0}, false));
  }
  return rows;
}

void Recording::keep(int32_t row, int32_t thread, int64_t begin_ns, int64_t end_ns) {
  if (event_count_ >= max_events_) {
    ++lost_events_;
    return;
  }
  if (event_count_ == events_.size() * kPiece) events_.push_back(std::make_unique_for_overwrite<Event[]>(kPiece));
  events_[event_count_ / kPiece][event_count_ % kPiece] = {begin_ns, end_ns, row, thread};
  ++event_count_;
}

void Recording::open(int32_t row, int64_t now_ns) { stack_.push_back({row, now_ns, 0}); }

void Recording::close(int64_t now_ns) {
  if (stack_.size() == 1) return;  // began before this recording
  const Open top = stack_.back();
  stack_.pop_back();
  const int64_t total = now_ns - top.begin_ns;
  Row& row = rows_[static_cast<size_t>(top.row)];
  ++row.calls;
  row.self_ns += total - top.children_ns;
  // Ranges inside a range of the same name are part of it already.
  bool nested = false;
  for (const Open& outer : stack_) nested |= outer.row == top.row;
  if (!nested) row.total_ns += total;
  stack_.back().children_ns += total;
  keep(top.row, 0, top.begin_ns, now_ns);
}

void Recording::step() {
  std::lock_guard lock(mutex_);
  const int64_t now = monotonic_ns();
  if (step_row_ < 0) step_row_ = row_of({"ProfilerStep*", "[]", "", Phase::other, 0, 0}, true);
  Open& whole = stack_.front();
  Row& sums = rows_[static_cast<size_t>(step_row_)];
  ++sums.calls;
  sums.total_ns += now - whole.begin_ns;
  sums.self_ns += now - whole.begin_ns - whole.children_ns;
  keep(-1, 0, whole.begin_ns, now);
  whole = {-1, now, 0};
  end_ns_ = now;
  ++steps_;
}

void Recording::range_begins(const std::string& name, int64_t now_ns) {
  std::lock_guard lock(mutex_);
  open(row_of({name, "[]", "", Phase::other, 0, 0}, true), now_ns);
}

void Recording::range_ends(int64_t now_ns) {
  std::lock_guard lock(mutex_);
  close(now_ns);
}

void Recording::span_begins(Phase phase, const char* name, int64_t now_ns) {
  if (in_plan_) return;
  std::lock_guard lock(mutex_);
  const auto [found, added] = row_by_span_.try_emplace({name, phase}, 0);
  if (added) {
    const std::string_view kind = name_of(phase);
    found->second =
        row_of({kind == name ? std::string(name) : fmt::format("{}: {}", kind, name), "[]", "", phase, 0, 0}, true);
  }
  open(found->second, now_ns);
}

void Recording::span_ends(int64_t now_ns) {
  if (in_plan_) return;
  std::lock_guard lock(mutex_);
  close(now_ns);
}

void Recording::plan_begins() {
  if (on_profiled_thread()) in_plan_ = true;
}

void Recording::plan_ran(const Executable& plan, const PlanTimes& times) {
  std::lock_guard lock(mutex_);
  const std::vector<int32_t>& rows = rows_of(plan);
  const int32_t caller = number_of_this_thread();
  int64_t computing = 0;
  for (int thread = 0; thread < times.threads; ++thread)
    for (size_t i = 0; i < times.calls; ++i) {
      const int64_t begin = times.begin(thread, i), end = times.end(thread, i);
      if (begin == 0) continue;
      keep(rows[i], thread == 0 ? caller : thread, begin, end);
      if (thread != 0) continue;
      Row& row = rows_[static_cast<size_t>(rows[i])];
      ++row.calls;
      row.self_ns += end - begin;
      row.total_ns += end - begin;
      computing += end - begin;
    }
  const int64_t all = times.end_ns - times.begin_ns;
  if (times.threads > 1) {
    Row& waiting = rows_[static_cast<size_t>(rows.back())];
    ++waiting.calls;
    waiting.self_ns += all - computing;
    waiting.total_ns += all - computing;
  }
  if (caller == 0) {
    in_plan_ = false;
    stack_.back().children_ns += times.threads > 1 ? all : computing;
  }
  look_at_memory(plan, times.end_ns);
}

void Recording::look_at_memory(const Executable& plan, int64_t now_ns) {
  if (now_ns - memory_ns_ < kMemoryGapNs) return;
  memory_ns_ = now_ns;
  memory_.add({seconds_between(begin_ns_, now_ns), static_cast<double>(resident_bytes()),
               static_cast<double>(allocation_counts().live_bytes), static_cast<double>(plan.arena_bytes())});
}

std::vector<MemoryPoint> Recording::memory() const {
  std::vector<MemoryPoint> points;
  memory_.for_each([&](const MemoryPoint& point) { points.push_back(point); });
  return points;
}

}  // namespace isochron::profiler
