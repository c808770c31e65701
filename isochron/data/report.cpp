#include "isochron/data/report.h"

#include <algorithm>

#include "isochron/base/clock.h"
#include "isochron/base/seconds_text.h"
#include "isochron/data/optimize.h"
#include "isochron/data/pipeline.h"

namespace isochron::data {
namespace {

// Less than this share of an epoch is not worth a sentence.
constexpr double kWorthSaying = 0.05;
// Nor are so many seconds: no longer than a scheduler lets others run, and nobody's fault on a shared machine.
constexpr double kNoticeable = 10e-3;
constexpr int64_t kMentioned = 1'000'000;  // bytes from disk

double mega(int64_t bytes) { return static_cast<double>(bytes) * 1e-6; }

// What a stage did since an earlier report.
StageReport since(const PipelineReport& earlier, const StageReport& later) {
  StageReport out = later;
  for (const StageReport& before : earlier.stages) {
    if (before.name != later.name) continue;
    out.busy_seconds -= before.busy_seconds;
    out.disk_bytes -= before.disk_bytes;
    out.major_faults -= before.major_faults;
    out.cpu_seconds -= before.cpu_seconds;
    out.cpu_asked_seconds -= before.cpu_asked_seconds;
    if (out.cpu_asked_seconds > 0) out.cpu_share = out.cpu_seconds / out.cpu_asked_seconds;
    break;
  }
  return out;
}

StageReport busiest(const PipelineReport& earlier, const PipelineReport& later) {
  StageReport most;
  for (const StageReport& stage : later.stages)
    if (StageReport spent = since(earlier, stage); spent.busy_seconds > most.busy_seconds) most = std::move(spent);
  return most;
}

// The threads that run a stage: those called after it, else the first ones there are.
const ThreadsReport* threads_of(const PipelineReport& report, const std::string& stage) {
  for (const ThreadsReport& group : report.threads)
    if (group.name == stage) return &group;
  return report.threads.empty() ? nullptr : &report.threads[0];
}

int64_t read_from_disk(const PipelineReport& earlier, const PipelineReport& later) {
  int64_t bytes = 0;
  for (const StageReport& stage : later.stages) bytes += since(earlier, stage).disk_bytes;
  return bytes;
}

std::string element_text(const Element& element) {
  std::string text = describe(element);
  for (const Component& component : element) {
    if (component.shape().elements() != 1) continue;
    text += component.is_text() ? fmt::format(" \"{:.40}\"", component.text())
                                : fmt::format(" {:.6g}", component.item<double>());
  }
  return text;
}

void inspect_stage(const StagePtr& stage, int64_t count, std::string& text) {
  for (const StagePtr& input : stage->inputs()) inspect_stage(input, count, text);
  text += stage->describe() + "\n";
  const int64_t begin = monotonic_ns();
  try {
    Pipeline pipeline(stage);
    pipeline.begin();
    Element element;
    int64_t before = begin;
    for (int64_t i = 0; i < count && pipeline.next(element); ++i) {
      const int64_t now = monotonic_ns();
      text +=
          fmt::format("  {:>4}  {:>10}  {}\n", i, seconds_text(seconds_between(before, now)), element_text(element));
      before = now;
    }
  } catch (const std::exception& error) {
    text += fmt::format("  failed: {}\n", error.what());
  }
}

}  // namespace

std::string inspect(const StagePtr& stage, int64_t count) {
  std::string text;
  inspect_stage(stage, count, text);
  return text;
}

PipelineReport Pipeline::report() {
  PipelineReport out;
  for (int i = 0; i < run_.stages(); ++i) {
    const StageCounters sum = run_.totals(i);
    StageReport stage{
        run_.name(i), sum.elements, sum.skipped, sum.retried, static_cast<double>(sum.busy_ns) * 1e-9, -1};
    stage.bytes = sum.bytes;
    stage.disk_bytes = sum.disk_bytes;
    stage.major_faults = sum.major_faults;
    stage.cpu_seconds = static_cast<double>(sum.cpu_ns) * 1e-9;
    stage.cpu_asked_seconds = static_cast<double>(sum.cpu_measured_ns) * 1e-9;
    if (sum.cpu_measured_ns > 0) stage.cpu_share = stage.cpu_seconds / stage.cpu_asked_seconds;
    out.stages.push_back(std::move(stage));
  }
  for (const AheadReport& group : run_.ahead()) {
    ThreadsReport threads{group.name, group.stuck};
    threads.threads = group.threads;
    threads.window = group.window;
    threads.slot_bytes = group.slot_bytes;
    threads.delivered = group.delivered;
    threads.waits = group.waits;
    threads.wait_seconds = static_cast<double>(group.wait_ns) * 1e-9;
    threads.cpu_seconds = static_cast<double>(group.cpu_ns) * 1e-9;
    threads.delay_seconds = static_cast<double>(group.delay_ns) * 1e-9;
    threads.ready = static_cast<double>(group.depth_sum) / static_cast<double>(std::max<int64_t>(1, group.delivered));
    threads.sleeping = group.sleeping;
    out.threads.push_back(std::move(threads));
  }
  plan_->add_notes(out);
  return out;
}

std::string PipelineReport::to_string() const {
  size_t width = 5;
  for (const StageReport& stage : stages) width = std::max(width, stage.name.size());
  constexpr const char* kRow = "{:<{}}  {:>10}  {:>9}  {:>10}  {:>6}  {:>9}  {:>11}  {:>12}\n";
  std::string text = fmt::format(fmt::runtime(kRow), "stage", width, "elements", "busy", "each", "CPU", "made MB",
                                 "elements/s", "MB from disk");
  const auto megabytes = [](int64_t bytes) { return bytes > 0 ? fmt::format("{:.1f}", mega(bytes)) : "-"; };
  for (const StageReport& stage : stages) {
    const bool timed = stage.busy_seconds > 0 && stage.elements > 0;
    const auto count = static_cast<double>(stage.elements);
    text += fmt::format(
        fmt::runtime(kRow), stage.name, width, stage.elements > 0 ? std::to_string(stage.elements) : "-",
        timed ? seconds_text(stage.busy_seconds) : "-", timed ? seconds_text(stage.busy_seconds / count) : "-",
        stage.cpu_share >= 0 ? fmt::format("{:.0f} %", 100 * stage.cpu_share) : "-", megabytes(stage.bytes),
        timed ? fmt::format("{:.0f}", count / stage.busy_seconds) : "-", megabytes(stage.disk_bytes));
    if (stage.major_faults) text += fmt::format("  waited for the disk {} times (major faults)\n", stage.major_faults);
    if (stage.skipped) text += fmt::format("  {} elements left out after errors\n", stage.skipped);
    if (stage.retried) text += fmt::format("  {} retries\n", stage.retried);
  }
  for (const ThreadsReport& group : threads) {
    text += fmt::format(
        "threads of {}: {}, up to {} elements ahead ({:.2f} MB each), {:.1f} ready on average; the consumer waited {} "
        "in {} of {} calls{}\n",
        group.name, group.threads, group.window, mega(group.slot_bytes), group.ready, seconds_text(group.wait_seconds),
        group.waits, group.delivered, group.sleeping ? "; the threads sleep" : "");
    if (!group.stuck.empty()) text += "  stuck: " + group.stuck + "\n";
  }
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

std::string input_verdict(const PipelineReport& earlier, const PipelineReport& later, int epoch, double seconds,
                          double waited) {
  if (waited < kNoticeable || waited < kWorthSaying * seconds) return {};
  const StageReport slowest = busiest(earlier, later);
  std::string text = fmt::format("training waited {:.0f} % of epoch {} for ", 100 * waited / seconds, epoch);
  if (slowest.name.empty()) return text + "its input";
  text += fmt::format("`{}`", slowest.name);
  const ThreadsReport* threads = threads_of(later, slowest.name);
  const double cpu = slowest.cpu_share;
  const ThreadsReport* const threads_before = threads_of(earlier, slowest.name);
  const double delayed = threads ? threads->delay_seconds - (threads_before ? threads_before->delay_seconds : 0) : 0;
  const bool kept = delayed > 0.5 * (1 - cpu) * slowest.busy_seconds;
  const std::string load = cpu < 0      ? std::string()
                           : cpu >= 0.5 ? fmt::format(" at {:.0f} % CPU", 100 * cpu)
                           : kept       ? fmt::format(" at {:.0f} % CPU, kept from it by other work", 100 * cpu)
                                        : fmt::format(", asleep or waiting {:.0f} % of the time", 100 * (1 - cpu));
  const std::string reads = slowest.disk_bytes >= kMentioned
                                ? fmt::format(", {:.0f} MB read from disk", mega(slowest.disk_bytes))
                                : std::string();
  if (!threads || threads->threads == 0)
    return text + ": it runs in the training thread" + load + reads +
           "; give it num_parallel_calls = AUTOTUNE or prefetch()";
  text += fmt::format(": {} thread{}{}{}", threads->threads, threads->threads == 1 ? "" : "s", load, reads);
  if (threads->threads == 1 && cpu >= 0) text += "; num_parallel_calls = AUTOTUNE gives it more";
  return text;
}

std::string why_not_waited(const PipelineReport& first, const PipelineReport& before, const PipelineReport& after,
                           int epoch) {
  std::string text = fmt::format("epoch {} did not", epoch);
  if (after.cache_full && !first.cache_full) return text + " because `cache` was full";
  const int64_t then = read_from_disk(first, before), now = read_from_disk(before, after);
  if (then >= kMentioned && now < then / 4)
    return text + fmt::format(" because its files were in memory: {:.0f} MB from disk instead of {:.0f}", mega(now),
                              mega(then));
  const std::string slowest = busiest(first, before).name;
  const ThreadsReport *had = threads_of(first, slowest), *has = threads_of(after, slowest);
  if (has && has->threads > (had ? had->threads : 0) && has->threads > 1)
    return text + fmt::format(" because it has {} threads now", has->threads);
  return text;
}

}  // namespace isochron::data
