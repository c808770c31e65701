#include "../op_cases.h"

namespace isochron::testing {
namespace {

using Softmax = Tensor (*)(const Operand&, int64_t);

OpCase softmax_case(const char* op, Softmax f) {
  return {.op = op,
          .forward = [f](const ReferenceCase& c) { return Tensors{f(c.inputs[0], c.integer("axis"))}; },
          .slopes = {{{points({2, 4})}, [f](const Tensors& t) { return f(t[0], -1); }},
                     {{points({3, 2})}, [f](const Tensors& t) { return f(t[0], 0); }}},
          .refusals = {{[f] { return f(zeros({2}), 1); }, "IndexError", "axis must be in [-1, 1), got 1"},
                       {[f] { return f(zeros({}), 0); }, "IndexError", "axis must be in [0, 0), got 0"}}};
}

// The backward ops are made by gradients; here they are called by themselves.
Tensor call(const char* op, const Tensors& inputs) { return apply(op_named(op), inputs); }

OpCase backward_case(const char* op, Tensor known, Tensor like) {
  return {.op = op,
          .known = {{[op] {
                       return call(op, {tensor({{1.0, 2.0}}, DType::float64), tensor({{0.25, 0.75}}, DType::float64)});
                     },
                     known}},
          .slopes = {{{points({2, 3}), like}, [op](const Tensors& t) { return call(op, t); }}},
          .refusals = {{[op] {
                          return call(op, {zeros({2, 3}), zeros({2, 2})});
                        },
                        "ShapeError", "needs equal tensors, got float32(2, 3) and float32(2, 2)"},
                       {[op] {
                          return call(op, {zeros({2}, DType::int32), zeros({2}, DType::int32)});
                        },
                        "DTypeError", "needs float32 or float64, got int32"}}};
}

}  // namespace

std::vector<OpCase> softmax_cases() {
  const auto real = DType::float64;
  const Tensor labels = tensor({2, 0}), columns = points({2, 3}, 0.1, 1);
  // softmax of (log 1, log 3) is (1/4, 3/4); its log_sum is log 4.
  const Tensor logits = log(tensor({{1.0, 3.0}}, real)), log_sum = log(tensor({4.0}, real));
  return {
      softmax_case("softmax", softmax),
      softmax_case("log_softmax", log_softmax),
      // y * (dy - sum(dy * y)) with sum(dy * y) = 1.75
      backward_case("softmax_backward", tensor({{-0.1875, 0.1875}}, real), points({2, 3}, 0.1, 0.9)),
      // dy - exp(y) * sum(dy)
      backward_case("log_softmax_backward", tensor({{1 - 3 * 1.2840254166877414, 2 - 3 * 2.117000016612675}}, real),
                    points({2, 3}, -2, 0)),
      {.op = "softmax_cross_entropy",
       .forward = [](const ReferenceCase& c) { return Tensors{softmax_cross_entropy(c.inputs[0], c.inputs[1])}; },
       .slopes = {{{points({2, 3}), columns}, [](const Tensors& t) { return softmax_cross_entropy(t[0], t[1]); }}},
       .refusals = {{[] {
                       return softmax_cross_entropy(zeros({2, 3}), zeros({2, 2}));
                     },
                     "ShapeError", "logits and probabilities need equal shapes, got (2, 3) and (2, 2)"},
                    {[] { return softmax_cross_entropy(zeros({}), zeros({})); }, "ShapeError",
                     "needs at least one axis"}}},
      {.op = "softmax_cross_entropy_backward",
       .known = {{[=] {
                    return call("softmax_cross_entropy_backward",
                                {logits, tensor({{0.5, 0.5}}, real), log_sum, tensor({2.0}, real)});
                  },
                  tensor({{-0.5, 0.5}}, real)}},
       .slopes = {{{points({2, 3}), columns, points({2})},
                   [](const Tensors& t) {
                     return call("softmax_cross_entropy_backward", {t[0], t[1], logsumexp(t[0], {-1}), t[2]});
                   }}},
       .refusals =
           {{[] {
               return call("softmax_cross_entropy_backward", {zeros({2, 3}), zeros({2, 3}), zeros({2}), zeros({3})});
             },
             "ShapeError", "needs one value for each row of (2, 3), got (3,)"}}},
      {.op = "sparse_softmax_cross_entropy",
       .forward =
           [](const ReferenceCase& c) { return Tensors{sparse_softmax_cross_entropy(c.inputs[0], c.inputs[1])}; },
       .known = {{[=] { return sparse_softmax_cross_entropy(logits, tensor({{1}})); }, log(tensor({4.0 / 3}, real))},
                 {[=] { return sparse_softmax_cross_entropy(logits, tensor({0.f})); }, log_sum},
                 {[=] { return sparse_softmax_cross_entropy(logits, tensor({0.}, DType::float64)); }, log_sum},
                 {[=] { return sparse_softmax_cross_entropy(logits, tensor({0}, DType::uint8)); }, log_sum},
                 {[=] { return sparse_softmax_cross_entropy(logits, tensor({0}, DType::int64)); }, log_sum},
                 {[] {
                    return sparse_softmax_cross_entropy(zeros({2, 1}, DType::bfloat16), tensor({0, 0}));
                  },
                  zeros({2}, DType::bfloat16)}},
       .slopes = {{{points({2, 3})},
                   [labels](const Tensors& t) { return sparse_softmax_cross_entropy(t[0], labels); }}},
       .refusals = {{[] {
                       return sparse_softmax_cross_entropy(zeros({2, 3}), tensor({0, 1, 2}));
                     },
                     "ShapeError", "labels must be (2,) for logits (2, 3), got (3,)"},
                    {[] {
                       return sparse_softmax_cross_entropy(zeros({2, 3}), zeros({2}, DType::boolean));
                     },
                     "DTypeError", "labels must be integers, got bool"},
                    {[] {
                       return sparse_softmax_cross_entropy(zeros({5, 10}), tensor({0, 9, 1, 12, -1})).eval();
                     },
                     "ValueError", "labels must be in [0, 10), got 12 at row 3"},
                    {[] {
                       return sparse_softmax_cross_entropy(zeros({3, 10}), tensor({0., 9., 1.5})).eval();
                     },
                     "ValueError", "labels must be whole numbers in [0, 10), got 1.5 at row 2"}}},
      {.op = "sparse_softmax_cross_entropy_backward",
       .known = {{[=] {
                    return call("sparse_softmax_cross_entropy_backward",
                                {logits, tensor({1}), log_sum, tensor({2.0}, real)});
                  },
                  tensor({{0.5, -0.5}}, real)}},
       .slopes = {{{points({2, 3}), points({2})},
                   [labels](const Tensors& t) {
                     return call("sparse_softmax_cross_entropy_backward", {t[0], labels, logsumexp(t[0], {-1}), t[1]});
                   }}},
       .refusals = {{[] {
                       return call("sparse_softmax_cross_entropy_backward",
                                   {zeros({2, 3}), tensor({0, 0}), zeros({2}), zeros({1})});
                     },
                     "ShapeError", "needs one value for each row of (2, 3), got (1,)"}}},
  };
}

}  // namespace isochron::testing
