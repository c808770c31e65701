#include "isochron/graph/recompute.h"

#include <unordered_map>

#include "isochron/graph/gradient.h"
#include "isochron/ops/op.h"

namespace isochron {
namespace {

Specs same_as_first(const RuleContext& c) { return {c[0]}; }

// A copy of x that can't be made before the other inputs are known. Marked random so that no pass takes two for one.
const Op& kRecomputeInput = register_op({.name = "recompute_input",
                                         .doc = "x, not before other values are known: where recomputing starts.",
                                         .arity = -1,
                                         .rule = same_as_first,
                                         .gradient = [](const GradientContext& g) -> Gradients {
                                           Gradients out(g.inputs());
                                           out[0] = g.grad();
                                           return out;
                                         },
                                         .random = true});

// The nodes between the inputs and the result once more, on copies of the inputs.
class Again {
 public:
  Again(const std::vector<Tensor>& inputs, const std::vector<Tensor>& copies) {
    for (size_t i = 0; i < inputs.size(); ++i) replaced_[key(inputs[i].value())] = copies[i];
  }

  // Depth first without recursion: chains of any length.
  Tensor of(const Value& result) {
    std::vector<std::pair<Value, size_t>> stack{{result, 0}};
    while (!stack.empty()) {
      auto& [value, next] = stack.back();
      const Node& node = *value.node;
      if (replaced_.contains(key(value))) {
        stack.pop_back();
      } else if (!node.op || node.inputs.empty() || node.computed() || node.variable) {
        replaced_[key(value)] = Tensor(value);
        stack.pop_back();
      } else if (next < node.inputs.size()) {
        const Value below = node.inputs[next++];
        if (!replaced_.contains(key(below))) stack.emplace_back(below, 0);
      } else {
        std::vector<Tensor> arguments;
        for (const Value& input : node.inputs) arguments.push_back(replaced_.at(key(input)));
        const std::vector<Tensor> outputs = apply_many(*node.op, arguments, node.attributes, node.where);
        const NodePtr original = value.node;
        stack.pop_back();
        for (size_t i = 0; i < outputs.size(); ++i) replaced_[key({original, static_cast<int>(i)})] = outputs[i];
      }
    }
    return replaced_.at(key(result));
  }

 private:
  using Key = std::pair<const Node*, int>;
  struct Hash {
    size_t operator()(const Key& k) const {
      return std::hash<const void*>()(k.first) * 31 + static_cast<size_t>(k.second);
    }
  };
  static Key key(const Value& value) { return {value.node.get(), value.index}; }
  std::unordered_map<Key, Tensor, Hash> replaced_;
};

Gradients recompute_gradient(const GradientContext& g) {
  const auto count = static_cast<size_t>(g.attributes().get<int64_t>("inputs"));
  std::vector<Tensor> inputs, sources;
  for (size_t i = 1; i <= count; ++i) {
    inputs.push_back(g.input(i));
    sources.push_back(apply(kRecomputeInput, {g.input(i), g.grad()}));
  }
  const Tensor result = Again(inputs, sources).of(g.input(0).value());
  for (size_t i = count + 1; i < g.inputs(); ++i) sources.push_back(g.input(i));
  const std::vector<Tensor> found = gradients({&result, 1}, {&g.grad(), 1}, sources, true);
  // Gradients go on to what lies before the block once those of its variables are known: what was recomputed for them
  // is free by then.
  std::vector<Tensor> after;
  for (size_t i = count; i < found.size(); ++i)
    if (found[i].defined()) after.push_back(found[i]);
  Gradients out{Tensor()};  // nothing flows through the values that are not kept
  for (size_t i = 0; i < found.size(); ++i) {
    if (i >= count || !found[i].defined() || after.empty()) {
      out.push_back(found[i]);
      continue;
    }
    std::vector<Tensor> ordered{found[i]};
    ordered.insert(ordered.end(), after.begin(), after.end());
    out.push_back(isochron::apply(kRecomputeInput, ordered));
  }
  return out;
}

const Op& kRecompute = register_op({.name = "recompute",
                                    .doc = "x, whose making is repeated when gradients are taken.",
                                    .arity = -1,
                                    .rule = same_as_first,
                                    .gradient = recompute_gradient});

}  // namespace

Tensor recompute(const Tensor& result, const std::vector<Tensor>& inputs, const std::vector<Variable>& variables) {
  std::vector<Tensor> all{result};
  all.insert(all.end(), inputs.begin(), inputs.end());
  all.insert(all.end(), variables.begin(), variables.end());
  return apply(kRecompute, all, {{"inputs", static_cast<int64_t>(inputs.size())}});
}

}  // namespace isochron
