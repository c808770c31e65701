// What an op is: every fact about it, said once.
//
//   const Op& tanh_op = op_named("tanh");
//   tanh_op.doc;                                // "Hyperbolic tangent."
//   Tensor y = apply(tanh_op, {x});             // a pending node; shapes and dtypes are checked here
//
// An op declares its rule for shapes and dtypes, its gradient (or why it has none), its cost, and one
// line of documentation. How it runs is told elsewhere (kernels/), as an ordered list of implementations.
#pragma once

#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isochron/tensor/tensor.h"

namespace isochron {

using Specs = SmallVector<TensorSpec, 1>;

// What a shape-and-dtype rule sees.
struct RuleContext {
  std::string_view op;
  std::span<const TensorSpec> inputs;
  const Attributes& attributes;
  const TensorSpec& operator[](size_t i) const { return inputs[i]; }
  const Shape& shape(size_t i = 0) const { return inputs[i].shape; }
  DType dtype(size_t i = 0) const { return inputs[i].dtype; }
};

// What a gradient rule sees. Gradients are built from ops, so they have gradients themselves.
class GradientContext {
 public:
  GradientContext(const NodePtr& node, std::span<const Tensor> output_gradients)
      : node_(node), output_gradients_(output_gradients) {}
  Tensor input(size_t i = 0) const { return Tensor(node_->inputs[i]); }
  Tensor output(int i = 0) const { return Tensor(Value{node_, i}); }
  // Undefined when nothing depends on that output.
  const Tensor& grad(size_t i = 0) const { return output_gradients_[i]; }
  const Attributes& attributes() const { return node_->attributes; }
  size_t inputs() const { return node_->inputs.size(); }
  // False when nobody will look at the gradient of input i.
  bool wanted(size_t i) const { return node_->inputs[i].node->differentiable; }

 private:
  const NodePtr& node_;
  std::span<const Tensor> output_gradients_;
};

struct Cost {
  double flops = 0;
  double bytes = 0;
};

// One gradient per input; an undefined Tensor means none flows there.
using Gradients = std::vector<Tensor>;

struct Op {
  const char* name;
  const char* doc;
  int arity;  // inputs; -1: any number
  Specs (*rule)(const RuleContext&);
  Gradients (*gradient)(const GradientContext&) = nullptr;
  const char* no_gradient = nullptr;  // why not, when there is no gradient
  bool elementwise = false;           // out[i] depends on in[i] alone (after broadcasting)
  bool commutative = false;
  bool random = false;  // two equal nodes give different values: never merged
  // Updates its variables: output i takes the place of input updates[i].
  std::vector<int> updates = {};
  Cost (*cost)(const RuleContext&, std::span<const TensorSpec> outputs) = nullptr;  // null: one flop an output element
};

// Makes an op known by name; used by the tables in ops/*.cpp at load time.
const Op& register_op(Op op);
// InternalError when unknown: only our own code names ops.
const Op& op_named(std::string_view name);
const Op* find_op(std::string_view name);
std::vector<const Op*> all_ops();

// Functions a user sees that are built from other ops: declared for the documentation and the test table.
struct Composite {
  const char* name;
  const char* doc;
};
bool register_composites(std::initializer_list<Composite> composites);
std::vector<const Composite*> all_composites();

// A pending application of the op. Throws what its rule throws, with the user's line added.
Tensor apply(const Op& op, std::initializer_list<Tensor> inputs, Attributes attributes = {},
             std::source_location where = std::source_location::current());
Tensor apply(const Op& op, const std::vector<Tensor>& inputs, Attributes attributes = {},
             std::source_location where = std::source_location::current());
std::vector<Tensor> apply_many(const Op& op, const std::vector<Tensor>& inputs, Attributes attributes = {},
                               std::source_location where = std::source_location::current());

// The specs the op's rule gives, with the operation's name in errors.
Specs infer(const Op& op, std::span<const TensorSpec> inputs, const Attributes& attributes);
Cost cost_of(const Op& op, std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs,
             const Attributes& attributes);

// While one lives on this thread, nothing is computed because the pending graph has grown: the nodes that are being
// differentiated would lose their histories.
class TakingGradients {
 public:
  TakingGradients();
  ~TakingGradients();
  TakingGradients(const TakingGradients&) = delete;
  TakingGradients& operator=(const TakingGradients&) = delete;
  static bool active();
};

// While one lives on this thread, results are checked for overgrown pending graphs by nobody: used while tracing.
bool& tracing_on_this_thread();

}  // namespace isochron
