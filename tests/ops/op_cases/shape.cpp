#include "../op_cases.h"

namespace isochron::testing {
namespace {

using Ints = std::vector<int64_t>;
constexpr auto kReal = DType::float64;

Tensor roll_all(const Tensor& x, const Ints& shifts, const Ints& axes) {
  Tensor y = x;
  for (size_t i = 0; i < axes.size(); ++i) y = roll(y, shifts[i], axes[i]);
  return y;
}

std::vector<std::pair<int64_t, int64_t>> pairs(const Ints& flat) {
  std::vector<std::pair<int64_t, int64_t>> out;
  for (size_t i = 0; i + 1 < flat.size(); i += 2) out.emplace_back(flat[i], flat[i + 1]);
  return out;
}

Tensor counting(const Shape& shape) {
  return reshape(arange(0, static_cast<double>(shape.elements()), 1, kReal), shape.to_vector());
}

}  // namespace

std::vector<OpCase> shape_cases() {
  const Tensor x = points({2, 3, 4});
  return {
      {.op = "reshape",
       .forward = [](const ReferenceCase& c) { return Tensors{reshape(c.inputs[0], c.integers("shape"))}; },
       .slopes = {{{x},
                   [](const Tensors& t) {
                     return square(reshape(t[0], {4, -1}));
                   }}},
       .refusals = {{[] {
                       return reshape(zeros({2, 3}), {4, 2});
                     },
                     "ShapeError", "(2, 3) has 6 elements, (4, 2) has 8"},
                    {[] {
                       return reshape(zeros({2, 3}), {-1, -1});
                     },
                     "ShapeError", "only one extent may be -1"},
                    {[] {
                       return reshape(zeros({2, 3}), {-1, 4});
                     },
                     "ShapeError", "do not fill [-1, 4]"}}},
      {.op = "transpose",
       .forward = [](const ReferenceCase& c) { return Tensors{transpose(c.inputs[0], c.integers("perm"))}; },
       .slopes = {{{x},
                   [](const Tensors& t) {
                     return square(transpose(t[0], {2, 0, 1}));
                   }}},
       .refusals = {{[] {
                       return transpose(zeros({2, 3}), {0, 0});
                     },
                     "ShapeError", "each of the 2 axes of (2, 3) once, got [0, 0]"},
                    {[] {
                       return transpose(zeros({2, 3}), {0, 2});
                     },
                     "IndexError", "axis must be in [-2, 2), got 2"}}},
      {.op = "broadcast_to",
       .forward = [](const ReferenceCase& c) { return Tensors{broadcast_to(c.inputs[0], Shape(c.integers("shape")))}; },
       .slopes = {{{points({3, 1})},
                   [](const Tensors& t) {
                     return square(broadcast_to(t[0], {2, 3, 2}));
                   }}},
       .refusals = {{[] { return broadcast_to(zeros({2}), {3}); }, "ShapeError", "(2,) does not broadcast to (3,)"}}},
      {.op = "concat",
       .forward = [](const ReferenceCase& c) { return Tensors{concat(c.inputs, c.integer("axis"))}; },
       .slopes = {{{points({2, 2}), points({2, 3})},
                   [](const Tensors& t) {
                     return square(concat({t[0], t[1], t[0]}, 1));
                   }}},
       .refusals = {{[] { return concat({}, 0); }, "ValueError", "needs at least one tensor"},
                    {[] {
                       return concat({zeros({2, 3}), zeros({2, 2})}, 0);
                     },
                     "ShapeError", "all extents but axis 0 must agree, got (2, 3) and (2, 2)"},
                    {[] {
                       return concat({zeros({2}), zeros({2}, DType::int32)}, 0);
                     },
                     "DTypeError", "needs equal dtypes, got float32 and int32"}}},
      {.op = "slice",
       .forward =
           [](const ReferenceCase& c) {
             return Tensors{slice(c.inputs[0], c.integers("begin"), c.integers("end"), c.integers("steps"))};
           },
       .slopes = {{{points({5, 4})},
                   [](const Tensors& t) {
                     return square(slice(t[0], {4, 1}, {0, kEnd}, {-2, 1}));
                   }}},
       .refusals = {{[] {
                       return slice(zeros({2}), {0, 0}, {1, 1});
                     },
                     "ShapeError", "(2,) has 1 axes, got positions for 2"},
                    {[] { return slice(zeros({2}), {0}, {1}, {0}); }, "ValueError",
                     "the step of axis 0 must not be 0"}}},
      {.op = "slice_scatter",
       .known = {{[] {
                    return apply(op_named("slice_scatter"), {tensor({7.0, 8.0}, kReal)},
                                 {{"begin", Ints{1}}, {"step", Ints{2}}, {"shape", Ints{5}}});
                  },
                  tensor({0.0, 7.0, 0.0, 8.0, 0.0}, kReal)}},
       .slopes = {{{points({2, 2})},
                   [](const Tensors& t) {
                     return square(apply(op_named("slice_scatter"), {t[0]},
                                         {{"begin", Ints{0, 3}}, {"step", Ints{1, -2}}, {"shape", Ints{3, 4}}}));
                   }}},
       .refuses_nothing = "only the gradient of slice makes it"},
      {.op = "pad",
       .forward =
           [](const ReferenceCase& c) {
             return Tensors{pad(c.inputs[0], pairs(c.integers("paddings")), c.real("value"))};
           },
       .slopes = {{{points({2, 2})},
                   [](const Tensors& t) {
                     return square(pad(t[0], {{1, 0}, {2, 1}}, 0.5));
                   }}},
       .refusals = {{[] {
                       return pad(zeros({2, 2}), {{1, 1}});
                     },
                     "ShapeError", "needs widths for the 2 axes of (2, 2), got 1"},
                    {[] {
                       return pad(zeros({2}), {{-1, 1}});
                     },
                     "ValueError", "widths must not be negative, got (-1, 1) for axis 0"}}},
      {.op = "cumsum",
       .forward =
           [](const ReferenceCase& c) {
             return Tensors{cumsum(c.inputs[0], c.integer("axis"), c.flag("exclusive"), c.flag("reverse"))};
           },
       .slopes = {{{x}, [](const Tensors& t) { return square(cumsum(t[0], 1)); }},
                  {{x}, [](const Tensors& t) { return square(cumsum(t[0], 0, true, true)); }}},
       .refusals = {{[] { return cumsum(zeros({2}), 1); }, "IndexError", "axis must be in [-1, 1), got 1"},
                    {[] { return cumsum(truths({true})); }, "DTypeError", "needs numbers, got bool"}}},
      {.op = "cumprod_exclusive",
       .known = {{[] {
                    return cumprod_exclusive(tensor({{2.0, 3.0, 5.0}}, kReal), false);
                  },
                  tensor({{1.0, 2.0, 6.0}}, kReal)},
                 {[] {
                    return cumprod_exclusive(tensor({{2.0, 3.0, 5.0}}, kReal), true);
                  },
                  tensor({{15.0, 5.0, 1.0}}, kReal)}},
       .slopes = {{{points({2, 4})}, [](const Tensors& t) { return square(cumprod_exclusive(t[0], false)); }},
                  {{points({2, 4})}, [](const Tensors& t) { return square(cumprod_exclusive(t[0], true)); }}},
       .refusals = {{[] { return cumprod_exclusive(zeros({2}), false); }, "ShapeError",
                     "needs (rows, columns), got (2,)"}}},

      {.op = "squeeze",
       .forward = [](const ReferenceCase& c) { return Tensors{squeeze(c.inputs[0], c.integers("axes"))}; },
       .slopes = {{{points({1, 3, 1})}, [](const Tensors& t) { return square(squeeze(t[0])); }}},
       .refusals = {{[] {
                       return squeeze(zeros({2, 1}), {0});
                     },
                     "ShapeError", "axis 0 of (2, 1) has extent 2, not 1"}}},
      {.op = "expand_dims",
       .forward = [](const ReferenceCase& c) { return Tensors{expand_dims(c.inputs[0], c.integer("axis"))}; },
       .slopes = {{{points({3})}, [](const Tensors& t) { return square(expand_dims(t[0], 0)); }}},
       .refusals = {{[] { return expand_dims(zeros({2}), 2); }, "IndexError", "axis must be in [-2, 2), got 2"}}},
      {.op = "flatten",
       .known = {{[] {
                    return flatten(ones({2, 3, 4}, kReal), 1);
                  },
                  ones({2, 12}, kReal)},
                 {[] {
                    return flatten(ones({2, 3, 4}, kReal), 0, 1);
                  },
                  ones({6, 4}, kReal)},
                 {[] {
                    return flatten(ones({2, 0}, kReal));
                  },
                  ones({0}, kReal)},
                 {[] { return flatten(ones({}, kReal)); }, ones({1}, kReal)}},
       .slopes = {{{points({2, 3})}, [](const Tensors& t) { return square(flatten(t[0])); }}},
       .refusals = {{[] {
                       return flatten(zeros({2, 3, 4}), 2, 1);
                     },
                     "ValueError", "axis 2 must not come after axis 1"},
                    {[] { return flatten(zeros({2}), 1); }, "IndexError", "axis must be in [-1, 1), got 1"}}},
      {.op = "stack",
       .forward = [](const ReferenceCase& c) { return Tensors{stack(c.inputs, c.integer("axis"))}; },
       .slopes = {{{points({3}), points({3}, 0, 1)},
                   [](const Tensors& t) {
                     return square(stack({t[0], t[1]}, 1));
                   }}},
       .refusals = {{[] { return stack({}, 0); }, "ValueError", "needs at least one tensor"},
                    {[] {
                       return stack({zeros({2}), zeros({3})});
                     },
                     "ShapeError", "needs equal shapes, got (2,) and (3,)"}}},
      {.op = "split",
       .forward =
           [](const ReferenceCase& c) {
             return c.has("sizes") ? split(c.inputs[0], c.integers("sizes"), c.integer("axis"))
                                   : split(c.inputs[0], c.integer("sections"), c.integer("axis"));
           },
       .slopes = {{{points({6})},
                   [](const Tensors& t) {
                     return square(split(t[0], Ints{1, 3, 2})[1]);
                   }}},
       .refusals = {{[] { return split(zeros({5}), 2)[0]; }, "ValueError",
                     "axis 0 of (5,) has extent 5, which 2 equal parts do not fill"},
                    {[] {
                       return split(zeros({5}), Ints{2, 2})[0];
                     },
                     "ValueError", "sizes [2, 2] do not add up to 5"}}},
      {.op = "tile",
       .forward = [](const ReferenceCase& c) { return Tensors{tile(c.inputs[0], c.integers("multiples"))}; },
       .slopes = {{{points({2, 2})},
                   [](const Tensors& t) {
                     return square(tile(t[0], {2, 3}));
                   }}},
       .refusals = {{[] { return tile(zeros({2}), {-1}); }, "ValueError", "repeats must not be negative, got -1"}}},
      {.op = "repeat",
       .forward =
           [](const ReferenceCase& c) { return Tensors{repeat(c.inputs[0], c.integer("repeats"), c.integer("axis"))}; },
       .slopes = {{{points({2, 2})}, [](const Tensors& t) { return square(repeat(t[0], 2, 1)); }}},
       .refusals = {{[] { return repeat(zeros({2}), -2, 0); }, "ValueError", "count must not be negative, got -2"}}},
      {.op = "flip",
       .forward = [](const ReferenceCase& c) { return Tensors{flip(c.inputs[0], c.integers("axes"))}; },
       .slopes = {{{points({2, 3})}, [](const Tensors& t) { return square(flip(t[0], {1})); }}},
       .refusals = {{[] { return flip(zeros({2}), {1}); }, "IndexError", "axis must be in [-1, 1), got 1"}}},
      {.op = "roll",
       .forward =
           [](const ReferenceCase& c) {
             return Tensors{roll_all(c.inputs[0], c.integers("shifts"), c.integers("axes"))};
           },
       .slopes = {{{points({5})}, [](const Tensors& t) { return square(roll(t[0], 2, 0)); }}},
       .refusals = {{[] { return roll(zeros({2}), 1, 1); }, "IndexError", "axis must be in [-1, 1), got 1"}}},
      {.op = "tril",
       .forward = [](const ReferenceCase& c) { return Tensors{tril(c.inputs[0], c.integer("k"))}; },
       .slopes = {{{points({3, 3})}, [](const Tensors& t) { return square(tril(t[0])); }}},
       .refusals = {{[] { return tril(zeros({2})); }, "ShapeError", "needs at least two axes, got (2,)"}}},
      {.op = "triu",
       .forward = [](const ReferenceCase& c) { return Tensors{triu(c.inputs[0], c.integer("k"))}; },
       .known = {{[] {
                    return triu(counting({3, 3}), 1);
                  },
                  tensor({{0.0, 1.0, 2.0}, {0.0, 0.0, 5.0}, {0.0, 0.0, 0.0}}, kReal)}},
       .slopes = {{{points({3, 3})}, [](const Tensors& t) { return square(triu(t[0])); }}},
       .refusals = {{[] { return triu(zeros({2})); }, "ShapeError", "needs at least two axes, got (2,)"}}},
  };
}

std::vector<OpCase> product_cases() {
  return {
      {.op = "matmul",
       .forward =
           [](const ReferenceCase& c) {
             return Tensors{matmul(c.inputs[0], c.inputs[1], {c.flag("transpose_a"), c.flag("transpose_b")})};
           },
       .known = {{[] {
                    return matmul(tensor({{1, 2}, {3, 4}}), tensor({{5}, {6}}));
                  },
                  tensor({{17}, {39}})}},
       .slopes = {{{points({2, 3}), points({3, 2})}, [](const Tensors& t) { return matmul(t[0], t[1]); }},
                  {{points({2, 3, 2}), points({4, 3})},
                   [](const Tensors& t) {
                     return matmul(t[0], t[1], {true, true});
                   }},
                  {{points({2, 1, 2, 3}), points({3, 2, 3})},
                   [](const Tensors& t) { return matmul(t[0], t[1], {.transpose_b = true}); }},
                  {{points({3}), points({3, 2})}, [](const Tensors& t) { return matmul(t[0], t[1]); }}},
       .refusals = {{[] {
                       return matmul(zeros({2, 3}), zeros({4, 5}));
                     },
                     "ShapeError", "inner dimensions must agree, got (2, 3) and (4, 5): 3 and 4"},
                    {[] {
                       return matmul(zeros({}), zeros({4, 5}));
                     },
                     "ShapeError", "needs at least one axis on both sides"},
                    {[] {
                       return matmul(zeros({2, 2, 3}), zeros({5, 3, 2}));
                     },
                     "ShapeError", "broadcast together"},
                    {[] {
                       return matmul(zeros({2, 2}, DType::boolean), zeros({2, 2}, DType::boolean));
                     },
                     "DTypeError", "needs numbers, got bool"}}},
      {.op = "einsum",
       .forward = [](const ReferenceCase& c) { return Tensors{einsum(c.texts.at("equation"), c.inputs)}; },
       .slopes = {{{points({2, 3, 4}), points({2, 4, 2})}, [](const Tensors& t) { return einsum("bij,bjk->bik", t); }},
                  {{points({3, 3})}, [](const Tensors& t) { return square(einsum("ii->i", t)); }},
                  {{points({2, 3}), points({3, 2}), points({2})},
                   [](const Tensors& t) { return einsum("ij,jk,k->i", t); }}},
       .refusals = {{[] {
                       return einsum("ij,jk->ik", {zeros({2, 3})});
                     },
                     "ValueError", "has 2 operands, got 1"},
                    {[] {
                       return einsum("ij,jk->ik", {zeros({2, 3}), zeros({4, 5})});
                     },
                     "ShapeError", "index 'j' is 3 and 4"},
                    {[] { return einsum("ij->ij", {zeros({2})}); }, "ShapeError", "does not fit shape (2,)"},
                    {[] {
                       return einsum("ij->ijj", {zeros({2, 2})});
                     },
                     "ValueError", "index 'j' stands twice in the output"},
                    {[] {
                       return einsum("ij->k", {zeros({2, 2})});
                     },
                     "ValueError", "output index 'k' is in no operand"},
                    {[] {
                       return einsum("i1->i", {zeros({2, 2})});
                     },
                     "ValueError", "indices are letters, got '1'"},
                    {[] {
                       return einsum("ii->i", {zeros({2, 3})});
                     },
                     "ShapeError", "index 'i' is 2 and 3"}}},
  };
}

}  // namespace isochron::testing
