#include "isochron/train/stall_report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "isochron/base/clock.h"
#include "isochron/base/files.h"
#include "isochron/base/memory_info.h"
#include "isochron/base/native_stack.h"
#include "isochron/base/seconds_text.h"
#include "isochron/base/thread_clock.h"
#include "isochron/data/activity.h"
#include "isochron/exec/running_call.h"

namespace isochron {
namespace {

// No sign of life for so long: not merely slow.
constexpr double kSilence = 2;

// The shares of its time in which a thread had a core, and in which it was ready to run and got none.
struct CoreShare {
  double busy = 0, delayed = 0;
  // Of the time it could have slept in, it ran for more than half.
  bool computes() const { return busy > 0.5 * (1 - delayed); }
};

std::string thread_text(const ThreadState& thread, const CoreShare& share = {}) {
  std::string text = fmt::format("thread {} ({})", thread.tid, thread.name);
  if (share.computes())
    text += fmt::format(", computing ({:.0f} % of a CPU{})", share.busy * 100,
                        share.delayed > 0.1 ? fmt::format(", waiting for one {:.0f} %", share.delayed * 100) : "");
  else if (thread.state == 'R')  // it has just woken, or waits for a core
    text += fmt::format(", runnable ({:.0f} % of a CPU)", share.busy * 100);
  else if (thread.state == 'D')
    text += ", waiting for a disk";
  else
    text += ", asleep";
  if (!thread.channel.empty() && thread.state != 'R') text += " in " + thread.channel;
  return text;
}

std::string stack_text(int tid) {
  std::string text;
  for (const std::string& frame : stack_of_thread(tid, 12))
    text += fmt::format("  {:<10}{}\n", text.empty() ? "stack" : "", frame);
  return text;
}

std::string machine_text() {
  std::string text;
  for (const auto& [resource, name] : {std::pair{"memory", "memory"}, {"io", "I/O"}, {"cpu", "CPU"}})
    if (const double percent = pressure_percent(resource); percent >= 0)
      text += fmt::format("{} pressure {:.0f} %, ", name, percent);
  return fmt::format("  {:<10}{}{} of memory available, {} resident\n", "machine", text,
                     bytes_text(available_memory_bytes()), bytes_text(resident_bytes()));
}

// As launchers tell it: torchrun, Open MPI, MPICH and Slurm. Empty for a process of its own.
std::string rank_text() {
  constexpr const char* kNames[][2] = {{"RANK", "WORLD_SIZE"},
                                       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                       {"PMI_RANK", "PMI_SIZE"},
                                       {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const auto& [rank, size] : kNames) {
    const char *own = std::getenv(rank), *all = std::getenv(size);
    if (!own || !all || std::atoi(all) < 2) continue;
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    return fmt::format("  {:<10}{} of {}, on {}\n", "rank", own, all, host);
  }
  return "";
}

}  // namespace

double pressure_percent(const char* resource) {
  char text[256];
  if (read_short_file(fmt::format("/proc/pressure/{}", resource).c_str(), text) == 0) return -1;
  const char* at = std::strstr(text, "some avg10=");
  return at ? std::atof(at + std::strlen("some avg10=")) : -1;
}

Stall::Stall(int training_thread, const Timeline& timeline, int64_t since_ns)
    : tid_(training_thread), timeline_(timeline), since_ns_(since_ns) {}

void Stall::look(int64_t now) {
  const int64_t span_since = timeline_.activity().since_ns;
  const bool first = looks_++ == 0;
  if (first) begin_ns_ = now;
  // At first nothing is known to have moved.
  bool moved = !first && span_since != span_since_ns_;
  span_since_ns_ = span_since;
  std::map<int, At> threads;
  const auto add = [&](int tid, std::string stage, int64_t element) {
    const auto known = threads_.find(tid);
    if (known != threads_.end() && known->second.stage == stage && known->second.element == element) {
      threads[tid] = known->second;
      return;
    }
    moved = moved || !first;
    threads[tid] = {std::move(stage), element, now, thread_state(tid).cpu_seconds, run_delay_ns(tid)};
  };
  for (const data::Activity& thread : data::pipeline_activity()) {
    if (thread.waiting) continue;
    add(thread.thread_id, thread.stage, thread.element);
    const auto [pace, fresh] = stages_.try_emplace(thread.stage, Pace{thread.element, thread.element, now});
    pace->second.last = std::max(pace->second.last, thread.element);
  }
  if (!threads.contains(tid_)) add(tid_, "", -1);
  threads_ = std::move(threads);
  if (moved) alive_ns_ = now;
}

// How fast elements come meanwhile, and what that means for a step and an epoch where earlier ones tell.
std::string Stall::pace_text(int64_t now, const std::string& stage, const StallPlace& place) const {
  const auto found = stages_.find(stage);
  if (found == stages_.end() || found->second.last <= found->second.first) return "";
  const Pace& pace = found->second;
  const double rate = static_cast<double>(pace.last - pace.first) / std::max(1e-3, seconds_between(pace.from_ns, now));
  std::string text = fmt::format("  {:<10}{} makes {:.3g} elements a second", "pace", stage, rate);
  if (place.epoch_step > 0 && place.epoch_steps > place.epoch_step) {
    const double a_step = static_cast<double>(pace.first) / static_cast<double>(place.epoch_step);
    text += fmt::format("; the rest of the epoch would take {}",
                        seconds_text(a_step / rate * static_cast<double>(place.epoch_steps - place.epoch_step)));
  }
  return text + "\n";
}

std::string Stall::report(int64_t now, const StallPlace& place, OnStall action) {
  const Activity activity = timeline_.activity();
  const RunningCall call = running_call();
  // Where input is waited for, the thread to look at is the one that makes it.
  std::optional<data::Activity> maker;
  for (const data::Activity& thread : data::pipeline_activity())
    if (!thread.waiting && activity.phase == Phase::input && !maker) maker = thread;
  const ThreadState suspect = thread_state(maker ? maker->thread_id : tid_);
  CoreShare share;
  if (const auto at = threads_.find(suspect.tid); at != threads_.end()) {
    const double seconds = std::max(0.01, seconds_between(at->second.since_ns, now));
    share.busy = std::clamp((suspect.cpu_seconds - at->second.cpu_seconds) / seconds, 0., 1.);
    share.delayed =
        std::clamp(static_cast<double>(run_delay_ns(suspect.tid) - at->second.delay_ns) * 1e-9 / seconds, 0., 1.);
  }
  const bool moves = alive_ns_ > 0 && seconds_between(alive_ns_, now) < kSilence;

  std::string text = fmt::format("no step has ended for {}", seconds_text(seconds_between(since_ns_, now)));
  if (place.steps > 0) text += fmt::format(" (they usually take {})", seconds_text(place.usual_step));
  text += moves ? ": slow" : share.computes() ? ": it computes, and nothing moves" : ": stuck";
  if (place.epoch == 0)
    text += ", before the first epoch";
  else if (place.epoch_steps > 0)
    text += fmt::format(", in epoch {} of {}, step {} of {}", place.epoch, place.epochs,
                        std::min(place.epoch_step + 1, place.epoch_steps), place.epoch_steps);
  else
    text += fmt::format(", in epoch {} of {}, step {}", place.epoch, place.epochs, place.epoch_step + 1);
  text += '\n' + rank_text();

  text += fmt::format("  {:<10}{}{}{}, for {}\n", "phase", name_of(activity.phase), *activity.name ? ": " : "",
                      activity.name, seconds_text(seconds_between(activity.since_ns, now)));
  if (call.op)
    text += fmt::format("  {:<10}{}, call {} of {} of the plan\n", "op", call.op, call.index + 1, call.calls);
  text += fmt::format("  {:<10}{}{}\n", maker ? "pipeline" : "training",
                      maker ? fmt::format("{} has been at element {} for {}, ", maker->stage, maker->element,
                                          seconds_text(maker->seconds))
                            : "",
                      thread_text(suspect, share));
  if (moves && maker) text += pace_text(now, maker->stage, place);
  text += stack_text(suspect.tid);
  text += machine_text();
  if (action == OnStall::dump)
    for (const ThreadState& thread : threads_of_process())
      if (thread.tid != this_thread_id()) text += fmt::format("  {}\n{}", thread_text(thread), stack_text(thread.tid));
  if (action == OnStall::abort)
    text += maker && maker->thread_id != tid_
                ? "  the training ends here\n"
                : "  the training ends as soon as this returns: code that the training thread runs can't be stopped\n";
  text.pop_back();  // the log ends lines itself
  return text;
}

}  // namespace isochron
