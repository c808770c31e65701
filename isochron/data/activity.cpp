#include "isochron/data/activity.h"

#include <algorithm>

#include "isochron/base/clock.h"
#include "isochron/base/error.h"
#include "isochron/data/run.h"

namespace isochron::data {
namespace {

struct Runs {
  std::mutex mutex;
  std::vector<Run*> all;
};
Runs& runs() {
  static Runs* const forever = new Runs;  // data sets may be destroyed after static objects
  return *forever;
}

}  // namespace

Visible::Visible(Run& run) : run_(run) {
  std::lock_guard lock(runs().mutex);
  runs().all.push_back(&run_);
}
Visible::~Visible() {
  std::lock_guard lock(runs().mutex);
  std::erase(runs().all, &run_);
}

void Run::add_activity(std::vector<Activity>& activities) {
  std::lock_guard lock(mutex_);
  const int64_t now = monotonic_ns();
  for (Worker* worker : workers_) {
    const int stage = worker->stage.load(std::memory_order_relaxed);
    if (stage < 0) continue;
    int64_t since = 0;
    if (worker->since_ns.compare_exchange_strong(since, now, std::memory_order_relaxed)) since = now;
    activities.push_back({.stage = name(stage),
                          .element = worker->element.load(std::memory_order_relaxed),
                          .seconds = std::max(0.0, seconds_between(since, now)),
                          .thread_id = worker->thread_id.load(std::memory_order_relaxed),
                          .consumer = worker->consumer});
  }
  for (AheadProbe* probe : probes_) {
    const AheadProbe::Waiting waiting = probe->waiting();
    if (waiting.since_ns == 0) continue;
    activities.push_back({.stage = waiting.name,
                          .element = waiting.element,
                          .seconds = std::max(0.0, seconds_between(waiting.since_ns, now)),
                          .thread_id = waiting.thread_id,
                          .consumer = true,
                          .waiting = true});
  }
}

std::string Activity::to_string() const {
  if (waiting)
    return fmt::format("thread {} has been waiting for element {} of {} for {:.1f} s", thread_id, element, stage,
                       seconds);
  return fmt::format("{} has been at element {} for {:.1f} s in thread {}", stage, element, seconds, thread_id);
}

std::vector<Activity> pipeline_activity() {
  std::vector<Activity> activities;
  {
    std::lock_guard lock(runs().mutex);
    for (Run* run : runs().all) run->add_activity(activities);
  }
  std::stable_sort(activities.begin(), activities.end(),
                   [](const Activity& a, const Activity& b) { return a.seconds > b.seconds; });
  return activities;
}

}  // namespace isochron::data
