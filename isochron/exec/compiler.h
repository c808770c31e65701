// From a graph to an Executable: order, kernels, memory, barriers. Used by Executable::compile alone.
#pragma once

#include "isochron/exec/executable.h"

namespace isochron {

class Compiler {
 public:
  explicit Compiler(Graph graph);
  std::shared_ptr<Executable> compile();

 private:
  using Place = Executable::Place;
  using Instruction = Executable::Instruction;

  // A buffer holds one value, or several that share memory (a reshape and its input, an update and its target).
  struct Buffer {
    Place place;
    int64_t bytes = 0;
    int32_t first = INT32_MAX, last = -1;  // calls that touch it
    int32_t last_read = -1;                // node that reads it last
    bool returned = false;                 // also a plain output of the graph, which is copied at the end
    bool updates = false;                  // or one that takes the place of an input
  };
  struct Call {
    int32_t node = -1;
    ChosenKernel kernel;
    std::vector<int32_t> inputs, outputs;  // buffers
    Phase phase = Phase::forward;
    bool serial = false;
  };

  int32_t buffer_of(ValueId v) const {
    return value_buffers_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)];
  }
  int32_t new_buffer(Place place, int64_t bytes);
  void hold(int32_t node, int32_t buffer);
  int32_t add_copy(int32_t from, const TensorSpec& spec, Phase phase, int32_t to = -1);
  void add_constant(int32_t node);
  void add_call(int32_t node);
  int32_t dying_input(int32_t node, const Call& call, size_t output) const;
  void bind_updating_outputs(int32_t node, Call& call);
  void place_outputs();
  bool lies_in_an_input(ValueId v) const;
  bool needed_after(int32_t buffer, int32_t node) const;
  bool may_write(const Call& call, size_t output, int32_t target) const;
  void lay_out_arena();
  void place_barriers();
  void emit();

  std::shared_ptr<Executable> out_;
  Graph& graph_;
  std::vector<SmallVector<int32_t, 1>> value_buffers_;
  std::vector<Buffer> buffers_;
  std::vector<Call> calls_;
  std::vector<int32_t> update_target_;                   // by graph output: the input it replaces, or -1
  std::vector<SmallVector<int32_t, 1>> replaced_input_;  // by value: the input it replaces, or -1
  std::vector<SmallVector<uint8_t, 1>> returned_;        // by value: a plain output
  std::vector<int32_t> last_reader_;                     // by node: last node that reads any of its outputs
  std::vector<int32_t> call_of_node_;
  std::vector<uint8_t> barrier_before_;
  size_t constant_bytes_ = 0;
  int32_t gate_ = -1;
  double work_ = 0;
};

}  // namespace isochron
