#include "isochron/ops/random.h"

#include <cmath>

#include "isochron/ops/elementwise.h"
#include "isochron/ops/op.h"

namespace isochron {
namespace {

constexpr const char* kWhyNot = "its numbers do not depend on any input";

Specs filled(const RuleContext& c) {
  if (c[0] != TensorSpec{DType::int64, {2}})
    fail<ShapeError>(c.op, "the key must be int64(2,), got {}", to_string(c[0]));
  return {
      {static_cast<DType>(c.attributes.get<int64_t>("dtype")), Shape(c.attributes.get<std::vector<int64_t>>("shape"))}};
}

Cost drawing_cost(const RuleContext&, std::span<const TensorSpec> outputs) {
  return {25.0 * static_cast<double>(outputs[0].shape.elements()), static_cast<double>(outputs[0].bytes())};
}

const Op& random_op(const char* name, const char* doc) {
  return register_op({.name = name,
                      .doc = doc,
                      .arity = 1,
                      .rule = filled,
                      .no_gradient = kWhyNot,
                      .random = true,
                      .cost = drawing_cost});
}

const Op& kUniform = random_op("random_uniform", "Uniform random numbers in [low, high).");
const Op& kNormal = random_op("random_normal", "Normal random numbers.");
const Op& kTruncatedNormal =
    random_op("random_truncated_normal", "Normal random numbers within two standard deviations.");
const Op& kBernoulli = random_op("random_bernoulli", "1 with a given probability, else 0.");
const Op& kIntegers = random_op("random_integers", "Uniform random integers in [low, high).");
const Op& kPermutation = random_op("random_permutation", "0 to n - 1 in random order.");

// A node of the op that draws in `computed`, which is what the kernels know, cast to what is wanted.
Tensor draw(const Op& op, const Shape& shape, DType computed, const RandomOptions& options, Attributes attributes) {
  const RandomKey key = options.key.defined() ? RandomKey{options.key}
                        : options.seed        ? fixed_random_key(*options.seed)
                                              : next_random_key();
  attributes.set("shape", shape.to_vector());
  attributes.set("dtype", static_cast<int64_t>(computed));
  attributes.set("offset", key.offset);
  return cast(apply(op, {key.key}, std::move(attributes)), options.dtype);
}

Tensor draw_real(const Op& op, const Shape& shape, const RandomOptions& options, Attributes attributes) {
  if (!is_floating(options.dtype)) fail<DTypeError>(op.name, "needs a floating dtype, got {}", options.dtype);
  const DType computed = options.dtype == DType::float64 ? DType::float64 : DType::float32;
  return draw(op, shape, computed, options, std::move(attributes));
}

Tensor draw_normal(const Op& op, const Shape& shape, double mean, double stddev, const RandomOptions& options) {
  if (!(stddev >= 0) || !std::isfinite(mean) || !std::isfinite(stddev))
    fail<ValueError>(op.name, "needs a finite mean and a stddev that is not negative, got {} and {}", mean, stddev);
  return draw_real(op, shape, options, {{"mean", mean}, {"stddev", stddev}});
}

}  // namespace

Tensor random_uniform(const Shape& shape, double low, double high, RandomOptions options) {
  if (!(low <= high) || !std::isfinite(high - low))
    fail<ValueError>("random_uniform", "low must not be above high, and both finite, got {} and {}", low, high);
  return draw_real(kUniform, shape, options, {{"low", low}, {"high", high}});
}
Tensor random_normal(const Shape& shape, double mean, double stddev, RandomOptions options) {
  return draw_normal(kNormal, shape, mean, stddev, options);
}
Tensor random_truncated_normal(const Shape& shape, double mean, double stddev, RandomOptions options) {
  return draw_normal(kTruncatedNormal, shape, mean, stddev, options);
}
Tensor random_bernoulli(const Shape& shape, double probability, RandomOptions options) {
  if (!(probability >= 0 && probability <= 1))
    fail<ValueError>("random_bernoulli", "the probability must be in [0, 1], got {}", probability);
  const DType computed = is_floating(options.dtype) ? DType::float32 : DType::uint8;
  return draw(kBernoulli, shape, computed, options, {{"probability", probability}});
}
Tensor random_integers(const Shape& shape, int64_t low, int64_t high, std::optional<uint64_t> seed) {
  if (low >= high) fail<ValueError>("random_integers", "low must be below high, got {} and {}", low, high);
  return draw(kIntegers, shape, DType::int64, {.seed = seed, .dtype = DType::int64}, {{"low", low}, {"high", high}});
}
Tensor random_permutation(int64_t n, std::optional<uint64_t> seed) {
  if (n < 0) fail<ValueError>("random_permutation", "n must not be negative, got {}", n);
  return draw(kPermutation, {n}, DType::int64, {.seed = seed, .dtype = DType::int64}, {});
}

}  // namespace isochron
