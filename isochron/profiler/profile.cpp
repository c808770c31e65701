#include "isochron/profiler/profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <map>

#include "isochron/base/error.h"
#include "isochron/base/escape.h"
#include "isochron/base/files.h"
#include "isochron/profiler/machine_peak.h"
#include "isochron/profiler/recording.h"

namespace isochron::profiler {
namespace {

// The profile that records.
std::atomic<Recording*> g_recording{nullptr};
std::mutex g_starting;

double microseconds(int64_t from_ns, int64_t to_ns) { return static_cast<double>(to_ns - from_ns) * 1e-3; }

}  // namespace

Profile::Profile(ProfileOptions options)
    : options_(std::move(options)), recording_(std::make_unique<Recording>(options_.max_events)) {
  const Schedule& s = options_.schedule;
  if (std::min({s.skip_first, s.wait, s.warmup, s.active, s.repeat}) < 0)
    fail<ValueError>("Profile",
                     "a schedule has no negative numbers, got skip_first {}, wait {}, warmup {}, active {}, repeat {}",
                     s.skip_first, s.wait, s.warmup, s.active, s.repeat);
  if (s.active == 0 && s.skip_first + s.wait + s.warmup + s.repeat > 0)
    fail<ValueError>("Profile", "a schedule needs active steps, e.g. .active = 3");
  start();
}

Profile::~Profile() {
  options_.on_trace_ready = {};
  try {
    stop();
  } catch (const StateError&) {
    // The thread it records may be writing into it, and will again: it can't be taken from under that thread.
    static auto* abandoned = new std::vector<std::unique_ptr<Recording>>;
    std::lock_guard lock(g_starting);
    set_plan_observer(nullptr);
    g_recording = nullptr;
    abandoned->push_back(std::move(recording_));
  }
}

bool Profile::recording() const { return action_ == Action::record; }

Profile::Action Profile::action_of(int64_t step) const {
  const Schedule& s = options_.schedule;
  if (s.active == 0) return Action::record;
  if (step < s.skip_first) return Action::none;
  step -= s.skip_first;
  const int64_t cycle = s.wait + s.warmup + s.active;
  if (s.repeat > 0 && step / cycle >= s.repeat) return Action::none;
  const int64_t at = step % cycle;
  return at < s.wait ? Action::none : at < s.wait + s.warmup ? Action::warmup : Action::record;
}

void Profile::enter(Action action) {
  if (action == action_) return;
  if (action_ != Action::none && !recording_->on_profiled_thread())
    fail<StateError>("Profile", "it is recording another thread, which started it and alone can step or stop it");
  if (action == Action::none) {
    recording_->detach();
    g_recording = nullptr;
  } else {
    if (action_ == Action::none) {
      std::lock_guard lock(g_starting);
      if (g_recording)
        fail<StateError>("Profile", "another profile is recording: stop it first, one at a time can be on");
      g_recording = recording_.get();
    }
    recording_->restart();
    recording_->attach();
  }
  action_ = action;
}

void Profile::ready() {
  if (options_.on_trace_ready) options_.on_trace_ready(*this);
}

void Profile::start() {
  enter(Action::none);
  step_ = 0;
  enter(action_of(0));
  started_ = true;
}

void Profile::step() {
  if (!started_) return;
  if (action_ != Action::none) recording_->step();
  const Schedule& s = options_.schedule;
  const bool was_recording = action_ == Action::record;
  const Action next = action_of(++step_);
  const bool cycle_over = was_recording && s.active > 0 && (step_ - s.skip_first) % (s.wait + s.warmup + s.active) == 0;
  if (cycle_over) {
    enter(Action::none);
    ready();
  }
  enter(next);
}

void Profile::stop() {
  if (!started_) return;
  const bool unfinished = action_ == Action::record;
  enter(Action::none);
  started_ = false;
  if (unfinished) ready();
}

KeyAverages Profile::key_averages(KeyAveragesOptions options) const {
  std::vector<FunctionAverage> rows;
  {
    const auto lock = recording_->lock();
    std::map<std::pair<std::string, std::string>, size_t> found;
    for (const Recording::Row& row : recording_->rows()) {
      if (row.calls == 0) continue;
      const std::string shapes = options.group_by_input_shape ? row.what.shapes : "";
      const auto [at, added] = found.try_emplace({row.what.name, shapes}, rows.size());
      if (added) rows.push_back({.key = row.what.name, .input_shapes = shapes, .range = row.range});
      FunctionAverage& sum = rows[at->second];
      const auto calls = static_cast<double>(row.calls);
      sum.count += row.calls;
      sum.self_cpu_time_total += static_cast<double>(row.self_ns) * 1e-9;
      sum.cpu_time_total += static_cast<double>(row.total_ns) * 1e-9;
      sum.flops += row.what.flops * calls;
      sum.bytes += row.what.bytes * calls;
    }
  }
  return {std::move(rows), options.group_by_input_shape, profiler::peak_flops()};
}

void Profile::export_chrome_trace(const std::string& path) const {
  AtomicFile file(path);
  const auto lock = recording_->lock();
  const int64_t origin = recording_->begin_ns();
  std::string out = "{\"schemaVersion\": 1, \"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  out += "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"args\": {\"name\": \"isochron\"}}";
  std::map<int32_t, bool> threads;
  int64_t step = 0;
  recording_->for_each_event([&](const Recording::Event& event) {
    threads[event.thread] = true;
    const double begin = microseconds(origin, event.begin_ns), length = microseconds(event.begin_ns, event.end_ns);
    const auto head = [&](const std::string& name, const char* category) {
      out += fmt::format(
          ",\n{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": {}, \"pid\": 1, \"tid\": {}, \"ts\": {:.3f}, \"dur\": "
          "{:.3f}",
          category, json_quoted(name), event.thread, begin, length);
    };
    if (event.row < 0) {
      head(fmt::format("ProfilerStep#{}", ++step), "user_annotation");
    } else {
      const Recording::Row& row = recording_->rows()[static_cast<size_t>(event.row)];
      head(row.what.name, row.range ? "user_annotation" : "cpu_op");
      if (!row.range)
        out += fmt::format(
            ", \"args\": {{\"Input Dims\": {}, \"phase\": \"{}\", \"kernel\": \"{}\", \"FLOPs\": {}, \"bytes\": {}}}",
            row.what.shapes == "[]" || row.what.shapes.ends_with("...]") ? "[]" : row.what.shapes,
            name_of(row.what.phase), row.what.implementation, row.what.flops, row.what.bytes);
    }
    out += '}';
    if (out.size() < (1 << 20)) return;
    file.write(out.data(), out.size());
    out.clear();
  });
  for (const MemoryPoint& point : recording_->memory())
    out += fmt::format(
        ",\n{{\"ph\": \"C\", \"name\": \"memory, MB\", \"pid\": 1, \"ts\": {:.3f}, \"args\": {{\"resident\": {:.3f}, "
        "\"tensors\": {:.3f}, \"workspace\": {:.3f}}}}}",
        point.seconds * 1e6, point.resident / 1e6, point.tensors / 1e6, point.workspace / 1e6);
  for (const auto& [thread, seen] : threads) {
    const std::string name = thread == 0                         ? "training"
                             : thread < Recording::kOtherThreads ? fmt::format("team {}", thread)
                                                                 : fmt::format("other {}", thread);
    out += fmt::format(
        ",\n{{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": {}, \"args\": {{\"name\": \"{}\"}}}}",
        thread, name);
  }
  out += fmt::format("\n], \"lost_events\": {}}}\n", recording_->lost_events());
  file.write(out.data(), out.size());
  file.commit();
}

std::vector<MemoryPoint> Profile::memory_timeline() const {
  const auto lock = recording_->lock();
  return recording_->memory();
}

void Profile::export_memory_timeline(const std::string& path) const {
  const std::vector<MemoryPoint> points = memory_timeline();
  const auto list = [&](double MemoryPoint::*member, int digits) {
    std::string text;
    for (const MemoryPoint& point : points)
      text += fmt::format("{}{:.{}f}", text.empty() ? "" : ", ", point.*member, digits);
    return text;
  };
  write_file(path, fmt::format("{{\"seconds\": [{}],\n\"resident_bytes\": [{}],\n\"tensor_bytes\": [{}],\n"
                               "\"workspace_bytes\": [{}]}}\n",
                               list(&MemoryPoint::seconds, 6), list(&MemoryPoint::resident, 0),
                               list(&MemoryPoint::tensors, 0), list(&MemoryPoint::workspace, 0)));
}

isochron::Profile Profile::for_record(int64_t origin_ns) const {
  const auto lock = recording_->lock();
  const auto seconds = [&](int64_t ns) { return static_cast<double>(ns - origin_ns) * 1e-9; };
  isochron::Profile out;
  out.source = "profiler";
  out.start = seconds(recording_->begin_ns());
  out.seconds = seconds(recording_->end_ns()) - out.start;
  std::vector<const Recording::Event*> ops;
  recording_->for_each_event([&](const Recording::Event& event) {
    if (event.thread != 0) return;
    if (event.row >= 0) {
      if (!recording_->rows()[static_cast<size_t>(event.row)].range) ops.push_back(&event);
      return;
    }
    const auto index = static_cast<int64_t>(out.steps.size()) + 1;
    out.steps.push_back(
        {index, 0, seconds(event.begin_ns), static_cast<double>(event.end_ns - event.begin_ns) * 1e-9, {}});
  });
  if (out.steps.empty()) out.steps.push_back({1, 0, out.start, out.seconds, {}});
  out.step_phases.resize(out.steps.size());
  std::map<std::pair<std::string, Phase>, size_t> found;
  size_t step = 0;
  for (const Recording::Event* event : ops) {
    const double begin = seconds(event->begin_ns), length = static_cast<double>(event->end_ns - event->begin_ns) * 1e-9;
    while (step + 1 < out.steps.size() && begin >= out.steps[step].start + out.steps[step].seconds) ++step;
    const CallDescription& what = recording_->rows()[static_cast<size_t>(event->row)].what;
    const auto [at, added] = found.try_emplace({what.name, what.phase}, out.ops.size());
    if (added)
      out.ops.push_back({what.name,
                         what.phase,
                         std::vector<int64_t>(out.steps.size(), 0),
                         std::vector<double>(out.steps.size(), 0),
                         {}});
    ++out.ops[at->second].counts[step];
    out.ops[at->second].seconds[step] += length;
    out.step_phases[step][static_cast<size_t>(what.phase)] += length;
  }
  return out;
}

// Only the profiled thread has an observer, and it alone ends the recording.
RecordFunction::RecordFunction(const std::string& name) {
  Recording* recording = g_recording;
  open_ = recording && SpanObserver::current() == recording;
  if (open_) recording->range_begins(name, monotonic_ns());
}

RecordFunction::~RecordFunction() {
  Recording* recording = g_recording;
  if (open_ && recording && SpanObserver::current() == recording) recording->range_ends(monotonic_ns());
}

}  // namespace isochron::profiler
