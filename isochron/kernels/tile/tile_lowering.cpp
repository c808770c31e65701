// Building a TileKernel: which values live where.
#include <algorithm>
#include <limits>

#include "isochron/kernels/tile/tile_kernel.h"

namespace isochron::kernels {

class TileKernel::Lowering {
 public:
  Lowering(TileKernel& kernel, const TileProgram& program, bool keep_last)
      : kernel_(kernel), program_(program), ssa_(to_ssa(program)), keep_last_(keep_last) {
    simplify(ssa_, program.compute);
    values_.resize(ssa_.value_count());
  }

  void lower() {
    find_invariants();
    find_last_uses();
    place_in_memory();
    kernel_.first_register_ = next_slot_;
    load_inputs();
    allocate_nodes(true);
    allocate_nodes(false);
    store_outputs();
    kernel_.registers_ = next_slot_ - kernel_.first_register_;
    ISO_CHECK(next_slot_ <= kMaxSlots);
  }

 private:
  static constexpr int kForever = std::numeric_limits<int>::max();
  struct Value {
    bool invariant = false;  // the same in every tile: computed once per call
    int last_use = -1;       // node index
    int slot = -1;
    int direct_output = -1;
  };

  int stored_outputs() const { return static_cast<int>(program_.outputs.size()) - (keep_last_ ? 1 : 0); }
  int node_count() const { return static_cast<int>(ssa_.nodes.size()); }
  Value& value_of_node(int node) { return values_[ssa_.inputs + node]; }
  bool in_place(int input) const {
    return program_.inputs[input].dtype == program_.compute && kernel_.geometry_.consecutive(input);
  }

  void find_invariants() {
    for (int input = 0; input < ssa_.inputs; ++input)
      values_[input].invariant = !in_place(input) && kernel_.geometry_.same_in_every_tile(input);
    for (int n = 0; n < node_count(); ++n) {
      const TileSsa::Node& node = ssa_.nodes[n];
      value_of_node(n).invariant = std::all_of(node.operands.begin(), node.operands.begin() + operand_count(node.op),
                                               [&](int operand) { return values_[operand].invariant; });
    }
  }

  void find_last_uses() {
    for (int n = 0; n < node_count(); ++n)
      for (int k = 0; k < operand_count(ssa_.nodes[n].op); ++k) values_[ssa_.nodes[n].operands[k]].last_use = n;
    for (int value : ssa_.outputs)
      if (value < ssa_.inputs) values_[value].last_use = kForever;
  }

  // A value may be written straight to its output if no input that is read in place is still needed afterwards, for
  // that input may be the same buffer.
  bool may_write_early(int value) const {
    const int defined_at = value - ssa_.inputs;
    if (defined_at < 0) return ssa_.inputs == 1 && !in_place(value);
    for (int input = 0; input < ssa_.inputs; ++input)
      if (in_place(input) && values_[input].last_use > defined_at) return false;
    return true;
  }

  void place_in_memory() {
    for (int input = 0; input < ssa_.inputs; ++input) {
      if (!in_place(input)) continue;
      values_[input].slot = next_slot_++;
      kernel_.direct_inputs_.push_back({input, values_[input].slot});
    }
    for (int output = 0; output < stored_outputs(); ++output) {
      Value& value = values_[ssa_.outputs[output]];
      if (program_.outputs[output].dtype == program_.compute && !value.invariant && value.slot < 0 &&
          may_write_early(ssa_.outputs[output])) {
        value.slot = next_slot_++;
        value.direct_output = output;
        kernel_.direct_outputs_.push_back({output, value.slot});
      }
    }
    for (int value : ssa_.outputs)
      if (values_[value].direct_output < 0) values_[value].last_use = kForever;
  }

  void load_inputs() {
    for (int input = 0; input < ssa_.inputs; ++input) {
      Value& value = values_[input];
      if (in_place(input) || value.last_use < 0) continue;
      if (value.slot < 0) value.slot = take();
      auto& loads = value.invariant ? kernel_.loads_once_ : kernel_.loads_;
      const DType dtype = program_.inputs[input].dtype;
      loads.push_back({convert_function(dtype, program_.compute), size_of(dtype), input, value.slot,
                       kernel_.geometry_.runs(input)});
    }
  }

  void allocate_nodes(bool invariant) {
    for (int n = 0; n < node_count(); ++n) {
      Value& value = value_of_node(n);
      if (value.invariant != invariant) continue;
      const TileSsa::Node& node = ssa_.nodes[n];
      std::array<uint16_t, 3> operands{};
      for (int k = 0; k < operand_count(node.op); ++k)
        operands[k] = static_cast<uint16_t>(values_[node.operands[k]].slot);
      for (int k = 0; k < operand_count(node.op); ++k) release_after(node.operands[k], n);
      if (value.slot < 0) value.slot = take();
      auto& steps = invariant ? kernel_.steps_once_ : kernel_.steps_;
      steps.push_back({tile_function(node.op, program_.compute),
                       static_cast<uint16_t>(value.slot),
                       operands[0],
                       operands[1],
                       operands[2],
                       {node.imm0, node.imm1}});
    }
  }

  void store_outputs() {
    for (int output = 0; output < stored_outputs(); ++output) {
      const Value& value = values_[ssa_.outputs[output]];
      if (value.direct_output == output) continue;
      const DType dtype = program_.outputs[output].dtype;
      kernel_.stores_.push_back({convert_function(program_.compute, dtype), size_of(dtype), output, value.slot});
    }
    if (keep_last_) kernel_.kept_slot_ = values_[ssa_.outputs.back()].slot;
  }

  int take() {
    if (free_.empty()) return next_slot_++;
    const int slot = free_.back();
    free_.pop_back();
    return slot;
  }
  // Invariant values keep their register for the whole call.
  void release_after(int value, int node) {
    Value& v = values_[value];
    if (v.invariant || v.last_use != node || v.direct_output >= 0 || v.slot < kernel_.first_register_) return;
    if (std::find(free_.begin(), free_.end(), v.slot) == free_.end()) free_.push_back(v.slot);
  }

  TileKernel& kernel_;
  const TileProgram& program_;
  TileSsa ssa_;
  bool keep_last_;
  std::vector<Value> values_;
  std::vector<int> free_;
  int next_slot_ = 0;
};

TileKernel::TileKernel(const TileProgram& program, uint32_t apart, bool keep_last)
    : geometry_(program, apart), element_size_(size_of(program.compute)) {
  check(program);
  Lowering(*this, program, keep_last).lower();
}

TileKernel::TileKernel(const TileProgram& program) : TileKernel(program, 0, false) {}

TileKernel TileKernel::keeping_last_output(const TileProgram& program, uint32_t apart) {
  return TileKernel(program, apart, true);
}

}  // namespace isochron::kernels
