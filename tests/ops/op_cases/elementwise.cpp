#include <cmath>
#include <limits>

#include "../op_cases.h"

namespace isochron::testing {
namespace {

using Unary = Tensor (*)(const Operand&);
using Binary = Tensor (*)(const Operand&, const Operand&);
constexpr const char* kTakesAll = "every dtype is taken: integers and bools count as float32";
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

Refusal of_shapes(Binary f) {
  return {[f] {
            return f(zeros({2, 3}), zeros({4}));
          },
          "ShapeError", "broadcast together (equal extents, or 1), got (2, 3) and (4,)"};
}
Refusal of_shapes_of_bools(Binary f) {
  return {[f] {
            return f(zeros({2, 3}, DType::boolean), zeros({4}, DType::boolean));
          },
          "ShapeError", "broadcast together"};
}
Refusal of_bools(Binary f) {
  return {[f] { return f(truths({true}), truths({false})); }, "DTypeError", "needs numbers, got bool"};
}
Refusal of_bool(Unary f) {
  return {[f] { return f(truths({true})); }, "DTypeError", "needs numbers, got bool"};
}

OpCase arithmetic(const char* op, Binary f, Tensor a, Tensor b) {
  return {.op = op,
          .forward = [f](const ReferenceCase& c) { return Tensors{f(c.inputs[0], c.inputs[1])}; },
          .slopes = {{{a, b}, [f](const Tensors& x) { return f(x[0], x[1]); }}},
          .refusals = {of_shapes(f), of_bools(f)}};
}
OpCase stepwise(const char* op, Binary f) {
  return {.op = op,
          .forward = [f](const ReferenceCase& c) { return Tensors{f(c.inputs[0], c.inputs[1])}; },
          .refusals = {of_shapes(f)}};
}
OpCase logic(const char* op, Binary f) {
  OpCase one = stepwise(op, f);
  one.refusals = {of_shapes_of_bools(f)};
  return one;
}
// Functions of numbers, whose integers stay integers.
OpCase of_number(const char* op, Unary f, bool differentiable) {
  OpCase one{
      .op = op, .forward = [f](const ReferenceCase& c) { return Tensors{f(c.inputs[0])}; }, .refusals = {of_bool(f)}};
  if (differentiable) one.slopes = {{{points({2, 3})}, [f](const Tensors& x) { return f(x[0]); }}};
  return one;
}
// Functions of real numbers.
OpCase of_real(const char* op, Unary f, double low = -2, double high = 2) {
  return {.op = op,
          .forward = [f](const ReferenceCase& c) { return Tensors{f(c.inputs[0])}; },
          .slopes = {{{points({2, 3}, low, high)}, [f](const Tensors& x) { return f(x[0]); }}},
          .refuses_nothing = kTakesAll};
}
OpCase test_of(const char* op, Unary f, std::initializer_list<bool> expected) {
  return {.op = op,
          .known = {{[f] {
                       return f(tensor({1.0, kNan, kInf, -kInf}, DType::float64));
                     },
                     tensor(expected)}},
          .refuses_nothing = kTakesAll};
}

}  // namespace

std::vector<OpCase> elementwise_cases() {
  const Tensor wide = points({2, 1, 3}), tall = points({4, 1}, 0.4, 2, 0.11);
  return {
      arithmetic("add", add, wide, tall),
      arithmetic("sub", sub, wide, tall),
      arithmetic("mul", mul, wide, tall),
      {.op = "div",
       .forward = [](const ReferenceCase& c) { return Tensors{div(c.inputs[0], c.inputs[1])}; },
       .known = {{[] {
                    return div(tensor({7, -7}), tensor({2, 2}));
                  },
                  tensor({3.5f, -3.5f})}},
       .slopes = {{{wide, tall}, [](const Tensors& x) { return div(x[0], x[1]); }}},
       .refusals = {of_shapes(div)}},
      arithmetic("pow", pow, points({2, 3}, 0.3, 2.5), points({3}, -1, 3)),
      arithmetic("minimum", minimum, wide, tall),
      arithmetic("maximum", maximum, wide, tall),
      stepwise("floor_div", floor_div),
      arithmetic("mod", mod, points({2, 3}, 0.1, 3), tensor({0.71, 1.3, 0.9}, DType::float64)),

      stepwise("equal", equal),
      stepwise("not_equal", not_equal),
      stepwise("less", less),
      stepwise("less_equal", less_equal),
      stepwise("greater", greater),
      stepwise("greater_equal", greater_equal),
      logic("logical_and", logical_and),
      logic("logical_or", logical_or),
      logic("logical_xor", logical_xor),
      {.op = "logical_not",
       .forward = [](const ReferenceCase& c) { return Tensors{logical_not(c.inputs[0])}; },
       .refuses_nothing = "numbers count as true where they are not 0"},
      test_of("is_nan", is_nan, {false, true, false, false}),
      test_of("is_inf", is_inf, {false, false, true, true}),
      test_of("is_finite", is_finite, {true, false, false, false}),

      of_number("neg", neg, true),
      of_number("abs", abs, true),
      of_number("sign", sign, false),
      of_number("floor", floor, false),
      of_number("ceil", ceil, false),
      of_number("round", round, false),
      of_number("square", square, true),
      of_number("relu", relu, true),
      of_real("sqrt", sqrt, 0.3, 3),
      of_real("rsqrt", rsqrt, 0.3, 3),
      {.op = "reciprocal",
       .known = {{[] {
                    return reciprocal(tensor({2.0, -4.0, kInf}, DType::float64));
                  },
                  tensor({0.5, -0.25, 0.0}, DType::float64)}},
       .slopes = {{{points({5}, 0.4, 3)}, [](const Tensors& x) { return reciprocal(x[0]); }}},
       .refuses_nothing = kTakesAll},
      of_real("exp", exp),
      of_real("log", log, 0.3, 3),
      of_real("log1p", log1p, -0.7, 3),
      of_real("expm1", expm1),
      of_real("sin", sin),
      of_real("cos", cos),
      of_real("tanh", tanh),
      of_real("sigmoid", sigmoid),
      of_real("erf", erf),
      of_real("selu", selu),
      of_real("silu", silu),
      of_real("softplus", softplus),
      {.op = "leaky_relu",
       .forward = [](const ReferenceCase& c) { return Tensors{leaky_relu(c.inputs[0], c.real("alpha"))}; },
       .slopes = {{{points({2, 3})}, [](const Tensors& x) { return leaky_relu(x[0], 0.3); }}},
       .refuses_nothing = kTakesAll},
      {.op = "elu",
       .forward = [](const ReferenceCase& c) { return Tensors{elu(c.inputs[0], c.real("alpha"))}; },
       .slopes = {{{points({2, 3})}, [](const Tensors& x) { return elu(x[0], 0.7); }}},
       .refuses_nothing = kTakesAll},
      {.op = "gelu",
       .forward = [](const ReferenceCase& c) { return Tensors{gelu(c.inputs[0], c.flag("approximate"))}; },
       .slopes = {{{points({2, 3})}, [](const Tensors& x) { return gelu(x[0], false); }},
                  {{points({2, 3})}, [](const Tensors& x) { return gelu(x[0], true); }}},
       .refuses_nothing = kTakesAll},
      {.op = "clip",
       .forward = [](const ReferenceCase& c) { return Tensors{clip(c.inputs[0], c.real("min"), c.real("max"))}; },
       .slopes = {{{points({7})}, [](const Tensors& x) { return clip(x[0], -0.8, 1.1); }}},
       .refusals = {{[] { return clip(zeros({2}), 1, -1); }, "ValueError", "low must not be above high, got 1 and -1"},
                    {[] { return clip(truths({true}), 0, 1); }, "DTypeError", "needs numbers"}}},

      {.op = "where",
       .forward = [](const ReferenceCase& c) { return Tensors{where(c.inputs[0], c.inputs[1], c.inputs[2])}; },
       .slopes = {{{points({2, 3}), points({3})},
                   [](const Tensors& x) {
                     return where(truths({true, false, true}), x[0], x[1]);
                   }}},
       .refusals = {{[] {
                       return where(truths({true, false}), zeros({3}), 1);
                     },
                     "ShapeError", "got (2,) and (3,)"}}},
      {.op = "cast",
       .forward = [](const ReferenceCase& c) { return Tensors{cast(c.inputs[0], c.dtype())}; },
       .slopes = {{{points({3})}, [](const Tensors& x) { return square(cast(x[0], DType::float64)); }}},
       .refuses_nothing = "every dtype becomes every other"},
      {.op = "stop_gradient",
       .known = {{[] {
                    return stop_gradient(tensor({1.5, 2.0}, DType::float64));
                  },
                  tensor({1.5, 2.0}, DType::float64)}},
       .refuses_nothing = "it passes everything on"},
      {.op = "assign",
       .known = {{[] {
                    Variable v(tensor({1.0, 2.0}, DType::float64));
                    v.assign(v * 3);
                    return v.read();
                  },
                  tensor({3.0, 6.0}, DType::float64)}},
       .refusals = {{[] {
                       const Variable v(tensor({1.f, 2.f}), {.name = "w"});
                       v.assign(zeros({3}));
                       return v.read();
                     },
                     "ShapeError", "variable \"w\" is float32(2,) and keeps that for life, got float32(3,)"}}},
  };
}

}  // namespace isochron::testing
