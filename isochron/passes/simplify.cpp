// Algebra. Results keep their IEEE meaning, with these exceptions, each at most a rounding or a sign of zero apart:
// x + 0 is x (for x = -0 the sum would be +0); (x * a) * b is x * (a * b) when that product is a normal number;
// pow(x, 0.5) is sqrt(x), which differs at -0 and -infinity. x * 0 is 0 for integers only, for NaN times 0 is NaN.
#include <cmath>
#include <limits>

#include "isochron/passes/constants.h"
#include "isochron/passes/known_ops.h"
#include "isochron/passes/rewrites.h"

namespace isochron {
namespace {

using Result = std::optional<ValueId>;

// `v` in the shape of the node it stands for.
ValueId shaped(Rewriter& r, ValueId v, const Shape& shape, ValueId like) {
  if (r.graph.spec(v).shape == shape) return v;
  return r.add(*known_ops().broadcast_to, {v}, {{"shape", shape.to_vector()}}, like);
}

// No information is lost from a to b.
bool widens(DType a, DType b) {
  if (a == b || a == DType::boolean) return true;
  switch (b) {
    case DType::float64:
      return a != DType::int64;
    case DType::float32:
      return a == DType::bfloat16 || a == DType::float16 || a == DType::uint8;
    case DType::int64:
      return a == DType::int32 || a == DType::uint8;
    case DType::int32:
      return a == DType::uint8;
    default:
      return false;
  }
}

Result simplify_cast(Rewriter& r, ValueId v, ValueId x, const TensorSpec& spec) {
  const KnownOps& k = known_ops();
  if (r.graph.spec(x).dtype == spec.dtype) return x;
  if (r.graph[x].op != k.cast) return std::nullopt;
  const ValueId source = r.graph[x].inputs[0];
  const DType from = r.graph.spec(source).dtype, through = r.graph.spec(x).dtype;
  if (!widens(from, through)) return std::nullopt;
  if (from == spec.dtype) return source;
  // A float goes into an integer by clamping, an integer by wrapping.
  if (from != DType::boolean && is_floating(from) != is_floating(through) && !is_floating(spec.dtype))
    return std::nullopt;
  return r.add(*k.cast, {source}, {{"dtype", static_cast<int64_t>(spec.dtype)}}, v);
}

Result simplify_power(Rewriter& r, ValueId v, ValueId x, double power, const TensorSpec& spec) {
  const KnownOps& k = known_ops();
  if (r.graph.spec(x).shape != spec.shape) return std::nullopt;
  if (power == 1) return x;
  if (power == 0) return add_splat(r, 1, spec, v);
  const Op* op = power == 2                 ? k.square
                 : !is_floating(spec.dtype) ? nullptr
                 : power == 0.5             ? k.sqrt
                 : power == -0.5            ? k.rsqrt
                 : power == -1              ? k.reciprocal
                                            : nullptr;
  if (!op) return std::nullopt;
  return r.add(*op, {x}, {}, v);
}

bool normal_in(double number, DType dtype) {
  if (!is_floating(dtype)) return true;
  const double least = dtype == DType::float64   ? std::numeric_limits<double>::min()
                       : dtype == DType::float16 ? 0x1p-14
                                                 : std::numeric_limits<float>::min();
  return std::isfinite(number) && std::abs(number) >= least;
}

Result simplify_product(Rewriter& r, ValueId v, ValueId x, double factor, const TensorSpec& spec) {
  const KnownOps& k = known_ops();
  if (factor == 1) return shaped(r, x, spec.shape, v);
  if (factor == 0 && !is_floating(spec.dtype)) return add_splat(r, 0, spec, v);
  if (r.graph.spec(x).shape != spec.shape) return std::nullopt;
  if (factor == -1) return r.add(*k.neg, {x}, {}, v);
  if (r.graph[x].op != k.mul && r.graph[x].op != k.neg) return std::nullopt;
  ValueId inner = r.graph[x].inputs[0];
  std::optional<double> other = -1;
  if (r.graph[x].op == k.mul) {
    other = splat_of(r.graph, r.graph[x].inputs[1]);
    if (!other) {
      other = splat_of(r.graph, inner);
      inner = r.graph[x].inputs[1];
    }
  }
  if (!other || r.graph.spec(inner).shape != spec.shape) return std::nullopt;
  const double factors[] = {*other, factor};
  const std::optional<double> both = fold(*k.mul, factors, spec.dtype, spec.dtype);
  if (!both || !normal_in(*both, spec.dtype)) return std::nullopt;
  return r.add(*k.mul, {inner, add_splat(r, *both, {spec.dtype, {}}, v)}, {}, v);
}

// `c` is the constant operand, the second one unless `first`.
Result simplify_with_number(Rewriter& r, ValueId v, const Op* op, ValueId x, double c, bool first,
                            const TensorSpec& spec) {
  const KnownOps& k = known_ops();
  if (op == k.mul) return simplify_product(r, v, x, c, spec);
  if (op == k.add && c == 0) return shaped(r, x, spec.shape, v);
  if (first) return std::nullopt;
  if (op == k.sub && c == 0) return shaped(r, x, spec.shape, v);
  if (op == k.div && c == 1) return shaped(r, x, spec.shape, v);
  if (op == k.pow) return simplify_power(r, v, x, c, spec);
  int exponent = 0;
  if (op == k.div && std::abs(std::frexp(c, &exponent)) == 0.5 && normal_in(1 / c, spec.dtype))
    return r.add(*k.mul, {x, add_splat(r, 1 / c, {spec.dtype, {}}, v)}, {}, v);
  return std::nullopt;
}

Result simplify_signs(Rewriter& r, ValueId v, const Op* op, ValueId a, ValueId b) {
  const KnownOps& k = known_ops();
  if (op == k.add && r.graph[b].op == k.neg) return r.add(*k.sub, {a, r.graph[b].inputs[0]}, {}, v);
  if (op == k.add && r.graph[a].op == k.neg) return r.add(*k.sub, {b, r.graph[a].inputs[0]}, {}, v);
  if (op == k.sub && r.graph[b].op == k.neg) return r.add(*k.add, {a, r.graph[b].inputs[0]}, {}, v);
  if ((op == k.mul || op == k.div) && r.graph[a].op == k.neg && r.graph[b].op == k.neg)
    return r.add(*op, {r.graph[a].inputs[0], r.graph[b].inputs[0]}, {}, v);
  return std::nullopt;
}

Result simplify_pair(Rewriter& r, ValueId v, const Op* op, ValueId a, ValueId b, const TensorSpec& spec) {
  const KnownOps& k = known_ops();
  if (a == b && op == k.mul) return r.add(*k.square, {a}, {}, v);
  if (a == b && (op == k.minimum || op == k.maximum || op == k.logical_and || op == k.logical_or)) return a;
  if (const auto c = splat_of(r.graph, b))
    if (Result result = simplify_with_number(r, v, op, a, *c, false, spec)) return result;
  if (const auto c = splat_of(r.graph, a))
    if (Result result = simplify_with_number(r, v, op, b, *c, true, spec)) return result;
  return simplify_signs(r, v, op, a, b);
}

Result simplify_node(Rewriter& r, ValueId v) {
  const KnownOps& k = known_ops();
  const GraphNode& node = r.graph[v];
  const Op* op = node.op;
  if (op == k.recompute) return node.inputs[0];  // gradients have been taken: it has done its work
  if (!op->elementwise || node.inputs.empty()) return std::nullopt;
  const TensorSpec spec = node.outputs[0];
  const ValueId a = node.inputs[0];
  if (op == k.stop_gradient) return a;
  if (op == k.cast) return simplify_cast(r, v, a, spec);
  if ((op == k.neg || op == k.logical_not) && r.graph[a].op == op) return r.graph[a].inputs[0];
  if (op == k.square && (r.graph[a].op == k.neg || r.graph[a].op == k.abs))
    return r.add(*k.square, {r.graph[a].inputs[0]}, {}, v);
  if (op == k.where) {
    const ValueId b = node.inputs[1], c = node.inputs[2];
    if (const auto condition = splat_of(r.graph, a)) return shaped(r, *condition != 0 ? b : c, spec.shape, v);
    if (b == c) return shaped(r, b, spec.shape, v);
  }
  if (node.inputs.size() == 2) return simplify_pair(r, v, op, a, node.inputs[1], spec);
  return std::nullopt;
}

}  // namespace

void simplify_algebra(Graph& graph) { rewrite(graph, simplify_node); }

}  // namespace isochron
