#include "isochron/ops/attention.h"

#include <cmath>

#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/op.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

using G = const GradientContext&;

void need_heads(const RuleContext& c, size_t q, size_t mask) {
  const Shape &query = c.shape(q), &key = c.shape(q + 1), &value = c.shape(q + 2);
  if (query.rank() != 4 || key.rank() != 4 || value.rank() != 4)
    fail<ShapeError>(c.op, "needs (batch, steps, heads, features), got {}, {} and {}", query, key, value);
  if (query[0] != key[0] || query[2] != key[2] || query[3] != key[3] || key[0] != value[0] || key[1] != value[1] ||
      key[2] != value[2])
    fail<ShapeError>(c.op, "query {}, key {} and value {} must agree in batch, heads, features and steps", query, key,
                     value);
  if (c.dtype(q) != DType::float32 && c.dtype(q) != DType::float64)
    fail<DTypeError>(c.op, "needs float32 or float64, got {}", c.dtype(q));
  for (size_t i : {q + 1, q + 2})
    if (c.dtype(i) != c.dtype(q)) fail<DTypeError>(c.op, "needs equal dtypes, got {} and {}", c.dtype(q), c.dtype(i));
  if (mask >= c.inputs.size()) return;
  const Shape &m = c.shape(mask), whole{query[0], query[2], query[1], key[1]};
  if (c.dtype(mask) != DType::boolean) fail<DTypeError>(c.op, "a mask must be bool, got {}", c.dtype(mask));
  if (m.rank() != 4 || m[-1] != whole[-1] || !broadcasts_to(m, whole))
    fail<ShapeError>(c.op, "a mask for {} scores must broadcast to it with a last axis of {}, got {}", whole, whole[-1],
                     m);
}

template <int products>
Cost product_cost(const RuleContext& c, std::span<const TensorSpec> outputs) {
  const size_t q = products > 2 ? 1 : 0;
  const Shape &query = c.shape(q), &key = c.shape(q + 1);
  const double scores = static_cast<double>(query[0] * query[1] * query[2] * key[1]);
  Cost cost{scores * static_cast<double>(2 * products * query[3] + 12) * (c.attributes.get<bool>("causal") ? 0.5 : 1.0),
            0};
  for (const TensorSpec& input : c.inputs) cost.bytes += static_cast<double>(input.bytes());
  for (const TensorSpec& output : outputs) cost.bytes += static_cast<double>(output.bytes());
  return cost;
}

const Op& kAttentionBackward =
    register_op({.name = "attention_backward",
                 .doc = "Gradients of attention by query, key and value; scores are computed again block by block.",
                 .arity = -1,  // dy, query, key, value, y, log_sum, mask?; kept: y and the probabilities end the list
                 .rule = [](const RuleContext& c) -> Specs {
                   need_heads(c, 1, 6);
                   return {c[1], c[2], c[3]};
                 },
                 .no_gradient = "it is a first derivative computed in blocks; write attention with matmul and softmax "
                                "for more",
                 .cost = product_cost<5>});

const Op& kAttention =
    register_op({.name = "attention",
                 .doc = "softmax(scale q k^T) v for every head, without storing the scores.",
                 .arity = -1,  // query, key, value, mask?
                 .rule = [](const RuleContext& c) -> Specs {
                   need_heads(c, 0, 3);
                   const Shape &q = c.shape(0), &v = c.shape(2);
                   Specs out{{c.dtype(), q.with(3, v[3])}, {c.dtype(), {q[0], q[2], q[1]}}};
                   if (const int64_t width = c.attributes.get_or<int64_t>("kept", 0); width > 0)
                     out.push_back({c.dtype(), {q[0], q[2], q[1], width}});
                   return out;
                 },
                 .gradient = [](G g) -> Gradients {
                   std::vector<Tensor> inputs{g.grad(), g.input(0), g.input(1), g.input(2), g.output(0), g.output(1)};
                   const bool masked = g.inputs() > 3;
                   if (masked) inputs.push_back(g.input(3));
                   Gradients out = apply_many(kAttentionBackward, inputs, g.attributes());
                   if (masked) out.emplace_back();
                   return out;
                 },
                 .cost = product_cost<2>});

[[maybe_unused]] const bool kAttentionComposites = register_composites({
    {"rotary_positions", "Pairs of features turned by angles that grow with the position."},
    {"sinusoidal_positions", "Sines and cosines of the position."},
});

}  // namespace

Tensor attention(const Operand& query, const Tensor& key, const Tensor& value, AttentionOptions options) {
  const Tensor given = query.tensor();
  const DType wide = given.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const double scale = options.scale != 0  ? options.scale
                       : given.rank() == 4 ? 1 / std::sqrt(static_cast<double>(std::max<int64_t>(given.dim(3), 1)))
                                           : 1;
  std::vector<Tensor> inputs{cast(Operand(given, query.where()), wide), cast(key, wide), cast(value, wide)};
  if (options.mask.defined()) inputs.push_back(options.mask);
  const Tensor y = apply(kAttention, inputs, {{"causal", options.causal}, {"scale", scale}}, query.where());
  return is_floating(given.dtype()) ? cast(y, given.dtype()) : y;
}

Tensor rotary_positions(const Operand& x, double base, int64_t first) {
  const Tensor t = x.tensor();
  if (t.rank() < 3 || t.dim(-1) % 2 != 0)
    fail<ShapeError>("rotary_positions", "needs (…, steps, heads, an even number of features), got {}", t.shape());
  const int64_t steps = t.dim(-3), half = t.dim(-1) / 2;
  std::vector<double> cosines, sines;
  for (int64_t i = 0; i < steps; ++i)
    for (int64_t j = 0; j < half; ++j) {
      const double angle =
          static_cast<double>(first + i) * std::pow(base, -static_cast<double>(j) / static_cast<double>(half));
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
  const auto table = [&](const std::vector<double>& values) {
    return cast(tensor(values, {steps, 1, half}), t.dtype());
  };
  const Tensor c = table(cosines), s = table(sines);
  const std::vector<Tensor> parts = split(x, 2, -1);
  return concat({parts[0] * c - parts[1] * s, parts[1] * c + parts[0] * s}, -1);
}

Tensor sinusoidal_positions(int64_t length, int64_t features, double base) {
  if (length < 1 || features < 1)
    fail<ValueError>("sinusoidal_positions", "needs a length and features, got {} and {}", length, features);
  std::vector<float> values;
  for (int64_t i = 0; i < length; ++i)
    for (int64_t j = 0; j < features; ++j) {
      const double angle =
          static_cast<double>(i) * std::pow(base, -static_cast<double>(j / 2 * 2) / static_cast<double>(features));
      values.push_back(static_cast<float>(j % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  return Tensor::from_buffer(std::move(values), {length, features});
}

}  // namespace isochron
