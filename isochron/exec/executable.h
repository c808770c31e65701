// A compiled graph: a flat list of kernel calls over memory laid out in advance.
//
//   auto plan = Executable::compile(std::move(graph));
//   plan->run(input_pointers, output_pointers);        // all threads of the team, one parallel region
//
// Temporaries share one arena by liveness; outputs that update inputs are written in place; a steady
// run allocates nothing and is bit-identical from run to run at the same thread count. One plan runs at
// a time (the caller holds graph_mutex()).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

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
  void run(std::span<void* const> inputs, std::span<void* const> outputs);

  const Graph& graph() const { return graph_; }  // after passes
  int64_t arena_bytes() const { return arena_bytes_; }
  double compile_seconds() const { return compile_seconds_; }
  double flops() const { return flops_; }
  // The kernel calls in order, with their implementation, memory and barriers.
  std::string to_string() const;

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
  };
  Executable() = default;
  void resolve(std::span<void* const> inputs, std::span<void* const> outputs);
  void prepare_memory(int threads);
  void run_share(int thread, int threads);
  [[noreturn]] void raise_fault();

  Graph graph_;
  std::vector<Instruction> instructions_;
  std::vector<Place> places_;    // parallel to pointers_
  std::vector<void*> pointers_;  // arguments of the instructions, resolved for the run at hand
  std::vector<std::byte> constants_;
  int64_t arena_bytes_ = 0;
  bool parallel_ = false;
  double compile_seconds_ = 0, flops_ = 0;

  // Working memory for `prepared_threads_` threads, after the arena in the shared workspace.
  int prepared_threads_ = 0;
  size_t scratch_bytes_ = 0, shared_bytes_ = 0;
  std::byte* workspace_ = nullptr;
  DataFault fault_;
};

}  // namespace isochron
