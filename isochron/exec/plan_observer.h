// Whoever wants to know what every call of every plan costs: the profiler. At most one at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isochron {

class Executable;

// When each thread began and ended its part of each call.
struct PlanTimes {
  const int64_t* stamps;  // by thread, then by call: begin, end; both 0 where the thread took no part
  size_t calls;
  int threads;
  int64_t begin_ns, end_ns;  // of the whole run, in the calling thread

  int64_t begin(int thread, size_t call) const { return stamps[2 * (static_cast<size_t>(thread) * calls + call)]; }
  int64_t end(int thread, size_t call) const { return stamps[2 * (static_cast<size_t>(thread) * calls + call) + 1]; }
};

class PlanObserver {
 public:
  virtual ~PlanObserver() = default;
  // In the thread that runs the plan, which holds graph_mutex().
  virtual void plan_begins() = 0;
  virtual void plan_ran(const Executable& plan, const PlanTimes& times) = 0;
};

// nullptr: nobody. Waits for a plan that is running.
void set_plan_observer(PlanObserver* observer);

}  // namespace isochron
