// Elementwise nodes of one iteration space become one node that reads and writes each element once.
//
// Every node gets a stage: a step to a node it can't join raises the stage by one. Nodes of one class (shape and type
// they are computed in) and stage that feed each other form a group. Every edge between groups thus raises the stage,
// so no cycle can arise. A node all of whose users are in one later group is then moved down to them, so that a mask
// made in the forward pass for the backward pass is never stored.
#include <algorithm>
#include <map>
#include <ranges>

#include "isochron/ops/compute_type.h"
#include "isochron/passes/fused_ops.h"
#include "isochron/passes/known_ops.h"
#include "isochron/passes/rewriter.h"
#include "isochron/passes/rewrites.h"

namespace isochron {
namespace {

// Values of one tile program: inputs, results and roundings of 16-bit floats.
constexpr int kMostRegisters = 180;

class ElementwiseFusion {
 public:
  explicit ElementwiseFusion(Graph& graph) : graph_(graph), count_(static_cast<int32_t>(graph.nodes.size())) {}

  void run() {
    classify();
    find_users();
    assign_stages();
    sink();
    join();
    emit();
  }

 private:
  static constexpr int kNone = -1;
  struct State {
    int compute = kNone;    // DType; kNone: stays alone
    bool any_type = false;  // bool in, bool out: computed in whatever type its neighbours are
    bool free = false;      // an input of the graph or a constant: known from the start
    int32_t stage = 0;
    int32_t group = kNone;  // union-find
  };
  State& state(int32_t node) { return states_[static_cast<size_t>(node)]; }
  const GraphNode& node(int32_t at) const { return graph_.nodes[static_cast<size_t>(at)]; }
  bool is_constant(ValueId v) const { return graph_[v].op == known_ops().constant; }

  void classify() {
    states_.resize(static_cast<size_t>(count_));
    for (int32_t i = 0; i < count_; ++i) {
      const GraphNode& n = node(i);
      State& s = state(i);
      s.free = !n.op || n.op == known_ops().constant;
      if (s.free || !n.op->elementwise || n.body || n.outputs.size() != 1 || n.inputs.empty()) continue;
      if (n.outputs[0].shape.elements() == 0) continue;
      const DType out = n.outputs[0].dtype;
      // A value in a register is neither truncated nor wrapped nor made 0 or 1, as one that goes through memory is.
      if (out == DType::uint8) continue;
      std::vector<TensorSpec> inputs = graph_.input_specs(n);
      if (n.op == known_ops().cast) {
        if (!stays_in_register(inputs[0].dtype, out)) continue;
        inputs[0].dtype = out;
      }
      const std::optional<DType> compute = compute_type(*n.op, inputs, n.outputs);
      if (!compute) continue;
      s.compute = static_cast<int>(*compute);
      s.any_type = out == DType::boolean && std::all_of(inputs.begin(), inputs.end(), [](const TensorSpec& spec) {
                     return spec.dtype == DType::boolean;
                   });
    }
    // A bool of bools is computed in the type of what made them.
    for (int32_t i = 0; i < count_; ++i)
      if (state(i).any_type)
        for (ValueId in : node(i).inputs)
          if (state(in.node).compute != kNone && graph_.spec(in).shape == node(i).outputs[0].shape)
            state(i).compute = state(in.node).compute;
  }
  static bool stays_in_register(DType from, DType to) {
    const auto single = [](DType d) { return d == DType::float32 || d == DType::bfloat16 || d == DType::float16; };
    if (from == DType::boolean || from == DType::uint8) return to != DType::boolean;
    return single(from) && single(to);
  }

  void find_users() {
    users_.resize(static_cast<size_t>(count_));
    returned_.resize(static_cast<size_t>(count_), false);
    for (int32_t i = 0; i < count_; ++i)
      for (ValueId in : node(i).inputs) users_[static_cast<size_t>(in.node)].push_back(i);
    for (ValueId out : graph_.outputs) returned_[static_cast<size_t>(out.node)] = true;
    updates_.resize(static_cast<size_t>(count_), false);
    for (const GraphUpdate& update : graph_.updates)
      updates_[static_cast<size_t>(graph_.outputs[static_cast<size_t>(update.output)].node)] = true;
  }

  bool same_class(int32_t a, int32_t b) {
    return state(a).compute != kNone && state(a).compute == state(b).compute &&
           node(a).outputs[0].shape == node(b).outputs[0].shape;
  }

  void assign_stages() {
    for (int32_t i = 0; i < count_; ++i)
      for (ValueId in : node(i).inputs) {
        if (state(in.node).free) continue;
        // What overwrites a variable runs last, so nothing that others wait for may be in its group.
        const bool joins = same_class(in.node, i) && !updates_[static_cast<size_t>(i)];
        const int32_t least = state(in.node).stage + (joins ? 0 : 1);
        state(i).stage = std::max(state(i).stage, least);
      }
  }

  // Moves nodes down to their users where that keeps no more values waiting than before.
  void sink() {
    for (int32_t i = count_ - 1; i >= 0; --i) {
      const auto& users = users_[static_cast<size_t>(i)];
      if (state(i).compute == kNone || returned_[static_cast<size_t>(i)] || users.empty()) continue;
      const int32_t stage = state(users[0]).stage;
      if (stage <= state(i).stage) continue;
      if (!std::all_of(users.begin(), users.end(),
                       [&](int32_t user) { return same_class(i, user) && state(user).stage == stage; }))
        continue;
      int waiting = 0;
      for (ValueId in : node(i).inputs)
        if (!state(in.node).free && !(same_class(in.node, i) && state(in.node).stage == state(i).stage) &&
            graph_.spec(in).shape == node(i).outputs[0].shape)
          ++waiting;
      if (waiting <= 1) state(i).stage = stage;
    }
  }

  int32_t root(int32_t at) {
    while (state(at).group != at) at = state(at).group = state(state(at).group).group;
    return at;
  }

  void join() {
    for (int32_t i = 0; i < count_; ++i) {
      if (state(i).compute == kNone) continue;
      state(i).group = i;
      for (ValueId in : node(i).inputs)
        if (state(in.node).group != kNone && state(in.node).stage == state(i).stage && same_class(in.node, i))
          state(root(in.node)).group = i;
    }
    for (int32_t i = 0; i < count_; ++i)
      if (state(i).group != kNone) groups_[root(i)].push_back(i);
  }

  // Members stand in order, so a group cut into runs has edges from earlier to later runs only.
  void emit() {
    Rewriter rewriter(graph_);
    for (const auto& [last, members] : groups_) {
      size_t begin = 0;
      while (begin < members.size()) {
        int registers = 0;
        size_t end = begin;
        while (end < members.size()) {
          const GraphNode& n = node(members[end]);
          registers += 2 + static_cast<int>(n.inputs.size());
          if (end > begin && registers > kMostRegisters) break;
          ++end;
        }
        if (end - begin > 1 || gains_alone(members[begin])) emit_run(rewriter, {&members[begin], end - begin});
        begin = end;
      }
    }
    rewriter.finish();
  }

  // A constant in a body is an immediate; outside it is one more operand to load. And a reduction can only join a body.
  bool gains_alone(int32_t at) const {
    if (node(at).op == known_ops().broadcast_to) return false;
    const auto& inputs = node(at).inputs;
    const auto& users = users_[static_cast<size_t>(at)];
    return std::any_of(inputs.begin(), inputs.end(), [&](ValueId in) { return is_constant(in); }) ||
           std::any_of(users.begin(), users.end(), [&](int32_t user) { return is_fusible_reduction(node(user)); });
  }

  void emit_run(Rewriter& rewriter, std::span<const int32_t> members) {
    auto body = std::make_shared<Graph>();
    GraphNode fused;
    fused.op = &fused_op();
    fused.phase = node(members.back()).phase;
    fused.where = node(members.back()).where;
    std::map<std::pair<int32_t, int32_t>, ValueId> inside;
    // Inputs first: they are the first registers.
    const auto is_member = [&](int32_t at) { return std::binary_search(members.begin(), members.end(), at); };
    for (int32_t member : members)
      for (ValueId in : node(member).inputs) {
        if (is_member(in.node) || is_constant(in) || inside.contains({in.node, in.output})) continue;
        inside[{in.node, in.output}] = body->add_input(graph_.spec(in));
        fused.inputs.push_back(in);
      }
    int64_t steps = 0;
    for (int32_t member : members) {
      GraphNode copy = node(member);
      for (ValueId& in : copy.inputs) {
        auto found = inside.find({in.node, in.output});
        if (found == inside.end()) {
          body->nodes.push_back(graph_[in]);  // a constant
          found = inside.emplace(std::pair(in.node, in.output), last_of(*body)).first;
        }
        in = found->second;
      }
      body->nodes.push_back(std::move(copy));
      ++steps;
      inside[{member, 0}] = last_of(*body);
    }
    // The last member's result first: its name stays as it is.
    std::vector<int32_t> results;
    for (int32_t member : std::views::reverse(members)) {
      const auto& users = users_[static_cast<size_t>(member)];
      if (!returned_[static_cast<size_t>(member)] && std::all_of(users.begin(), users.end(), is_member)) continue;
      body->outputs.push_back(inside[{member, 0}]);
      fused.outputs.push_back(node(member).outputs[0]);
      results.push_back(member);
    }
    fused.attributes = {{"compute", static_cast<int64_t>(state(members.front()).compute)}, {"steps", steps}};
    fused.body = std::move(body);
    // In the last member's place, where all inputs are known. The other results get their new name.
    const int32_t at = members.back();
    graph_.nodes[static_cast<size_t>(at)] = std::move(fused);
    rewriter.edited = true;
    ISO_CHECK(!results.empty() && results.front() == at);
    for (size_t i = 1; i < results.size(); ++i) rewriter.replace({results[i], 0}, {at, static_cast<int32_t>(i)});
  }

  static ValueId last_of(const Graph& body) { return {static_cast<int32_t>(body.nodes.size() - 1), 0}; }

  Graph& graph_;
  int32_t count_;
  std::vector<State> states_;
  std::vector<SmallVector<int32_t, 2>> users_;
  std::vector<bool> returned_, updates_;
  std::map<int32_t, std::vector<int32_t>> groups_;
};

}  // namespace

void fuse_elementwise(Graph& graph) { ElementwiseFusion(graph).run(); }

}  // namespace isochron
