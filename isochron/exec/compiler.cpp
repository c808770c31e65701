#include "isochron/exec/compiler.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "isochron/base/clock.h"
#include "isochron/base/try_print.h"
#include "isochron/exec/free_gaps.h"
#include "isochron/exec/plan_flops.h"
#include "isochron/exec/schedule.h"
#include "isochron/exec/touched_memory.h"
#include "isochron/passes/passes.h"
#include "isochron/timeline/timeline.h"

namespace isochron {
namespace {

// Work below which sharing a call or a plan costs more than it brings, in flops and bytes (about 3 and 15 us).
constexpr double kSerialCall = 12'000;
constexpr double kSerialPlan = 120'000;

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

class CopyKernel final : public Kernel {
 public:
  explicit CopyKernel(int64_t bytes) : bytes_(bytes) {}
  void run(const KernelFrame& frame) const override {
    const int64_t begin = aligned(bytes_ * frame.thread / frame.threads),
                  end = std::min(bytes_, aligned(bytes_ * (frame.thread + 1) / frame.threads));
    if (begin < end)
      std::memmove(frame.out<std::byte>() + begin, frame.in<std::byte>(0) + begin, static_cast<size_t>(end - begin));
  }

 private:
  int64_t bytes_;
};

// Plans are compiled under graph_mutex(); this may be read at any time.
std::atomic<double> most_flops{0};

}  // namespace

double largest_plan_flops() { return most_flops; }

std::shared_ptr<Executable> Executable::compile(Graph graph) {
  ScopedSpan span(Phase::compile, "compile");
  const int64_t start = monotonic_ns();
  run_passes(graph);
  std::shared_ptr<Executable> plan = Compiler(std::move(graph)).compile();
  plan->compile_seconds_ = seconds_between(start, monotonic_ns());
  most_flops = std::max(most_flops.load(), plan->flops_);
  static const bool print = std::getenv("ISOCHRON_PRINT_PLANS") != nullptr;
  if (print) try_print(stderr, "{}{}\n", isochron::to_string(plan->graph()), plan->to_string());
  return plan;
}

Compiler::Compiler(Graph graph) : out_(new Executable), graph_(out_->graph_) { graph_ = std::move(graph); }

std::shared_ptr<Executable> Compiler::compile() {
  order_for_running(graph_);
  update_target_.assign(graph_.outputs.size(), -1);
  for (const GraphUpdate& update : graph_.updates) update_target_[static_cast<size_t>(update.output)] = update.input;
  replaced_input_.resize(graph_.nodes.size());
  returned_.resize(graph_.nodes.size());
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    replaced_input_[i].resize(graph_.nodes[i].outputs.size(), -1);
    returned_[i].resize(graph_.nodes[i].outputs.size(), 0);
  }
  for (size_t g = 0; g < graph_.outputs.size(); ++g) {
    const ValueId v = graph_.outputs[g];
    const auto node = static_cast<size_t>(v.node), output = static_cast<size_t>(v.output);
    if (update_target_[g] >= 0) replaced_input_[node][output] = update_target_[g];
    // A variable that becomes what another one was reads it at the very end, like what is returned.
    if (update_target_[g] < 0 || lies_in_an_input(v)) returned_[node][output] = 1;
  }
  call_of_node_.assign(graph_.nodes.size(), -1);
  last_reader_.assign(graph_.nodes.size(), -1);
  for (size_t i = 0; i < graph_.nodes.size(); ++i)
    for (ValueId in : graph_.nodes[i].inputs) last_reader_[static_cast<size_t>(in.node)] = static_cast<int32_t>(i);

  value_buffers_.resize(graph_.nodes.size());
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    const auto node = static_cast<size_t>(graph_.inputs[i]);
    hold(graph_.inputs[i],
         new_buffer({Place::input, static_cast<int32_t>(i), 0}, graph_.nodes[node].outputs[0].bytes()));
  }
  static const Op &constant = op_named("constant"), &reshape = op_named("reshape");
  for (int32_t i = 0; i < static_cast<int32_t>(graph_.nodes.size()); ++i) {
    const GraphNode& node = graph_.nodes[static_cast<size_t>(i)];
    if (!node.op) continue;
    if (node.op == &constant) {
      add_constant(i);
    } else if (node.op == &reshape) {
      hold(i, buffer_of(node.inputs[0]));
    } else {
      add_call(i);
    }
  }
  place_outputs();
  lay_out_arena();
  place_barriers();
  emit();
  return out_;
}

int32_t Compiler::new_buffer(Place place, int64_t bytes) {
  buffers_.push_back({place, bytes});
  return static_cast<int32_t>(buffers_.size() - 1);
}

// The next output of the node lies in this buffer.
void Compiler::hold(int32_t node, int32_t buffer) {
  const auto n = static_cast<size_t>(node);
  Buffer& b = buffers_[static_cast<size_t>(buffer)];
  b.last_read = std::max(b.last_read, last_reader_[n]);
  b.returned |= returned_[n][value_buffers_[n].size()] != 0;
  b.updates |= replaced_input_[n][value_buffers_[n].size()] >= 0;
  value_buffers_[n].push_back(buffer);
}

void Compiler::add_constant(int32_t at) {
  const GraphNode& node = graph_.nodes[static_cast<size_t>(at)];
  const auto offset = static_cast<size_t>(aligned(static_cast<int64_t>(constant_bytes_)));
  constant_bytes_ = offset + 8;
  out_->constants_.resize(constant_bytes_);
  visit_dtype(node.outputs[0].dtype, [&]<class T>(Type<T>) {
    const double value = node.attributes.get<double>("value");
    T stored{};
    if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
      stored = T(static_cast<float>(value));
    else
      stored = static_cast<T>(value);
    std::memcpy(out_->constants_.data() + offset, &stored, sizeof stored);
  });
  hold(at, new_buffer({Place::constant, 0, static_cast<int64_t>(offset)}, 8));
}

int32_t Compiler::add_copy(int32_t from, const TensorSpec& spec, Phase phase, int32_t to) {
  if (to < 0) to = new_buffer({}, spec.bytes());
  Call call;
  call.kernel = {std::make_unique<CopyKernel>(spec.bytes()), "memcpy", {}};
  call.inputs = {from};
  call.outputs = {to};
  call.phase = phase;
  call.serial = static_cast<double>(spec.bytes()) < kSerialCall * 2;
  calls_.push_back(std::move(call));
  return to;
}

void Compiler::add_call(int32_t at) {
  const GraphNode& node = graph_.nodes[static_cast<size_t>(at)];
  Call call;
  call.node = at;
  call.phase = node.phase;
  const KernelRequest request{node, graph_.input_specs(node)};
  call.kernel = choose_kernel(request);
  const Cost cost = cost_of(*node.op, request.inputs, node.outputs, node.attributes);
  const double work = cost.flops + cost.bytes;
  call.serial = work < kSerialCall;
  work_ += work;
  out_->flops_ += cost.flops;
  for (ValueId in : node.inputs) call.inputs.push_back(buffer_of(in));
  if (node.op->updates.empty()) {
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      const int32_t over = dying_input(at, call, o);
      call.outputs.push_back(over >= 0 ? over : new_buffer({}, node.outputs[o].bytes()));
    }
  } else {
    bind_updating_outputs(at, call);
  }
  for (int32_t buffer : call.outputs) hold(at, buffer);
  call_of_node_[static_cast<size_t>(at)] = static_cast<int32_t>(calls_.size());
  calls_.push_back(std::move(call));
}

// A temporary that this call reads last and may write its output over, or -1. What updates an input may lie in that
// input, so it shares with nobody.
int32_t Compiler::dying_input(int32_t at, const Call& call, size_t output) const {
  const GraphNode& node = graph_.nodes[static_cast<size_t>(at)];
  if (replaced_input_[static_cast<size_t>(at)][output] >= 0) return -1;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const int32_t buffer = call.inputs[i];
    const Buffer& b = buffers_[static_cast<size_t>(buffer)];
    if (b.place.kind != Place::arena || b.updates || b.bytes != node.outputs[output].bytes()) continue;
    if (needed_after(buffer, at)) continue;
    if (std::find(call.outputs.begin(), call.outputs.end(), buffer) != call.outputs.end()) continue;
    bool fits = true;
    for (size_t j = 0; j < call.inputs.size(); ++j)
      fits &= call.inputs[j] != buffer || call.kernel.kernel->in_place(j, output);
    if (fits) return buffer;
  }
  return -1;
}

// Output i of an updating op lies where its input updates[i] lies, if nobody needs the old value; else in a copy.
void Compiler::bind_updating_outputs(int32_t at, Call& call) {
  const GraphNode& node = graph_.nodes[static_cast<size_t>(at)];
  const size_t outputs = node.outputs.size();
  std::vector<int32_t> read = call.inputs;
  std::sort(read.begin(), read.end());
  for (size_t o = 0; o < outputs; ++o) {
    const auto input = static_cast<size_t>(updated_input(node, o));
    const int32_t buffer = call.inputs[input];
    // A parameter may also be another one's gradient.
    const auto [first, last] = std::equal_range(read.begin(), read.end(), buffer);
    const Place& place = buffers_[static_cast<size_t>(buffer)].place;
    const bool replaces = place.kind == Place::input && replaced_input_[static_cast<size_t>(at)][o] == place.index;
    if (replaces && last - first == 1 && !needed_after(buffer, at)) {
      call.outputs.push_back(buffer);
    } else {
      const int32_t copy = add_copy(buffer, node.outputs[o], node.phase);
      call.inputs[input] = copy;
      call.outputs.push_back(copy);
    }
  }
}

bool Compiler::lies_in_an_input(ValueId v) const {
  static const Op& reshape = op_named("reshape");
  while (graph_[v].op == &reshape) v = graph_[v].inputs[0];
  return !graph_[v].op;
}

// Whether anything after `at` looks at what lies in the buffer.
bool Compiler::needed_after(int32_t buffer, int32_t at) const {
  const Buffer& b = buffers_[static_cast<size_t>(buffer)];
  return b.last_read > at || b.returned;
}

// Whether the call may write its output straight over `target`, an input of the graph.
bool Compiler::may_write(const Call& call, size_t output, int32_t target) const {
  if (needed_after(target, call.node)) return false;
  for (size_t i = 0; i < call.inputs.size(); ++i)
    if (call.inputs[i] == target && !call.kernel.kernel->in_place(i, output)) return false;
  return true;
}

// Gives every output its memory: written directly where possible, by a copy at the end otherwise.
void Compiler::place_outputs() {
  struct Last {
    int32_t from, output;
  };
  std::vector<Last> copies;
  for (size_t g = 0; g < graph_.outputs.size(); ++g) {
    const int32_t buffer = buffer_of(graph_.outputs[g]);
    Place& place = buffers_[static_cast<size_t>(buffer)].place;
    const int32_t target = update_target_[g];
    if (target >= 0) {
      if (place.kind == Place::input && place.index == target) continue;  // updated in place already
      const ValueId v = graph_.outputs[g];
      const int32_t call = call_of_node_[static_cast<size_t>(v.node)];
      const int32_t over = value_buffers_[static_cast<size_t>(graph_.inputs[static_cast<size_t>(target)])][0];
      if (place.kind == Place::arena && call >= 0 &&
          may_write(calls_[static_cast<size_t>(call)], static_cast<size_t>(v.output), over)) {
        place = {Place::input, target, 0};
        continue;
      }
      copies.push_back({buffer, static_cast<int32_t>(g)});
      continue;
    }
    if (place.kind == Place::arena) {
      place = {Place::output, static_cast<int32_t>(g), 0};
    } else {
      copies.push_back({buffer, static_cast<int32_t>(g)});
    }
  }
  // What is read from an input must be saved before any input is overwritten by these copies.
  for (Last& last : copies) {
    const TensorSpec& spec = graph_.spec(graph_.outputs[static_cast<size_t>(last.output)]);
    if (update_target_[static_cast<size_t>(last.output)] >= 0 &&
        buffers_[static_cast<size_t>(last.from)].place.kind == Place::input)
      last.from = add_copy(last.from, spec, Phase::update);
  }
  for (const bool updating : {false, true})
    for (const Last& last : copies) {
      const int32_t target = update_target_[static_cast<size_t>(last.output)];
      if ((target >= 0) != updating) continue;
      const TensorSpec& spec = graph_.spec(graph_.outputs[static_cast<size_t>(last.output)]);
      const Place place = target >= 0 ? Place{Place::input, target, 0} : Place{Place::output, last.output, 0};
      add_copy(last.from, spec, Phase::update, new_buffer(place, spec.bytes()));
    }
}

// Greedy by first use: each buffer takes the lowest gap that is free while it lives.
void Compiler::lay_out_arena() {
  for (size_t c = 0; c < calls_.size(); ++c)
    for (const auto* list : {&calls_[c].inputs, &calls_[c].outputs})
      for (int32_t buffer : *list) {
        Buffer& b = buffers_[static_cast<size_t>(buffer)];
        b.first = std::min(b.first, static_cast<int32_t>(c));
        b.last = std::max(b.last, static_cast<int32_t>(c));
      }
  std::vector<Buffer*> starting, ending;
  for (Buffer& b : buffers_)
    if (b.place.kind == Place::arena && b.last >= 0) starting.push_back(&b);
  ending = starting;
  std::stable_sort(starting.begin(), starting.end(),
                   [](const Buffer* a, const Buffer* b) { return a->first < b->first; });
  std::stable_sort(ending.begin(), ending.end(), [](const Buffer* a, const Buffer* b) { return a->last < b->last; });
  FreeGaps gaps;
  auto dead = ending.begin();
  for (Buffer* b : starting) {
    for (; (*dead)->last < b->first; ++dead) gaps.give_back((*dead)->place.offset, aligned((*dead)->bytes));
    const int64_t bytes = aligned(b->bytes);
    b->place.offset = gaps.take(bytes);
    out_->arena_bytes_ = std::max(out_->arena_bytes_, b->place.offset + bytes);
  }
}

// A barrier stands where a call touches memory that a call since the last barrier wrote, or writes what one read.
void Compiler::place_barriers() {
  // By all threads and, apart, by thread 0 alone, which is in order with itself.
  struct Touched {
    TouchedMemory read, written;
  } by_all, by_one;
  const auto range_of = [](const Buffer& b) -> TouchedMemory::Range {
    return {b.place.offset, b.place.offset + std::max<int64_t>(b.bytes, 1)};
  };
  const auto touch = [&](TouchedMemory& memory, int32_t buffer) {
    const Buffer& b = buffers_[static_cast<size_t>(buffer)];
    b.place.kind == Place::arena ? memory.add(range_of(b)) : memory.add(b.place.kind, b.place.index);
  };
  const auto touched = [&](const TouchedMemory& memory, int32_t buffer) {
    const Buffer& b = buffers_[static_cast<size_t>(buffer)];
    return b.place.kind == Place::arena ? memory.overlaps(range_of(b)) : memory.contains(b.place.kind, b.place.index);
  };
  const auto conflicts = [&](const Call& call, const Touched& with) {
    return std::any_of(call.inputs.begin(), call.inputs.end(), [&](int32_t in) { return touched(with.written, in); }) ||
           std::any_of(call.outputs.begin(), call.outputs.end(),
                       [&](int32_t out) { return touched(with.written, out) || touched(with.read, out); });
  };
  barrier_before_.assign(calls_.size(), 0);
  enum { unused, used_by_one, used_by_all } shared = unused;
  for (size_t c = 0; c < calls_.size(); ++c) {
    const Call& call = calls_[c];
    const bool alone = call.serial || !call.kernel.kernel->parallel();
    const bool uses_shared = call.kernel.kernel->shared_bytes(2) > 0 || call.kernel.kernel->stages() > 1;
    bool barrier = uses_shared && (shared == used_by_all || (shared == used_by_one && !alone));
    if (gate_ < 0 && std::any_of(call.outputs.begin(), call.outputs.end(), [&](int32_t out) {
          return buffers_[static_cast<size_t>(out)].place.kind == Place::input;
        })) {
      gate_ = static_cast<int32_t>(c);
      barrier = true;
    }
    barrier = barrier || conflicts(call, by_all) || (!alone && conflicts(call, by_one));
    if (barrier && c > 0) {
      barrier_before_[c] = 1;
      for (TouchedMemory* memory : {&by_all.read, &by_all.written, &by_one.read, &by_one.written}) memory->clear();
      shared = unused;
    }
    if (uses_shared) shared = alone ? used_by_one : used_by_all;
    for (int32_t in : call.inputs) touch((alone ? by_one : by_all).read, in);
    for (int32_t out : call.outputs) touch((alone ? by_one : by_all).written, out);
  }
}

void Compiler::emit() {
  static const Op& check_finite = op_named("check_finite");
  for (size_t c = 0; c < calls_.size(); ++c) {
    Call& call = calls_[c];
    Instruction instruction;
    instruction.kernel = std::move(call.kernel.kernel);
    instruction.implementation = call.kernel.name;
    instruction.node = call.node;
    instruction.phase = call.phase;
    instruction.serial = call.serial;
    instruction.barrier_before = barrier_before_[c];
    instruction.gate_before = static_cast<int32_t>(c) == gate_;
    instruction.checks_numbers = call.node >= 0 && graph_.nodes[static_cast<size_t>(call.node)].op == &check_finite;
    instruction.first_input = static_cast<int32_t>(out_->places_.size());
    instruction.input_count = static_cast<int32_t>(call.inputs.size());
    for (int32_t in : call.inputs) out_->places_.push_back(buffers_[static_cast<size_t>(in)].place);
    instruction.first_output = static_cast<int32_t>(out_->places_.size());
    instruction.output_count = static_cast<int32_t>(call.outputs.size());
    for (int32_t o : call.outputs) out_->places_.push_back(buffers_[static_cast<size_t>(o)].place);
    out_->instructions_.push_back(std::move(instruction));
  }
  out_->pointers_.resize(out_->places_.size());
  out_->parallel_ = work_ >= kSerialPlan;
}

}  // namespace isochron
