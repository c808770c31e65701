#include "isochron/timeline/timeline.h"

#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "isochron/base/clock.h"
#include "isochron/base/error.h"
#include "isochron/timeline/kept.h"
#include "isochron/timeline/process_reading.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron {
namespace {

constexpr int kMaxDepth = 64;
constexpr int kMaxCounters = 64;
constexpr size_t kMaxFacts = 256;
constexpr int64_t kSampleGapNs = 20'000'000, kSurroundingsGapNs = 250'000'000;

// When the library was loaded: until then the system started the process.
const int64_t g_loaded_ns = monotonic_ns();
std::atomic<bool> g_first_timeline{true};
std::atomic<int> g_next_thread{1};

struct ThreadState {
  Timeline* current = nullptr;
  SpanObserver* observer = nullptr;
  int number = 0;  // 0: not yet given
};
// Found without a call: spans of a short step come every few microseconds.
[[gnu::tls_model("initial-exec")]] thread_local ThreadState t_state;

// Held for tens of nanoseconds.
class SpinLock {
 public:
  void lock() {
    for (int tries = 0; locked_.exchange(true, std::memory_order_acquire); ++tries)
      if (tries > 64) std::this_thread::yield();
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

using PhaseNs = std::array<int64_t, kPhaseCount>;

int64_t& of(PhaseNs& phases, Phase phase) { return phases[static_cast<size_t>(phase)]; }

PhaseSeconds to_seconds(const PhaseNs& phases) {
  PhaseSeconds seconds{};
  for (int i = 0; i < kPhaseCount; ++i) seconds[i] = static_cast<double>(phases[i]) * 1e-9;
  return seconds;
}

// Phases that come once or now and then, as opposed to those of every step.
bool is_rare(Phase phase) {
  switch (phase) {
    case Phase::input:
    case Phase::forward:
    case Phase::backward:
    case Phase::update:
    case Phase::metrics:
    case Phase::sync:
    case Phase::other:
      return false;
    default:
      return true;
  }
}

bool is_one_off(Phase phase) { return phase <= Phase::allocate; }

struct SpanEntry {
  const char* name;
  int64_t begin_ns, end_ns;
  int epoch;
  int thread;
  Phase phase;
};
struct StepEntry {
  int64_t index, begin_ns, end_ns, input_ns;
  int epoch;
};
struct EpochEntry {
  int index;
  int64_t begin_ns, end_ns;
  int64_t steps, examples;    // examples -1: unknown
  int64_t first_step_end_ns;  // 0: there was no step
  int64_t validation_ns;
  PhaseNs phases;
};
struct OpenSpan {
  Phase phase;  // that the time counts for
  const char* name;
  int64_t begin_ns;
};
struct Counter {
  const char* name;
  int64_t value;
};

Sample to_sample(const ProcessReading& r, int64_t origin_ns) {
  Sample sample{seconds_between(origin_ns, r.time_ns),
                {{sample_key::cpu_seconds, r.cpu_seconds},
                 {sample_key::system_seconds, r.system_seconds},
                 {sample_key::major_faults, r.major_faults},
                 {sample_key::minor_faults, r.minor_faults},
                 {sample_key::voluntary_switches, r.voluntary_switches},
                 {sample_key::involuntary_switches, r.involuntary_switches},
                 {sample_key::rss_bytes, r.rss_bytes},
                 {sample_key::read_bytes, r.read_bytes},
                 {sample_key::write_bytes, r.write_bytes},
                 {sample_key::write_chars, r.write_chars}}};
  for (const auto& [key, value] : {std::pair{sample_key::open_files, r.open_files},
                                   {sample_key::output_files, r.output_files},
                                   {sample_key::output_bytes, r.output_bytes},
                                   {sample_key::other_cpu_seconds, r.other_cpu_seconds},
                                   {sample_key::steal_seconds, r.steal_seconds},
                                   {sample_key::run_delay_seconds, r.run_delay_seconds}})
    if (!std::isnan(value)) sample.values[key] = value;
  return sample;
}

int number_of_this_thread() {
  if (t_state.number == 0) t_state.number = g_next_thread.fetch_add(1);
  return t_state.number;
}

}  // namespace

struct Timeline::State {
  mutable SpinLock lock;
  int64_t (*clock)();
  int64_t origin_ns;
  const ThreadState* owner = &t_state;

  // The training thread's accounts.
  std::array<OpenSpan, kMaxDepth> stack;
  int depth = 0;           // may exceed kMaxDepth; what lies deeper counts for the deepest kept
  int64_t settled_ns = 0;  // accounted for up to here
  int64_t steps_done = 0;
  PhaseNs phases{};  // of the epoch under way, or since the last one
  PhaseNs outside{};
  EpochEntry epoch{};  // index 0: none under way
  int64_t step_begin_ns = 0, step_input_ns = 0;
  int64_t sampled_ns = 0;
  std::atomic<int64_t> surroundings_ns{0};

  FirstAndLast<SpanEntry> rare_spans{1024, 1024}, step_spans{512, 1536};
  Thinned<StepEntry> steps{256, 4096};
  Thinned<EpochEntry> epochs{64, 4096};
  Thinned<ProcessReading> samples{64, 2048};
  std::array<Counter, kMaxCounters> counters{};
  std::vector<Fact> facts;
  std::optional<int> planned_epochs;

  bool trains() const { return owner == &t_state; }
  Phase phase() const { return depth == 0 ? Phase::other : stack[std::min(depth, kMaxDepth) - 1].phase; }

  void settle(int64_t now) {
    of(phases, phase()) += now - settled_ns;
    settled_ns = now;
  }
  void push(Phase inner, const char* name, int64_t now) {
    if (phase() == Phase::validate && !is_one_off(inner)) inner = Phase::validate;
    if (depth < kMaxDepth) stack[depth] = {inner, name, now};
    ++depth;
  }
  void pop(int64_t now) {
    if (depth == 0) return;
    if (--depth >= kMaxDepth) return;
    const bool outermost = depth == 0 || stack[depth - 1].phase != Phase::validate;
    if (stack[depth].phase == Phase::validate && outermost)
      epoch.validation_ns += now - std::max(stack[depth].begin_ns, epoch.begin_ns);
  }
  void leave(int64_t now) {
    settle(now);
    pop(now);
  }
  void keep(Phase p, const char* name, int64_t begin, int64_t end, int thread) {
    (is_rare(p) ? rare_spans : step_spans).add({name, begin, end, epoch.index, thread, p});
  }
};

Timeline::Timeline(TimelineOptions options) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.clock = options.clock;
  const int64_t now = s.clock();
  const bool first = g_first_timeline.exchange(false);
  s.origin_ns = options.origin_ns ? *options.origin_ns : first ? std::min(process_start_ns(), now) : now;
  // Loading is `start`; what the program did between that and now is its own.
  const int64_t loaded = std::max(s.origin_ns, std::min(g_loaded_ns, now));
  if (loaded > s.origin_ns) s.keep(Phase::start, "process start", s.origin_ns, loaded, 0);
  of(s.outside, Phase::start) = loaded - s.origin_ns;
  of(s.outside, Phase::other) = now - loaded;
  s.settled_ns = now;
}

Timeline::~Timeline() {
  if (t_state.current == this) t_state.current = nullptr;
}

Timeline* Timeline::current() { return t_state.current; }

SpanObserver* SpanObserver::current() { return t_state.observer; }
void SpanObserver::set_current(SpanObserver* observer) { t_state.observer = observer; }

int64_t Timeline::enter(Phase phase, const char* name) {
  State& s = *state_;
  const int64_t now = s.clock();
  if (s.trains()) {
    std::lock_guard lock(s.lock);
    s.settle(now);
    s.push(phase, name, now);
  }
  return now;
}

int64_t Timeline::leave(Phase phase, const char* name, int64_t begin_ns) {
  State& s = *state_;
  const int64_t now = s.clock();
  const bool trains = s.trains();
  const int thread = trains ? 0 : number_of_this_thread();
  std::lock_guard lock(s.lock);
  s.keep(phase, name, begin_ns, now, thread);
  if (trains) s.leave(now);
  return now;
}

int64_t Timeline::replace(Phase phase, const char* name, int64_t begin_ns, Phase next_phase, const char* next_name) {
  State& s = *state_;
  if (!s.trains()) return leave(phase, name, begin_ns);
  const int64_t now = s.clock();
  std::lock_guard lock(s.lock);
  s.keep(phase, name, begin_ns, now, 0);
  s.leave(now);
  s.push(next_phase, next_name, now);
  return now;
}

void Timeline::past(Phase phase, const char* name, int64_t begin_ns) {
  State& s = *state_;
  if (s.trains()) {
    std::lock_guard lock(s.lock);
    begin_ns = std::max(begin_ns, s.settled_ns);
    s.settle(begin_ns);
    s.push(phase, name, begin_ns);
  }
  leave(phase, name, begin_ns);
}

void Timeline::begin_epoch(int index) {
  State& s = *state_;
  const int64_t now = s.clock();
  std::lock_guard lock(s.lock);
  s.settle(now);
  for (int i = 0; i < kPhaseCount; ++i) s.outside[i] += s.phases[i];
  s.phases = {};
  s.epoch = {.index = index, .begin_ns = now};
}

void Timeline::end_epoch(std::optional<int64_t> examples) {
  State& s = *state_;
  const int64_t now = s.clock();
  {
    std::lock_guard lock(s.lock);
    if (s.epoch.index == 0) return;
    s.settle(now);
    s.epoch.end_ns = now;
    s.epoch.examples = examples.value_or(-1);
    s.epoch.phases = std::exchange(s.phases, {});
    s.epochs.add(s.epoch);
    s.epoch = {};
    // After the first epoch, which has better things to wait for.
    if (s.epochs.total() == 1) {
      s.rare_spans.prefault();
      s.step_spans.prefault();
      s.steps.prefault();
      s.epochs.prefault();
      s.samples.prefault();
    }
  }
  if (s.sampled_ns == 0 || now - s.sampled_ns >= kSampleGapNs) sample();
}

void Timeline::begin_step() {
  State& s = *state_;
  const int64_t now = s.clock();
  std::lock_guard lock(s.lock);
  s.settle(now);
  s.step_begin_ns = now;
  s.step_input_ns = of(s.phases, Phase::input);
}

void Timeline::end_step() {
  State& s = *state_;
  const int64_t now = s.clock();
  std::lock_guard lock(s.lock);
  s.settle(now);
  const int64_t input = of(s.phases, Phase::input) - s.step_input_ns;
  s.steps.add({++s.steps_done, s.step_begin_ns, now, input, s.epoch.index});
  if (s.epoch.steps++ == 0) s.epoch.first_step_end_ns = now;
}

void Timeline::count(const char* name, int64_t by) {
  std::lock_guard lock(state_->lock);
  for (Counter& counter : state_->counters) {
    if (!counter.name) counter.name = name;
    if (counter.name != name && std::strcmp(counter.name, name) != 0) continue;
    counter.value += by;
    return;
  }
}

void Timeline::fact(std::string key, std::string value, std::string source) {
  const double time = seconds_between(state_->origin_ns, state_->clock());
  std::lock_guard lock(state_->lock);
  if (state_->facts.size() < kMaxFacts)
    state_->facts.push_back({std::move(key), std::move(value), std::move(source), time, state_->epoch.index});
}

void Timeline::plan_epochs(int epochs) {
  std::lock_guard lock(state_->lock);
  state_->planned_epochs = epochs;
}

void Timeline::sample() { sample(false); }
void Timeline::sample_surroundings() { sample(true); }

void Timeline::sample(bool surroundings) {
  ProcessReading now = read_this_process();
  now.time_ns = state_->clock();
  // The first one comes when a run has better things to do.
  const int64_t last = state_->surroundings_ns.load(std::memory_order_relaxed);
  if (surroundings || (last && now.time_ns - last >= kSurroundingsGapNs)) read_surroundings(now);
  if (!last || !std::isnan(now.output_files)) state_->surroundings_ns.store(now.time_ns, std::memory_order_relaxed);
  std::lock_guard lock(state_->lock);
  state_->sampled_ns = now.time_ns;
  state_->samples.add(now);
}

Activity Timeline::activity() const {
  const State& s = *state_;
  std::lock_guard lock(s.lock);
  Activity now{.since_ns = s.settled_ns, .epoch = s.epoch.index, .steps = s.steps_done};
  if (s.depth > 0) {
    const OpenSpan& innermost = s.stack[std::min(s.depth, kMaxDepth) - 1];
    now.phase = innermost.phase;
    now.name = innermost.name;
    now.since_ns = innermost.begin_ns;
  }
  return now;
}

RunRecord Timeline::to_record() const {
  const State& s = *state_;
  RunRecord run;
  run.source = run.framework = "isochron";
  const int64_t wall = unix_ns();
  const int64_t real_now = s.clock();
  std::lock_guard lock(s.lock);
  const auto since_zero = [&](int64_t ns) { return seconds_between(s.origin_ns, ns); };
  run.seconds = since_zero(real_now);
  run.wall_start = static_cast<double>(wall) * 1e-9 - run.seconds;
  run.planned_epochs = s.planned_epochs;
  s.epochs.for_each([&](const EpochEntry& e) {
    Epoch epoch{.index = e.index, .start = since_zero(e.begin_ns), .seconds = seconds_between(e.begin_ns, e.end_ns)};
    epoch.phases = to_seconds(e.phases);
    epoch.steps = e.steps;
    if (e.examples >= 0) epoch.examples = e.examples;
    if (e.validation_ns > 0) epoch.validation_seconds = static_cast<double>(e.validation_ns) * 1e-9;
    if (e.first_step_end_ns > 0) epoch.first_step_seconds = seconds_between(e.begin_ns, e.first_step_end_ns);
    epoch.input_seconds = epoch.phases[static_cast<size_t>(Phase::input)];
    run.epochs.push_back(std::move(epoch));
  });
  s.steps.for_each([&](const StepEntry& e) {
    run.steps.push_back({e.index, e.epoch, since_zero(e.begin_ns), seconds_between(e.begin_ns, e.end_ns),
                         static_cast<double>(e.input_ns) * 1e-9});
  });
  const auto add_span = [&](const SpanEntry& e) {
    run.spans.push_back(
        {e.name, e.phase, since_zero(e.begin_ns), seconds_between(e.begin_ns, e.end_ns), e.epoch, e.thread});
  };
  s.rare_spans.for_each(add_span);
  s.step_spans.for_each(add_span);
  std::sort(run.spans.begin(), run.spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  s.samples.for_each([&](const ProcessReading& r) { run.samples.push_back(to_sample(r, s.origin_ns)); });
  run.facts = s.facts;
  for (const Counter& counter : s.counters)
    if (counter.name) run.facts.push_back({counter.name, std::to_string(counter.value), "counter", {}, 0});
  PhaseNs outside = s.outside;
  if (s.epoch.index > 0)
    run.open_epoch = OpenEpoch{s.epoch.index, since_zero(s.epoch.begin_ns), s.epoch.steps, std::nullopt};
  else
    for (int i = 0; i < kPhaseCount; ++i) outside[i] += s.phases[i];
  run.outside_phases = to_seconds(outside);
  return run;
}

TimelineScope::TimelineScope(Timeline& timeline) : before_(t_state.current) { t_state.current = &timeline; }
TimelineScope::~TimelineScope() { t_state.current = before_; }

}  // namespace isochron
