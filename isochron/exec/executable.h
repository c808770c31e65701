// A compiled graph: a flat list of kernel calls over memory laid out in advance.
//
//   auto plan = Executable::compile(std::move(graph));
//   plan->run(input_pointers, output_pointers);        // all threads of the team, one parallel region
//
// Temporaries share one arena by liveness; outputs that update inputs are written in place; a steady
// run allocates nothing. The work is cut into one share for each thread of the team, whoever computes it: results are
// bit-identical from run to run at one size of the team, also when other processes leave it fewer CPUs. One plan runs
// at a time (the caller holds graph_mutex()).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "isochron/exec/kernel_trial.h"
#include "isochron/exec/team_choice.h"
#include "isochron/graph/graph.h"
#include "isochron/kernels/kernel.h"
#include "isochron/timeline/phase.h"

namespace isochron {

class Executable {
 public:
  // Runs the passes, chooses kernels, lays out memory.
  static std::shared_ptr<Executable> compile(Graph graph);
  ~Executable();

  // inputs[i]: bytes of graph input i. outputs[o]: where output o goes; ignored (may be null) for outputs that
  // update an input, whose bytes are overwritten. A data fault throws the kernel's error before any update was made.
  // Without `check_numbers`, check_finite lets everything pass.
  void run(std::span<void* const> inputs, std::span<void* const> outputs, bool check_numbers = true);

  const Graph& graph() const { return graph_; }  // after passes
  int64_t arena_bytes() const { return arena_bytes_; }
  // With what kernels need beside it on this many threads.
  int64_t working_bytes(int threads) const;
  double compile_seconds() const { return compile_seconds_; }
  double flops() const { return flops_; }
  // Different for every plan of the process.
  uint64_t id() const { return id_; }
  // The kernel calls in order, with their implementation, memory and barriers.
  std::string to_string() const;

  struct CallInfo {
    const GraphNode* node;  // null: a copy the compiler added
    const char* implementation;
    Phase phase;
    bool serial;  // one thread does it
  };
  size_t calls() const { return instructions_.size(); }
  CallInfo call(size_t i) const;

 private:
  friend class Compiler;
  // Where a value lies while the plan runs.
  struct Place {
    enum Kind : uint8_t { input, output, arena, constant } kind = arena;
    int32_t index = 0;   // of the input or output
    int64_t offset = 0;  // in the arena or among the constants
  };
  struct Instruction {
    KernelPtr kernel;
    int32_t node = -1;  // in graph_; -1: a copy the compiler added
    const char* implementation = "";
    Phase phase = Phase::forward;
    int32_t first_input = 0, first_output = 0;  // in pointers_
    int32_t input_count = 0, output_count = 0;
    bool serial = false;          // too small to share
    bool barrier_before = false;  // something it touches was written by another thread's earlier share
    bool gate_before = false;     // the first that changes an input: stop here if the data are at fault
    bool checks_numbers = false;  // check_finite
    int variant = 0;              // of the kernel
  };
  Executable();
  void resolve(std::span<void* const> inputs, std::span<void* const> outputs);
  void prepare_memory(int shares);
  size_t stamps_of(int threads) const { return 2 * instructions_.size() * static_cast<size_t>(threads); }
  void run_shares(int thread, int threads, bool check_numbers, int64_t* stamps);
  // What to try, and what is known already.
  void prepare_trial();
  void try_variants(const PlanTimes& times);
  [[noreturn]] void raise_fault();

  Graph graph_;
  std::vector<Instruction> instructions_;
  std::vector<Place> places_;    // parallel to pointers_
  std::vector<void*> pointers_;  // arguments of the instructions, resolved for the run at hand
  std::vector<std::byte> constants_;
  int64_t arena_bytes_ = 0;
  bool parallel_ = false;
  double compile_seconds_ = 0, flops_ = 0;
  uint64_t id_;

  TeamChoice team_;
  // Working memory for this many shares, after the arena in the shared workspace.
  int shares_ = 0;
  struct Beside {
    size_t scratch = 0;  // of each share
    size_t shared = 0;
  };
  Beside beside(int shares) const;
  Beside beside_;
  std::byte* workspace_ = nullptr;
  DataFault fault_, ignored_;
  std::unique_ptr<KernelTrial> trial_;  // until its end
  std::vector<int64_t> stamps_;         // while somebody observes, or variants are tried
};

}  // namespace isochron
