#include "isochron/readers/trace_collector.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "isochron/base/median.h"

namespace isochron {
namespace {

constexpr size_t kMostNames = 200000;
constexpr std::string_view kOthers = "(others)";
constexpr size_t kMostSteps = 512;
constexpr size_t kMostOps = 400;  // kept of a finished profile

}  // namespace

uint32_t TraceCollector::name_id(std::string_view name) {
  if (name.size() > 300) name = name.substr(0, 300);
  if (const auto found = name_ids_.find(name); found != name_ids_.end()) return found->second;
  if (names_.size() >= kMostNames && name != kOthers) return name_id(kOthers);
  const auto id = static_cast<uint32_t>(names_.size());
  names_.emplace_back(name);
  name_ids_.emplace(names_.back(), id);
  return id;
}

uint32_t TraceCollector::thread_id(std::string_view name) {
  return thread_ids_.try_emplace(std::string(name), static_cast<uint32_t>(thread_ids_.size())).first->second;
}

void TraceCollector::add(uint32_t thread, uint32_t name, double start, double duration, float elements) {
  if (full() || !(duration >= 0) || !(start == start)) return;
  events_.push_back({start, static_cast<float>(duration), elements, name, thread});
}

void TraceCollector::add_step(uint32_t thread, int64_t index, double start, double duration) {
  if (steps_.size() < 1000000 && duration >= 0 && start == start) steps_.push_back({start, duration, index, thread});
}

void TraceCollector::set_names(size_t first, const std::vector<uint32_t>& names) {
  size_t kept = first;
  for (size_t i = first; i < events_.size(); ++i) {
    const uint32_t name = names[events_[i].name];
    if (name == kNoName) continue;
    events_[kept] = events_[i];
    events_[kept++].name = name;
  }
  events_.resize(kept);
}

uint32_t TraceCollector::main_thread() const {
  std::map<uint32_t, size_t> votes;
  if (!steps_.empty())
    for (const StepMark& step : steps_) ++votes[step.thread];
  else
    for (const Event& event : events_)
      if (preferred_.empty() || preferred_.contains(event.thread)) ++votes[event.thread];
  if (votes.empty()) return events_.front().thread;
  return std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

void TraceCollector::find_steps(uint32_t thread) {
  std::erase_if(steps_, [&](const StepMark& step) { return step.thread != thread; });
  std::sort(steps_.begin(), steps_.end(), [](const StepMark& a, const StepMark& b) { return a.start < b.start; });
  if (steps_.empty()) {
    // Updates end steps where nobody marked them.
    std::vector<double> ends;
    for (const Event& event : events_)
      if (event.thread == thread && classify_(names_[event.name]).ends_step)
        ends.push_back(event.start + event.duration);
    std::sort(ends.begin(), ends.end());
    double begin = 1e300, end = -1e300;
    for (const Event& event : events_)
      if (event.thread == thread) {
        begin = std::min(begin, event.start);
        end = std::max(end, event.start + event.duration);
      }
    if (ends.empty()) ends = repeated_calls(thread);
    for (size_t i = 0; i < ends.size(); ++i) {
      steps_.push_back({begin, ends[i] - begin, static_cast<int64_t>(i), thread});
      begin = ends[i];
    }
    if (steps_.empty()) steps_.push_back({begin, std::max(0.0, end - begin), 0, thread});
  } else {
    close_gaps();
  }
  // The last mark is often cut off by the end of the recording.
  if (steps_.size() > 1) {
    std::vector<double> durations;
    for (const StepMark& step : steps_) durations.push_back(step.duration);
    if (steps_.back().duration < 0.2 * median_of(std::move(durations))) steps_.pop_back();
  }
  if (steps_.size() > kMostSteps) {  // several become one
    const size_t group = (steps_.size() + kMostSteps - 1) / kMostSteps;
    std::vector<StepMark> grouped;
    for (size_t i = 0; i < steps_.size(); i += group) {
      const StepMark& last = steps_[std::min(i + group, steps_.size()) - 1];
      grouped.push_back({steps_[i].start, last.start + last.duration - steps_[i].start, steps_[i].index, thread});
    }
    steps_ = std::move(grouped);
  }
}

// Who marks steps may leave a part of each outside: Keras marks what runs between two of TensorBoard's own callbacks,
// loops often take the next batch before the mark. What passes between marks again and again belongs to the step
// before; what passes once, at the end of an epoch, does not.
void TraceCollector::close_gaps() {
  constexpr double kAlike = 3;
  std::vector<double> gaps;
  for (size_t i = 0; i + 1 < steps_.size(); ++i)
    gaps.push_back(std::max(0.0, steps_[i + 1].start - steps_[i].start - steps_[i].duration));
  const double usual = median_of(gaps);
  for (size_t i = 0; i < gaps.size(); ++i)
    if (gaps[i] <= kAlike * usual) steps_[i].duration += gaps[i];
}

// Where neither marks nor updates tell steps: the call that takes most of the thread's time, again and again, is one.
std::vector<double> TraceCollector::repeated_calls(uint32_t thread) const {
  std::vector<const Event*> outer;  // calls nobody on this thread made
  for (const Event& event : events_)
    if (event.thread == thread) outer.push_back(&event);
  std::sort(outer.begin(), outer.end(), [](const Event* a, const Event* b) {
    return a->start != b->start ? a->start < b->start : a->duration > b->duration;
  });
  std::map<uint32_t, std::pair<double, std::vector<double>>> by_name;  // time in all, ends
  double end = -1e300, window = 0;
  for (const Event* event : outer) {
    if (event->start < end) continue;
    end = event->start + event->duration;
    auto& [total, ends] = by_name[event->name];
    total += event->duration;
    ends.push_back(end);
    window += event->duration;
  }
  for (auto& [name, calls] : by_name)
    if (calls.second.size() >= 3 && calls.first > 0.5 * window) return calls.second;
  return {};
}

// `last`: the step found for an earlier time, which neighbours are likely to share.
std::optional<size_t> TraceCollector::step_at(double time, size_t& last) const {
  const auto begins_before = [&](size_t i) { return i < steps_.size() && steps_[i].start <= time; };
  if (!begins_before(last) || begins_before(last + 1)) {
    const auto after = std::upper_bound(steps_.begin(), steps_.end(), time,
                                        [](double t, const StepMark& step) { return t < step.start; });
    if (after == steps_.begin()) return std::nullopt;
    last = static_cast<size_t>(after - steps_.begin()) - 1;
  }
  if (time > steps_[last].start + steps_[last].duration) return std::nullopt;
  return last;
}

// By thread and start, callers before what they call. Where a trace comes thread by thread, often in order, little is
// left to do.
void TraceCollector::sort_events() {
  const auto by_thread = [](const Event& a, const Event& b) { return a.thread < b.thread; };
  const auto by_start = [](const Event& a, const Event& b) {
    return a.start != b.start ? a.start < b.start : a.duration > b.duration;
  };
  if (!std::is_sorted(events_.begin(), events_.end(), by_thread)) {
    std::sort(events_.begin(), events_.end(),
              [&](const Event& a, const Event& b) { return a.thread != b.thread ? by_thread(a, b) : by_start(a, b); });
    return;
  }
  for (auto first = events_.begin(); first != events_.end();) {
    const auto last = std::upper_bound(first, events_.end(), *first, by_thread);
    if (!std::is_sorted(first, last, by_start)) std::sort(first, last, by_start);
    first = last;
  }
}

void TraceCollector::attribute(Profile& profile, uint32_t main) {
  std::vector<OpClass> classes;
  for (const std::string& name : names_) classes.push_back(classify_(name));
  std::vector<int32_t> rows(names_.size(), -1);
  const size_t steps = profile.steps.size();
  const auto row_of = [&](uint32_t name) -> ProfileOp& {
    if (rows[name] < 0) {
      rows[name] = static_cast<int32_t>(profile.ops.size());
      ProfileOp op{names_[name],
                   classes[name].phase.value_or(Phase::other),
                   std::vector<int64_t>(steps),
                   std::vector<double>(steps),
                   {}};
      profile.ops.push_back(std::move(op));
    }
    return profile.ops[static_cast<size_t>(rows[name])];
  };
  sort_events();
  std::vector<PhaseSeconds> waits(steps, PhaseSeconds{});
  struct Open {
    double end;
    double self;
    Phase phase;
    const Event* event;
    bool waiting;
  };
  std::vector<Open> stack;
  size_t last_step = 0;
  const auto close = [&] {
    const Open top = stack.back();
    stack.pop_back();
    const auto step = step_at(top.event->start, last_step);
    if (!step) return;
    const double self = std::max(0.0, top.self);
    ProfileOp& op = row_of(top.event->name);
    ++op.counts[*step];
    op.seconds[*step] += self;
    if (top.event->elements >= 0) {
      if (op.elements.empty()) op.elements.assign(steps, 0);
      op.elements[*step] += top.event->elements;
    }
    if (op.phase == Phase::other) op.phase = top.phase;
    const auto phase = static_cast<size_t>(top.phase);
    if (top.event->thread == main) {
      profile.step_phases[*step][phase] += self;
    } else if (classes[top.event->name].waits && !top.waiting) {
      waits[*step][phase] += top.event->duration;
    }
  };
  uint32_t thread = ~0u;
  for (const Event& event : events_) {
    while (!stack.empty() && (event.thread != thread || event.start >= stack.back().end - 1e-9)) close();
    thread = event.thread;
    const bool waiting = !stack.empty() && (stack.back().waiting || classes[stack.back().event->name].waits);
    const Phase inherited = stack.empty() ? Phase::other : stack.back().phase;
    if (!stack.empty()) stack.back().self -= event.duration;
    const OpClass& kind = classes[event.name];
    const Phase phase = kind.phase.value_or(inherited == Phase::other ? kind.otherwise : inherited);
    stack.push_back({event.start + event.duration, event.duration, phase, &event, waiting});
  }
  while (!stack.empty()) close();
  // Another thread's wait holds the step up while the main thread seems to work: it goes first.
  for (size_t i = 0; i < steps; ++i) {
    PhaseSeconds& phases = profile.step_phases[i];
    const auto other = static_cast<size_t>(Phase::other);
    const double duration = profile.steps[i].seconds;
    const auto scale = [](PhaseSeconds& seconds, double room) {
      const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
      if (sum > room && sum > 0)
        for (double& part : seconds) part *= room / sum;
      return std::min(sum, room);
    };
    phases[other] = 0;
    const double waited = scale(waits[i], duration);
    const double worked = scale(phases, duration - waited);
    for (size_t k = 0; k < phases.size(); ++k) phases[k] += waits[i][k];
    phases[other] = std::max(0.0, duration - waited - worked);
    profile.steps[i].input_seconds = phases[static_cast<size_t>(Phase::input)];
  }
}

void TraceCollector::keep_largest(Profile& profile) const {
  if (profile.ops.size() <= kMostOps) return;
  const auto total = [](const ProfileOp& op) { return std::accumulate(op.seconds.begin(), op.seconds.end(), 0.0); };
  std::sort(profile.ops.begin(), profile.ops.end(),
            [&](const ProfileOp& a, const ProfileOp& b) { return total(a) > total(b); });
  profile.ops.resize(kMostOps);
}

std::optional<Profile> TraceCollector::finish(std::string source, double origin) {
  if (empty()) return std::nullopt;
  const uint32_t main = main_thread();
  find_steps(main);
  Profile profile;
  profile.source = std::move(source);
  profile.start = origin + steps_.front().start;
  profile.seconds = steps_.back().start + steps_.back().duration - steps_.front().start;
  for (const StepMark& mark : steps_) {
    Step step;
    step.index = mark.index;
    step.start = mark.start - steps_.front().start;
    step.seconds = mark.duration;
    profile.steps.push_back(step);
  }
  profile.step_phases.assign(profile.steps.size(), PhaseSeconds{});
  attribute(profile, main);
  keep_largest(profile);
  return profile;
}

}  // namespace isochron
