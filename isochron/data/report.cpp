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
// Nor is less than this, in seconds.
constexpr double kNoticeable = 2e-3;

double difference(const PipelineReport& earlier, const StageReport& later) {
  for (const StageReport& stage : earlier.stages)
    if (stage.name == later.name) return later.busy_seconds - stage.busy_seconds;
  return later.busy_seconds;
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
    if (sum.cpu_measured_ns > 0)
      stage.cpu_share = static_cast<double>(sum.cpu_ns) / static_cast<double>(sum.cpu_measured_ns);
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
  std::string text =
      fmt::format("{:<{}}  {:>10}  {:>9}  {:>10}  {:>6}\n", "stage", width, "elements", "busy", "each", "CPU");
  for (const StageReport& stage : stages) {
    const bool timed = stage.busy_seconds > 0 && stage.elements > 0;
    text += fmt::format("{:<{}}  {:>10}  {:>9}  {:>10}  {:>6}\n", stage.name, width, stage.elements,
                        timed ? seconds_text(stage.busy_seconds) : "-",
                        timed ? seconds_text(stage.busy_seconds / static_cast<double>(stage.elements)) : "-",
                        stage.cpu_share >= 0 ? fmt::format("{:.0f} %", 100 * stage.cpu_share) : "-");
    if (stage.skipped) text += fmt::format("  {} elements left out after errors\n", stage.skipped);
    if (stage.retried) text += fmt::format("  {} retries\n", stage.retried);
  }
  for (const ThreadsReport& group : threads) {
    text += fmt::format(
        "threads of {}: {}, up to {} elements ahead ({:.1f} MB each), {:.1f} ready on average; the consumer waited {} "
        "in "
        "{} of {} calls{}\n",
        group.name, group.threads, group.window, static_cast<double>(group.slot_bytes) / 1e6, group.ready,
        seconds_text(group.wait_seconds), group.waits, group.delivered, group.sleeping ? "; the threads sleep" : "");
    if (!group.stuck.empty()) text += "  stuck: " + group.stuck + "\n";
  }
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

std::string input_verdict(const PipelineReport& earlier, const PipelineReport& later, int epoch, double seconds,
                          double waited) {
  if (waited < kNoticeable || waited < kWorthSaying * seconds) return {};
  const StageReport* slowest = nullptr;
  double busy = 0;
  for (const StageReport& stage : later.stages)
    if (const double spent = difference(earlier, stage); spent > busy) {
      busy = spent;
      slowest = &stage;
    }
  std::string text = fmt::format("training waited {:.0f} % of epoch {} for ", 100 * waited / seconds, epoch);
  if (!slowest) return text + "its input";
  text += fmt::format("`{}`", slowest->name);
  const auto group = std::find_if(later.threads.begin(), later.threads.end(),
                                  [&](const ThreadsReport& t) { return t.name == slowest->name; });
  const ThreadsReport* threads = group != later.threads.end() ? &*group
                                 : later.threads.empty()      ? nullptr
                                                              : &later.threads[0];
  const double cpu = slowest->cpu_share;
  const std::string load = cpu < 0      ? std::string()
                           : cpu >= 0.5 ? fmt::format(" at {:.0f} % CPU", 100 * cpu)
                                        : fmt::format(", asleep or waiting {:.0f} % of the time", 100 * (1 - cpu));
  if (!threads || threads->threads == 0)
    return text + ": it runs in the training thread" + load + "; give it num_parallel_calls = AUTOTUNE or prefetch()";
  text += fmt::format(": {} thread{}{}", threads->threads, threads->threads == 1 ? "" : "s", load);
  if (threads->threads == 1 && cpu >= 0) text += "; num_parallel_calls = AUTOTUNE gives it more";
  return text;
}

}  // namespace isochron::data
