#include <limits>

#include "../op_cases.h"

namespace isochron::testing {
namespace {

using Reduce = Tensor (*)(const Operand&, const AxisList&, bool);
using ArgReduce = Tensor (*)(const Operand&, int64_t, bool);

Refusal of_axis(Reduce f) {
  return {[f] { return f(zeros({2, 3}, DType::float32), {2}, false); }, "IndexError", "axis must be in [-2, 2), got 2"};
}
Refusal of_twice(Reduce f) {
  return {[f] { return f(zeros({2, 3}), {0, -2}, false); }, "ValueError", "an axis is given twice"};
}
Refusal of_nothing(Reduce f) {
  return {[f] {
            return f(zeros({2, 0}), {1}, false);
          },
          "ShapeError", "of no elements is not defined, got shape (2, 0)"};
}

OpCase reduction(const char* op, Reduce f, std::vector<Refusal> more = {}) {
  OpCase one{
      .op = op,
      .forward =
          [f](const ReferenceCase& c) { return Tensors{f(c.inputs[0], c.integers("axes"), c.flag("keepdims"))}; },
      .slopes = {{{points({2, 3, 4})}, [f](const Tensors& x) { return f(x[0], {1}, false); }},
                 {{points({2, 3, 2})},
                  [f](const Tensors& x) {
                    return f(x[0], {0, 2}, true);
                  }},
                 {{points({5})}, [f](const Tensors& x) { return f(x[0], {}, false); }}},
      .refusals = {of_axis(f), of_twice(f)}};
  for (Refusal& refusal : more) one.refusals.push_back(std::move(refusal));
  return one;
}

OpCase truth_reduction(const char* op, Reduce f) {
  OpCase one = reduction(op, f);
  one.slopes.clear();
  return one;
}

OpCase position(const char* op, ArgReduce f) {
  return {
      .op = op,
      .forward = [f](const ReferenceCase& c) { return Tensors{f(c.inputs[0], c.integer("axis"), c.flag("keepdims"))}; },
      .refusals = {{[f] {
                      return f(zeros({2, 3}), -3, false);
                    },
                    "IndexError", "axis must be in [-2, 2), got -3"},
                   {[f] {
                      return f(zeros({2, 0}), 1, false);
                    },
                    "ShapeError", "of no elements is not defined"}}};
}

Tensor norm2(const Operand& x, const AxisList& axes, bool keepdims) { return norm(x, 2, axes, keepdims); }
Tensor norm3(const Operand& x, const AxisList& axes, bool keepdims) { return norm(x, 3, axes, keepdims); }
Tensor variance(const Operand& x, const AxisList& axes, bool keepdims) { return var(x, axes, keepdims); }
Tensor deviation(const Operand& x, const AxisList& axes, bool keepdims) { return std(x, axes, keepdims); }

// The composites refuse through the ops they are made of, whose names stand in the message.
OpCase composite(const char* op, Reduce f) {
  OpCase one = reduction(op, f);
  one.refusals.resize(1);
  return one;
}

}  // namespace

std::vector<OpCase> reduction_cases() {
  std::vector<OpCase> cases = {
      reduction("sum", sum),
      reduction("mean", mean),
      reduction("prod", prod),
      reduction("max", max, {of_nothing(max)}),
      reduction("min", min, {of_nothing(min)}),
      truth_reduction("any", any),
      truth_reduction("all", all),
      position("argmax", argmax),
      position("argmin", argmin),
      composite("var", variance),
      composite("std", deviation),
      composite("logsumexp", logsumexp),
      composite("norm", norm2),
  };
  // Zeros: nothing may divide.
  cases[2].slopes.push_back({{tensor({{2.0, 0.0, 3.0, -1.5}, {0.0, 1.25, 0.0, 2.0}}, DType::float64)},
                             [](const Tensors& x) { return prod(x[0], {1}); }});
  OpCase& norms = cases.back();
  norms.slopes.push_back({{points({2, 3})}, [](const Tensors& x) { return norm3(x[0], {1}, false); }});
  norms.known = {{[] {
                    return norm(tensor({3.0, -4.0}, DType::float64), 1);
                  },
                  scalar(7, DType::float64)},
                 {[] {
                    return norm(tensor({3.0, -4.0}, DType::float64), std::numeric_limits<double>::infinity());
                  },
                  scalar(4, DType::float64)}};
  norms.refusals.push_back(
      {[] { return norm(zeros({2}), -1); }, "ValueError", "[norm] p must not be negative, got -1"});
  return cases;
}

}  // namespace isochron::testing
