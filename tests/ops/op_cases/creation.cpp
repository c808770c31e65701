#include <cmath>

#include "../op_cases.h"

namespace isochron::testing {
namespace {

// Random ops: what must hold of their numbers. Distributions are tested with the generator (tests/base/rng_test.cpp)
// and thread counts in random_test.cpp; here a few sums far outside which a right generator does not fall.
Known between(std::function<Tensor()> statistic, double low, double high) {
  return {[=] {
            const Tensor s = statistic();
            return logical_and(greater_equal(s, low), less_equal(s, high));
          },
          reshape(truths({true}), {})};
}
const RandomOptions kSeed7{.seed = 7};
const RandomOptions kWholeNumbers{.dtype = DType::int32};

}  // namespace

std::vector<OpCase> creation_cases() {
  const Tensor like = tensor({{1, 2}, {3, 4}});
  return {
      {.op = "constant",
       .known = {{[] { return constant(2.5, DType::float64) * 2; }, scalar(5, DType::float64)}},
       .refuses_nothing = "it has no inputs"},
      {.op = "iota",
       .known = {{[] { return arange(4); }, tensor({0, 1, 2, 3}, DType::int64)}},
       .refuses_nothing = "it has no inputs"},
      {.op = "full",
       .known = {{[] {
                    return full({2, 2}, 7, DType::int32);
                  },
                  tensor({{7, 7}, {7, 7}})}},
       .refusals = {{[] { return full({2}, zeros({3})); }, "ShapeError",
                     "[broadcast_to] (3,) does not broadcast to (2,)"}}},
      {.op = "zeros",
       .known = {{[] { return zeros({2}); }, tensor({0.f, 0.f})}},
       .refuses_nothing = "shapes refuse by themselves"},
      {.op = "ones",
       .known = {{[] { return ones({2}); }, tensor({1.f, 1.f})}},
       .refuses_nothing = "shapes refuse by themselves"},
      {.op = "full_like",
       .known = {{[like] { return full_like(like, 9); }, tensor({{9, 9}, {9, 9}})}},
       .refuses_nothing = "any tensor has a like"},
      {.op = "zeros_like",
       .known = {{[like] { return zeros_like(like); }, tensor({{0, 0}, {0, 0}})}},
       .refuses_nothing = "any tensor has a like"},
      {.op = "ones_like",
       .known = {{[like] { return ones_like(like); }, tensor({{1, 1}, {1, 1}})}},
       .refuses_nothing = "any tensor has a like"},
      {.op = "arange",
       .forward =
           [](const ReferenceCase& c) {
             return Tensors{arange(c.real("start"), c.real("stop"), c.real("step"), c.dtype())};
           },
       .known = {{[] { return arange(0, 1, 0.25); }, tensor({0.f, 0.25f, 0.5f, 0.75f})},
                 {[] { return arange(5, 0, -2); }, tensor({5, 3, 1}, DType::int64)},
                 {[] { return arange(0, 2.5); }, tensor({0.f, 1.f, 2.f})}},
       .refusals = {{[] { return arange(0, 1, 0); }, "ValueError", "a step other than 0, got 0, 1, 0"},
                    {[] { return arange(0, 1e300); }, "ValueError", "would have"}}},
      {.op = "linspace",
       .forward =
           [](const ReferenceCase& c) {
             return Tensors{linspace(c.real("start"), c.real("stop"), c.integer("num"), c.dtype())};
           },
       .refusals = {{[] { return linspace(0, 1, -1); }, "ValueError", "count must not be negative, got -1"},
                    {[] { return linspace(0, 1, 3, DType::int32); }, "DTypeError",
                     "needs a floating dtype, got int32"}}},
      {.op = "eye",
       .forward =
           [](const ReferenceCase& c) { return Tensors{eye(c.integer("rows"), c.integer("columns"), c.dtype())}; },
       .refusals = {{[] { return eye(-1); }, "ValueError", "rows must not be negative, got -1"}}},
      {.op = "check_finite",
       .known = {{[] {
                    return check_finite(tensor({1.f, 2.f}), "x");
                  },
                  tensor({1.f, 2.f})}},
       .slopes = {{{points({3})}, [](const Tensors& t) { return square(check_finite(t[0], "x")); }}},
       .refusals = {{[] { return check_finite(tensor({1}), "x"); }, "DTypeError", "needs a floating tensor, got int32"},
                    {[] {
                       return check_finite(log(tensor({1.f, -1.f, 0.f})), "the loss").eval();
                     },
                     "NumericError", "the loss must be finite, got nan at element 1 of (3,)"},
                    {[] { return check_finite(scalar(-INFINITY), "the loss").eval(); }, "NumericError",
                     "the loss must be finite, got -inf"},
                    {[] {
                       return check_finite(scalar(1), "the loss", {{ones({3}), "a"}, {log(zeros({2})), "b"}}).eval();
                     },
                     "NumericError", "b must be finite, got -inf"}}},
      {.op = "random_uniform",
       .known = {between([] { return mean(random_uniform({10'000}, 2, 4, kSeed7)); }, 2.97, 3.03),
                 between([] { return min(random_uniform({10'000}, 2, 4, kSeed7)); }, 2, 2.01),
                 between([] { return max(random_uniform({10'000}, 2, 4, kSeed7)); }, 3.99, 4)},
       .refusals = {{[] { return random_uniform({2}, 1, 0); }, "ValueError",
                     "low must not be above high, and both finite, got 1 and 0"},
                    {[] { return random_uniform({2}, 0, 1, kWholeNumbers); }, "DTypeError",
                     "needs a floating dtype, got int32"}}},
      {.op = "random_normal",
       .known = {between([] { return mean(random_normal({10'000}, 1, 2, kSeed7)); }, 0.9, 1.1),
                 between([] { return std(random_normal({10'000}, 1, 2, kSeed7)); }, 1.94, 2.06)},
       .refusals = {{[] { return random_normal({2}, 0, -1); }, "ValueError",
                     "a stddev that is not negative, got 0 and -1"}}},
      {.op = "random_truncated_normal",
       .known = {between([] { return max(abs(random_truncated_normal({10'000}, 0, 1, kSeed7))); }, 1.95, 2),
                 between([] { return std(random_truncated_normal({10'000}, 0, 1, kSeed7)); }, 0.86, 0.9)},
       .refusals = {{[] { return random_truncated_normal({2}, 0, -1); }, "ValueError",
                     "a stddev that is not negative"}}},
      {.op = "random_bernoulli",
       .known = {between([] { return mean(random_bernoulli({10'000}, 0.3, kSeed7)); }, 0.28, 0.32),
                 between([] { return sum(random_bernoulli({10'000}, 0.3, {.seed = 7, .dtype = DType::boolean})); },
                         2800, 3200)},
       .refusals = {{[] { return random_bernoulli({2}, 1.5); }, "ValueError",
                     "the probability must be in [0, 1], got 1.5"}}},
      {.op = "random_integers",
       .known = {between([] { return min(random_integers({10'000}, -3, 5, 7)); }, -3, -3),
                 between([] { return max(random_integers({10'000}, -3, 5, 7)); }, 4, 4)},
       .refusals = {{[] { return random_integers({2}, 5, 5); }, "ValueError", "low must be below high, got 5 and 5"}}},
      {.op = "random_permutation",
       .known = {{[] { return sort(random_permutation(1000, 7)); }, arange(1000)},
                 {[] { return random_permutation(0); }, zeros({0}, DType::int64)},
                 between([] { return sum(equal(random_permutation(1000, 7), arange(1000))); }, 0, 10)},
       .refusals = {{[] { return random_permutation(-1); }, "ValueError", "n must not be negative, got -1"}}},
  };
}

}  // namespace isochron::testing
