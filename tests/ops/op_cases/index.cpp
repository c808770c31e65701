#include "../op_cases.h"

namespace isochron::testing {
namespace {

constexpr auto kWhole = DType::int64;

}  // namespace

std::vector<OpCase> index_cases() {
  const Tensor rows = tensor({2, 0, 2}, kWhole);
  return {
      {.op = "gather",
       .forward = [](const ReferenceCase& c) { return Tensors{gather(c.inputs[0], c.inputs[1], c.integer("axis"))}; },
       .slopes = {{{points({3, 2})}, [rows](const Tensors& t) { return square(gather(t[0], rows)); }},
                  {{points({2, 3, 2})}, [rows](const Tensors& t) { return square(gather(t[0], rows, 1)); }}},
       .refusals = {{[] { return gather(zeros({3}), zeros({2})); }, "DTypeError",
                     "indices must be integers, got float32"},
                    {[] { return gather(zeros({3}), tensor({0}), 1); }, "IndexError", "axis must be in [-1, 1), got 1"},
                    {[] {
                       return gather(zeros({3, 2}), tensor({0, 1, 3, 9})).eval();
                     },
                     "IndexError", "indices must be in [0, 3), got 3 at position 2"},
                    {[] {
                       return gather(zeros({3, 2}), tensor({0, -1})).eval();
                     },
                     "IndexError", "indices must be in [0, 3), got -1 at position 1"}}},
      {.op = "embedding",
       .known = {{[] {
                    return embedding(tensor({{1.0, 2.0}, {3.0, 4.0}}, DType::float64), tensor({1, 0, 1}));
                  },
                  tensor({{3.0, 4.0}, {1.0, 2.0}, {3.0, 4.0}}, DType::float64)}},
       .slopes = {{{points({3, 2})}, [rows](const Tensors& t) { return square(embedding(t[0], rows, true)); }}},
       .refusals = {{[] { return embedding(zeros({3}), tensor({0})); }, "ShapeError",
                     "needs a table (tokens, features), got (3,)"},
                    {[] {
                       return embedding(zeros({3, 2}), tensor({3})).eval();
                     },
                     "IndexError", "[embedding] indices must be in [0, 3), got 3"}}},
      {.op = "take",
       .forward = [](const ReferenceCase& c) { return Tensors{take(c.inputs[0], c.inputs[1])}; },
       .slopes = {{{points({3, 2})}, [rows](const Tensors& t) { return square(take(t[0], rows)); }}},
       .refusals = {{[] {
                       return take(zeros({2, 2}), tensor({4})).eval();
                     },
                     "IndexError", "[take] indices must be in [0, 4), got 4 at position 0"},
                    {[] {
                       return take(zeros({2, 2}), zeros({1}));
                     },
                     "DTypeError", "[take] indices must be integers, got float32"}}},
      {.op = "take_along_axis",
       .known = {{[] {
                    return take_along_axis(tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}), tensor({{2, 0}, {1, 1}}), 1);
                  },
                  tensor({{3.0, 1.0}, {5.0, 5.0}})},
                 {[] {
                    return take_along_axis(tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}), tensor({{1, 0, 1}}), 0);
                  },
                  tensor({{4.0, 2.0, 6.0}})},
                 {[] {
                    return take_along_axis(tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}), tensor({{2}}), -1);
                  },
                  tensor({{3.0}, {6.0}})}},
       .slopes = {{{points({2, 3})},
                   [](const Tensors& t) {
                     return square(take_along_axis(t[0], tensor({{2, 0, 2}, {1, 1, 1}}), 1));
                   }}},
       .refusals = {{[] {
                       return take_along_axis(zeros({2, 3}), tensor({{0}, {3}}), 1).eval();
                     },
                     "IndexError", "[take_along_axis] indices must be in [0, 3), got 3 at position (1, 0)"},
                    {[] {
                       return take_along_axis(zeros({2, 3}), tensor({0}), 1);
                     },
                     "ShapeError", "need equally many axes, got (2, 3) and (1,)"},
                    {[] {
                       return take_along_axis(zeros({2, 3}), tensor({{0}, {0}, {0}}), 1);
                     },
                     "ShapeError", "along axis 1 must be (2, 1), got (3, 1)"},
                    {[] {
                       return take_along_axis(zeros({2, 3}), zeros({2, 1}), 1);
                     },
                     "DTypeError", "indices must be integers, got float32"}}},
      {.op = "scatter_add",
       .forward =
           [](const ReferenceCase& c) {
             return Tensors{scatter_add(c.inputs[0], c.inputs[1], c.inputs[2], c.integer("axis"))};
           },
       .known = {{[] {
                    return scatter_add(zeros({2, 2}), tensor({1, 1}), tensor({{1.f, 2.f}, {3.f, 4.f}}), 1);
                  },
                  tensor({{0.f, 3.f}, {0.f, 7.f}})}},
       .slopes = {{{points({3, 2}), points({3, 2})},
                   [rows](const Tensors& t) { return square(scatter_add(t[0], rows, t[1])); }},
                  {{points({2, 3}), points({2, 3})},
                   [rows](const Tensors& t) { return square(scatter_add(t[0], rows, t[1], 1)); }}},
       .refusals = {{[] {
                       return scatter_add(zeros({3, 2}), tensor({0, 1}), zeros({3, 2}));
                     },
                     "ShapeError", "updates must be (2, 2) for x (3, 2) and indices (2,), got (3, 2)"},
                    {[] { return scatter_add(zeros({3}), tensor({0}), zeros({1}, DType::int32)); }, "DTypeError",
                     "x and updates need equal dtypes, got float32 and int32"},
                    {[] { return scatter_add(zeros({3}), tensor({5}), ones({1})).eval(); }, "IndexError",
                     "indices must be in [0, 3), got 5 at position 0"}}},
      {.op = "one_hot",
       .forward = [](const ReferenceCase& c) { return Tensors{one_hot(c.inputs[0], c.integer("depth"), c.dtype())}; },
       .refusals = {{[] { return one_hot(zeros({2}), 3); }, "DTypeError", "indices must be integers, got float32"},
                    {[] { return one_hot(tensor({1}), -1); }, "ValueError", "depth must not be negative, got -1"}}},
      {.op = "sort",
       .forward =
           [](const ReferenceCase& c) { return Tensors{sort(c.inputs[0], c.integer("axis"), c.flag("descending"))}; },
       .slopes = {{{points({2, 4})}, [](const Tensors& t) { return square(sort(t[0])); }},
                  {{points({3, 2})}, [](const Tensors& t) { return square(sort(t[0], 0, true)); }}},
       .refusals = {{[] { return sort(zeros({2}), 1); }, "IndexError", "axis must be in [-1, 1), got 1"}}},
      {.op = "argsort",
       .forward =
           [](const ReferenceCase& c) {
             return Tensors{argsort(c.inputs[0], c.integer("axis"), c.flag("descending"))};
           },
       .refusals = {{[] { return argsort(zeros({2}), 1); }, "IndexError", "axis must be in [-1, 1), got 1"}}},
      {.op = "top_k",
       .forward =
           [](const ReferenceCase& c) {
             const TopK top = top_k(c.inputs[0], c.integer("k"));
             return Tensors{top.values, top.indices};
           },
       .slopes = {{{points({2, 5})}, [](const Tensors& t) { return square(top_k(t[0], 3).values); }}},
       .refusals = {{[] {
                       return top_k(zeros({2, 3}), 4).values;
                     },
                     "ValueError", "k must be in [0, 3], got 4"},
                    {[] { return top_k(zeros({}), 1).values; }, "ShapeError", "needs at least one axis"}}},
  };
}

}  // namespace isochron::testing
