#include "isochron/exec/executable.h"

#include <fmt/core.h>

#include <atomic>
#include <optional>

#include "isochron/base/clock.h"
#include "isochron/base/joined.h"
#include "isochron/base/threads.h"
#include "isochron/exec/kernel_choices.h"
#include "isochron/exec/plan_observer.h"
#include "isochron/exec/running_call.h"
#include "isochron/exec/workspace.h"
#include "isochron/graph/walk.h"
#include "isochron/timeline/timeline.h"

namespace isochron {
namespace {

std::atomic<const char*> g_running_op{nullptr};
std::atomic<int32_t> g_running_index{0}, g_running_calls{0};

PlanObserver* g_observer = nullptr;  // guarded by graph_mutex()
std::atomic<uint64_t> g_next_id{1};

}  // namespace

RunningCall running_call() {
  return {g_running_op.load(std::memory_order_relaxed), g_running_index.load(std::memory_order_relaxed),
          g_running_calls.load(std::memory_order_relaxed)};
}

void set_plan_observer(PlanObserver* observer) {
  std::lock_guard lock(graph_mutex());
  g_observer = observer;
}

Executable::Executable() : id_(g_next_id.fetch_add(1, std::memory_order_relaxed)) {}
Executable::~Executable() = default;

Executable::CallInfo Executable::call(size_t i) const {
  const Instruction& call = instructions_[i];
  return {call.node < 0 ? nullptr : &graph_.nodes[static_cast<size_t>(call.node)], call.implementation, call.phase,
          call.serial || !call.kernel->parallel()};
}

Executable::Beside Executable::beside(int shares) const {
  Beside most;
  for (const Instruction& call : instructions_) {
    const int used = call.serial ? 1 : shares;
    most.scratch = std::max(most.scratch, (call.kernel->scratch_bytes(used) + 63) / 64 * 64);
    most.shared = std::max(most.shared, (call.kernel->shared_bytes(used) + 63) / 64 * 64);
  }
  return most;
}

int64_t Executable::working_bytes(int threads) const {
  const Beside most = beside(threads);
  return arena_bytes_ + static_cast<int64_t>(most.shared + most.scratch * static_cast<size_t>(threads));
}

void Executable::prepare_memory(int shares) {
  if (shares != shares_) {
    beside_ = beside(shares);
    shares_ = shares;
    prepare_trial();
  }
  workspace_ =
      workspace(static_cast<size_t>(arena_bytes_) + beside_.shared + beside_.scratch * static_cast<size_t>(shares));
}

void Executable::prepare_trial() {
  trial_.reset();
  std::vector<KernelTrial::Candidate> untried;
  for (size_t i = 0; i < instructions_.size(); ++i) {
    Instruction& call = instructions_[i];
    call.variant = 0;
    const int variants = call.kernel->variants();
    if (variants == 1) continue;
    const GraphNode& node = graph_.nodes[static_cast<size_t>(call.node)];
    std::string key = fmt::format("{} {} threads={} {}", node.op->name, call.implementation, shares_,
                                  isochron::to_string(node.attributes));
    for (const TensorSpec& input : graph_.input_specs(node)) key += " " + isochron::to_string(input);
    KernelChoices& choices = KernelChoices::global();
    if (const std::optional<int> known = choices.find(key)) {
      call.variant = *known < variants ? *known : 0;
    } else {
      choices.expect(key);
      untried.push_back({.call = i, .variants = variants, .key = std::move(key)});
    }
  }
  if (untried.empty()) return;
  trial_ = std::make_unique<KernelTrial>(std::move(untried));
  stamps_.reserve(stamps_of(shares_));
}

void Executable::try_variants(const PlanTimes& times) {
  trial_->ran(times);
  if (!trial_->done()) return;
  for (const KernelTrial::Candidate& candidate : trial_->candidates()) {
    const int best = trial_->best(candidate);
    instructions_[candidate.call].variant = best;
    KernelChoices::global().learn(candidate.key, best);
  }
  trial_.reset();
}

void Executable::resolve(std::span<void* const> inputs, std::span<void* const> outputs) {
  for (size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    switch (place.kind) {
      case Place::input:
        pointers_[i] = inputs[static_cast<size_t>(place.index)];
        break;
      case Place::output:
        pointers_[i] = outputs[static_cast<size_t>(place.index)];
        break;
      case Place::arena:
        pointers_[i] = workspace_ + place.offset;
        break;
      case Place::constant:
        pointers_[i] = constants_.data() + place.offset;
        break;
    }
  }
}

void Executable::run(std::span<void* const> inputs, std::span<void* const> outputs, bool check_numbers) {
  ThreadTeam& team = ThreadTeam::global();
  const int shares = parallel_ ? team.size() : 1;
  prepare_memory(shares);
  resolve(inputs, outputs);
  fault_.clear();
  g_running_calls.store(static_cast<int32_t>(instructions_.size()), std::memory_order_relaxed);
  PlanObserver* const observer = g_observer;
  const int64_t start = monotonic_ns();
  const int threads = team_.threads(shares, start);
  const bool tries = trial_ && !observer && threads == shares && trial_->timed();
  const bool timed = observer || tries;
  if (timed) stamps_.assign(stamps_of(shares), 0);
  if (observer) observer->plan_begins();
  if (tries)
    for (const KernelTrial::Candidate& candidate : trial_->candidates())
      instructions_[candidate.call].variant = trial_->variant(candidate);
  // What thread 0 spends outside its calls it spends on the other threads: waking them, waiting for the last one.
  std::optional<ScopedSpan> span;
  if (threads > 1) span.emplace(Phase::sync, "threads");
  team.parallel(threads, [&](int thread, int of) {
    run_shares(thread, of, check_numbers, timed ? stamps_.data() + stamps_of(thread) : nullptr);
  });
  g_running_op.store(nullptr, std::memory_order_relaxed);
  const int64_t end = monotonic_ns();
  team_.ran(end - start, end);
  span.reset();
  const PlanTimes times{stamps_.data(), instructions_.size(), threads, start, end};
  if (observer) observer->plan_ran(*this, times);
  if (tries) try_variants(times);
  if (fault_.found()) raise_fault();
}

namespace {

// Waits for the others, which are about as quick unless another process holds one of their CPUs; that time is not the
// op's.
void meet(ThreadTeam& team, int thread) {
  constexpr int64_t kLongNs = 50'000;
  const int64_t waited = team.barrier();
  if (thread != 0 || waited < kLongNs) return;
  if (Timeline* timeline = Timeline::current()) timeline->past(Phase::sync, "threads", monotonic_ns() - waited);
}

}  // namespace

// Thread `thread` of `threads` computes every threads-th of the shares.
void Executable::run_shares(int thread, int threads, bool check_numbers, int64_t* stamps) {
  ThreadTeam& team = ThreadTeam::global();
  std::byte* const shared = workspace_ + arena_bytes_;
  std::byte* const scratch = shared + beside_.shared;
  // Thread 0 accounts for the time, phase by phase: one clock reading where the phase changes.
  std::optional<ScopedSpan> span;
  Phase phase = Phase::other;
  int64_t stamp = stamps ? monotonic_ns() : 0;
  for (size_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& call = instructions_[i];
    if (call.barrier_before && threads > 1) {
      meet(team, thread);
      if (stamps) stamp = monotonic_ns();
    }
    if (thread == 0 && call.phase != phase) {
      phase = call.phase;
      if (span)
        span->next(phase, name_of(phase).data());
      else
        span.emplace(phase, name_of(phase).data());
    }
    if (thread == 0) {
      g_running_op.store(call.node < 0 ? "copy" : graph_.nodes[static_cast<size_t>(call.node)].op->name,
                         std::memory_order_relaxed);
      g_running_index.store(static_cast<int32_t>(i), std::memory_order_relaxed);
    }
    // The barrier before a gate makes all threads see the same faults, so they stop together.
    if (call.gate_before && fault_.found()) break;
    const bool alone = call.serial || !call.kernel->parallel();
    if (alone && thread != 0) continue;
    const int shares = alone ? 1 : shares_;
    KernelFrame frame{pointers_.data() + call.first_input,
                      pointers_.data() + call.first_output,
                      scratch,
                      shared,
                      0,
                      shares,
                      0,
                      call.checks_numbers && !check_numbers ? &ignored_ : &fault_,
                      static_cast<int32_t>(i),
                      call.variant};
    for (int stage = 0; stage < call.kernel->stages(); ++stage) {
      if (stage && !alone && threads > 1) meet(team, thread);
      frame.stage = stage;
      for (int share = thread; share < shares; share += threads) {
        frame.thread = share;
        frame.scratch = scratch + beside_.scratch * static_cast<size_t>(share);
        call.kernel->run(frame);
      }
    }
    if (stamps) {
      stamps[2 * i] = stamp;
      stamps[2 * i + 1] = stamp = monotonic_ns();
    }
  }
}

void Executable::raise_fault() {
  const Instruction& call = instructions_[static_cast<size_t>(fault_.call())];
  const KernelFrame frame{pointers_.data() + call.first_input,
                          pointers_.data() + call.first_output,
                          nullptr,
                          nullptr,
                          0,
                          1,
                          0,
                          &fault_,
                          fault_.call()};
  call.kernel->raise(frame, fault_.row());
  throw InternalError("a fault that is explained", __FILE__, __LINE__);
}

std::string Executable::to_string() const {
  std::string text =
      fmt::format("arena {} bytes, {} calls{}\n", arena_bytes_, instructions_.size(), parallel_ ? "" : ", one thread");
  const auto place_name = [&](int32_t at) {
    const Place& place = places_[static_cast<size_t>(at)];
    switch (place.kind) {
      case Place::input:
        return fmt::format("in{}", place.index);
      case Place::output:
        return fmt::format("out{}", place.index);
      case Place::arena:
        return fmt::format("@{}", place.offset);
      case Place::constant:
        return fmt::format("const{}", place.offset);
    }
    return std::string();
  };
  for (const Instruction& call : instructions_) {
    std::vector<std::string> in, out;
    for (int32_t i = 0; i < call.input_count; ++i) in.push_back(place_name(call.first_input + i));
    for (int32_t i = 0; i < call.output_count; ++i) out.push_back(place_name(call.first_output + i));
    text += fmt::format("{}{:8} {} = {}[{}]({}){}\n", call.barrier_before ? "| " : "  ", name_of(call.phase),
                        joined(out), call.node < 0 ? "copy" : graph_.nodes[static_cast<size_t>(call.node)].op->name,
                        call.implementation, joined(in), call.serial ? " serial" : "");
  }
  return text;
}

}  // namespace isochron
