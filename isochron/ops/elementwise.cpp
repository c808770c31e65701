// Elementwise ops: rules, gradients, and the functions users call.
#include "isochron/ops/elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "isochron/ops/create.h"
#include "isochron/ops/no_grad.h"
#include "isochron/ops/op.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

Specs same(const RuleContext& c) { return {c[0]}; }

Specs numeric(const RuleContext& c) {
  if (c.dtype() == DType::boolean) fail<DTypeError>(c.op, "needs numbers, got bool");
  return {c[0]};
}

Specs real(const RuleContext& c) { return {{is_floating(c.dtype()) ? c.dtype() : DType::float32, c.shape()}}; }

Specs truth(const RuleContext& c) { return {{DType::boolean, c.shape()}}; }

Shape broadcast_all(const RuleContext& c) {
  Shape shape = c.shape(0);
  for (size_t i = 1; i < c.inputs.size(); ++i) shape = broadcast(c.op, shape, c.shape(i));
  return shape;
}

void need_equal_dtypes(const RuleContext& c, size_t i, size_t j) {
  if (c.dtype(i) != c.dtype(j)) fail<DTypeError>(c.op, "needs equal dtypes, got {} and {}", c.dtype(i), c.dtype(j));
}

Specs arithmetic(const RuleContext& c) {
  need_equal_dtypes(c, 0, 1);
  if (c.dtype() == DType::boolean) fail<DTypeError>(c.op, "needs numbers, got bool; cast first");
  return {{c.dtype(), broadcast_all(c)}};
}

Specs real_pair(const RuleContext& c) {
  Specs specs = arithmetic(c);
  if (!is_floating(c.dtype())) fail<DTypeError>(c.op, "needs floating operands, got {}", c.dtype());
  return specs;
}

Specs comparison(const RuleContext& c) {
  need_equal_dtypes(c, 0, 1);
  return {{DType::boolean, broadcast_all(c)}};
}

Specs logical(const RuleContext& c) {
  for (size_t i = 0; i < c.inputs.size(); ++i)
    if (c.dtype(i) != DType::boolean) fail<DTypeError>(c.op, "needs bool operands, got {}", c.dtype(i));
  return {{DType::boolean, broadcast_all(c)}};
}

Specs selection(const RuleContext& c) {
  if (c.dtype(0) != DType::boolean) fail<DTypeError>(c.op, "the condition must be bool, got {}", c.dtype(0));
  need_equal_dtypes(c, 1, 2);
  return {{c.dtype(1), broadcast_all(c)}};
}

Specs casting(const RuleContext& c) { return {{static_cast<DType>(c.attributes.get<int64_t>("dtype")), c.shape()}}; }

using G = const GradientContext&;
constexpr const char* kSteps = "it is piecewise constant: its derivative is zero wherever it exists";
constexpr const char* kTruth = "its result is bool";

const Op& unary(const char* name, const char* doc, Specs (*rule)(const RuleContext&),
                Gradients (*gradient)(const GradientContext&), const char* no_gradient = nullptr) {
  return register_op({.name = name,
                      .doc = doc,
                      .arity = 1,
                      .rule = rule,
                      .gradient = gradient,
                      .no_gradient = no_gradient,
                      .elementwise = true});
}

const Op& binary(const char* name, const char* doc, Specs (*rule)(const RuleContext&),
                 Gradients (*gradient)(const GradientContext&), bool commutative, const char* no_gradient = nullptr) {
  return register_op({.name = name,
                      .doc = doc,
                      .arity = 2,
                      .rule = rule,
                      .gradient = gradient,
                      .no_gradient = no_gradient,
                      .elementwise = true,
                      .commutative = commutative});
}

// Gradients of a binary op, summed back to the operands' shapes; computed only where wanted.
template <class A, class B>
Gradients pair_gradients(G g, A&& da, B&& db) {
  Gradients out(2);
  if (g.wanted(0)) out[0] = sum_to(da(), g.input(0).shape());
  if (g.wanted(1)) out[1] = sum_to(db(), g.input(1).shape());
  return out;
}

Tensor masked(const Tensor& mask, const Tensor& gradient) { return where(mask, gradient, 0); }

// --- binary -------------------------------------------------------------------------------------------
const Op& kAdd = binary(
    "add", "a + b.", arithmetic,
    [](G g) {
      return pair_gradients(
          g, [&] { return g.grad(); }, [&] { return g.grad(); });
    },
    true);
const Op& kSub = binary(
    "sub", "a - b.", arithmetic,
    [](G g) {
      return pair_gradients(
          g, [&] { return g.grad(); }, [&] { return -g.grad(); });
    },
    false);
const Op& kMul = binary(
    "mul", "a * b.", arithmetic,
    [](G g) {
      return pair_gradients(
          g, [&] { return g.grad() * g.input(1); }, [&] { return g.grad() * g.input(0); });
    },
    true);
const Op& kDiv = binary(
    "div", "a / b, true division.", real_pair,
    [](G g) {
      return pair_gradients(
          g, [&] { return g.grad() / g.input(1); }, [&] { return -g.grad() * g.output() / g.input(1); });
    },
    false);
const Op& kPow = binary(
    "pow", "a to the power b.", arithmetic,
    [](G g) {
      const Tensor a = g.input(0), b = g.input(1);
      return pair_gradients(
          // The slope of a constant is 0, also where pow(a, -1) is infinite.
          g, [&] { return g.grad() * where(equal(b, 0), 0, b * pow(a, b - 1)); },
          [&] { return g.grad() * where(a > 0, g.output() * log(where(a > 0, a, 1)), 0); });
    },
    false);
const Op& kMinimum = binary(
    "minimum", "The smaller of a and b; NaN if either is.", arithmetic,
    [](G g) {
      const Tensor first = less_equal(g.input(0), g.input(1));
      return pair_gradients(
          g, [&] { return masked(first, g.grad()); }, [&] { return masked(logical_not(first), g.grad()); });
    },
    true);
const Op& kMaximum = binary(
    "maximum", "The larger of a and b; NaN if either is.", arithmetic,
    [](G g) {
      const Tensor first = greater_equal(g.input(0), g.input(1));
      return pair_gradients(
          g, [&] { return masked(first, g.grad()); }, [&] { return masked(logical_not(first), g.grad()); });
    },
    true);
const Op& kFloorDiv = binary("floor_div", "a / b rounded towards minus infinity; of integers by 0 it is 0.", arithmetic,
                             nullptr, false, kSteps);
const Op& kMod = binary(
    "mod", "Remainder of floor_div; has the sign of b. Of integers by 0 it is 0.", arithmetic,
    [](G g) {
      return pair_gradients(
          g, [&] { return g.grad(); }, [&] { return -g.grad() * stop_gradient(floor_div(g.input(0), g.input(1))); });
    },
    false);

// --- comparisons and logic ----------------------------------------------------------------------------
const Op& kEqual = binary("equal", "a == b.", comparison, nullptr, true, kTruth);
const Op& kNotEqual = binary("not_equal", "a != b.", comparison, nullptr, true, kTruth);
const Op& kLess = binary("less", "a < b.", comparison, nullptr, false, kTruth);
const Op& kLessEqual = binary("less_equal", "a <= b.", comparison, nullptr, false, kTruth);
const Op& kGreater = binary("greater", "a > b.", comparison, nullptr, false, kTruth);
const Op& kGreaterEqual = binary("greater_equal", "a >= b.", comparison, nullptr, false, kTruth);
const Op& kAnd = binary("logical_and", "a and b.", logical, nullptr, true, kTruth);
const Op& kOr = binary("logical_or", "a or b.", logical, nullptr, true, kTruth);
const Op& kXor = binary("logical_xor", "Either a or b.", logical, nullptr, true, kTruth);
const Op& kNot = unary("logical_not", "Not x.", logical, nullptr, kTruth);
const Op& kIsNan = unary("is_nan", "True where x is NaN.", truth, nullptr, kTruth);
const Op& kIsInf = unary("is_inf", "True where x is infinite.", truth, nullptr, kTruth);
const Op& kIsFinite = unary("is_finite", "True where x is neither NaN nor infinite.", truth, nullptr, kTruth);

// --- unary --------------------------------------------------------------------------------------------
const Op& kNeg = unary("neg", "-x.", numeric, [](G g) -> Gradients { return {-g.grad()}; });
const Op& kAbs = unary("abs", "Absolute value.", numeric,
                       [](G g) -> Gradients { return {g.grad() * stop_gradient(sign(g.input()))}; });
const Op& kSign = unary("sign", "-1, 0 or 1.", numeric, nullptr, kSteps);
const Op& kFloor = unary("floor", "The largest integer not above x.", numeric, nullptr, kSteps);
const Op& kCeil = unary("ceil", "The smallest integer not below x.", numeric, nullptr, kSteps);
const Op& kRound = unary("round", "The nearest integer, halves to even.", numeric, nullptr, kSteps);
const Op& kSquare = unary("square", "x * x.", numeric, [](G g) -> Gradients { return {g.grad() * (g.input() * 2)}; });
const Op& kSqrt = unary("sqrt", "Square root.", real, [](G g) -> Gradients { return {g.grad() * 0.5 / g.output()}; });
const Op& kRsqrt = unary("rsqrt", "1 / sqrt(x).", real,
                         [](G g) -> Gradients { return {g.grad() * -0.5 * g.output() * square(g.output())}; });
const Op& kReciprocal =
    unary("reciprocal", "1 / x.", real, [](G g) -> Gradients { return {-g.grad() * square(g.output())}; });
const Op& kExp = unary("exp", "e to the power x.", real, [](G g) -> Gradients { return {g.grad() * g.output()}; });
const Op& kLog = unary("log", "Natural logarithm.", real, [](G g) -> Gradients { return {g.grad() / g.input()}; });
const Op& kLog1p =
    unary("log1p", "log(1 + x), exact near zero.", real, [](G g) -> Gradients { return {g.grad() / (g.input() + 1)}; });
const Op& kExpm1 = unary("expm1", "exp(x) - 1, exact near zero.", real,
                         [](G g) -> Gradients { return {g.grad() * (g.output() + 1)}; });
const Op& kSin = unary("sin", "Sine.", real, [](G g) -> Gradients { return {g.grad() * cos(g.input())}; });
const Op& kCos = unary("cos", "Cosine.", real, [](G g) -> Gradients { return {-g.grad() * sin(g.input())}; });
const Op& kTanh =
    unary("tanh", "Hyperbolic tangent.", real, [](G g) -> Gradients { return {g.grad() * (1 - square(g.output()))}; });
const Op& kSigmoid = unary("sigmoid", "1 / (1 + exp(-x)).", real,
                           [](G g) -> Gradients { return {g.grad() * (g.output() * (1 - g.output()))}; });
const Op& kErf = unary("erf", "Error function.", real, [](G g) -> Gradients {
  return {g.grad() * (2 * std::numbers::inv_sqrtpi) * exp(-square(g.input()))};
});
const Op& kRelu =
    unary("relu", "max(x, 0).", numeric, [](G g) -> Gradients { return {masked(g.output() > 0, g.grad())}; });
const Op& kLeakyRelu = unary("leaky_relu", "x where x > 0, slope * x elsewhere.", real, [](G g) -> Gradients {
  return {where(g.input() > 0, g.grad(), g.grad() * g.attributes().get<double>("alpha"))};
});
const Op& kElu = unary("elu", "x where x > 0, alpha * (exp(x) - 1) elsewhere.", real, [](G g) -> Gradients {
  return {where(g.input() > 0, g.grad(), g.grad() * (g.output() + g.attributes().get<double>("alpha")))};
});
constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
const Op& kSelu = unary("selu", "Scaled elu that keeps mean and variance.", real, [](G g) -> Gradients {
  return {where(g.input() > 0, g.grad() * kSeluScale, g.grad() * (g.output() + kSeluScale * kSeluAlpha))};
});
const Op& kGelu =
    unary("gelu", "x * Phi(x), Phi the normal distribution; or its tanh approximation.", real, [](G g) -> Gradients {
      const Tensor x = g.input();
      if (g.attributes().get<bool>("approximate")) {
        const double c = std::sqrt(2 / std::numbers::pi);
        const Tensor t = tanh(c * (x + 0.044715 * x * square(x)));
        const Tensor dt = (1 - square(t)) * (c * (1 + 3 * 0.044715 * square(x)));
        return {g.grad() * (0.5 * (1 + t) + 0.5 * x * dt)};
      }
      const Tensor cdf = 0.5 * (1 + erf(x * (1 / std::numbers::sqrt2)));
      const Tensor pdf = exp(square(x) * -0.5) * (0.5 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
      return {g.grad() * (cdf + x * pdf)};
    });
const Op& kSilu = unary("silu", "x * sigmoid(x), also called swish.", real, [](G g) -> Gradients {
  const Tensor s = sigmoid(g.input());
  return {g.grad() * (s + g.output() * (1 - s))};
});
const Op& kSoftplus =
    unary("softplus", "log(1 + exp(x)).", real, [](G g) -> Gradients { return {g.grad() * sigmoid(g.input())}; });
const Op& kClip = unary("clip", "x limited to [low, high].", numeric, [](G g) -> Gradients {
  const Tensor inside = logical_and(greater_equal(g.input(), g.attributes().get<double>("low")),
                                    less_equal(g.input(), g.attributes().get<double>("high")));
  return {masked(inside, g.grad())};
});
const Op& kCast = unary("cast", "The same numbers in another dtype; floats to integers drop the fraction.", casting,
                        [](G g) -> Gradients {
                          if (!is_floating(g.input().dtype())) return {Tensor()};
                          return {cast(g.grad(), g.input().dtype())};
                        });
const Op& kStopGradient =
    unary("stop_gradient", "x, through which no gradient flows.", same, nullptr, "it exists to stop gradients");

const Op& kWhere = register_op({.name = "where",
                                .doc = "a where the condition holds, b elsewhere.",
                                .arity = 3,
                                .rule = selection,
                                .gradient = [](G g) -> Gradients {
                                  Gradients out(3);
                                  if (g.wanted(1)) out[1] = sum_to(where(g.input(0), g.grad(), 0), g.input(1).shape());
                                  if (g.wanted(2)) out[2] = sum_to(where(g.input(0), 0, g.grad()), g.input(2).shape());
                                  return out;
                                },
                                .elementwise = true});

Tensor apply_pair(const Op& op, const Operand& a, const Operand& b) {
  const auto [x, y] = meet(op.name, a, b);
  return apply(op, {x, y}, {}, a.where());
}

// Integers and a number that does not fit them are compared in int64; one beyond that too is more than any of them.
Tensor compare(const Op& op, const Operand& a, const Operand& b) {
  const DType dtype = meeting_dtype(a, b);
  if (a.fits(dtype) && b.fits(dtype)) return apply_pair(op, a, b);
  const auto bounded = [](const Operand& x) { return x.fits(DType::int64) ? x : Operand(INFINITY, x.where()); };
  const bool whole = a.fits(DType::int64) && b.fits(DType::int64);
  const auto [x, y] = meet(op.name, bounded(a), bounded(b), whole ? DType::int64 : DType::float64);
  return apply(op, {x, y}, {}, a.where());
}

Tensor apply_one(const Op& op, const Operand& x, Attributes attributes = {}) {
  return apply(op, {x.tensor()}, std::move(attributes), x.where());
}

Tensor truth_of(const Operand& x) {
  const Tensor t = x.is_number() ? x.tensor(DType::boolean) : x.tensor();
  return t.dtype() == DType::boolean ? t : cast(Operand(t, x.where()), DType::boolean);
}

}  // namespace

Tensor sum_to(const Tensor& gradient, const Shape& shape) {
  if (gradient.shape() == shape) return gradient;
  std::vector<int64_t> axes;
  const int extra = gradient.rank() - shape.rank();
  for (int i = 0; i < gradient.rank(); ++i)
    if (i < extra || (shape[i - extra] == 1 && gradient.shape()[i] != 1)) axes.push_back(i);
  if (axes.empty()) return reshape(gradient, shape.to_vector());
  return reshape(sum(gradient, axes), shape.to_vector());
}

Tensor add(const Operand& a, const Operand& b) { return apply_pair(kAdd, a, b); }
Tensor sub(const Operand& a, const Operand& b) { return apply_pair(kSub, a, b); }
Tensor mul(const Operand& a, const Operand& b) { return apply_pair(kMul, a, b); }
Tensor floor_div(const Operand& a, const Operand& b) { return apply_pair(kFloorDiv, a, b); }
Tensor mod(const Operand& a, const Operand& b) { return apply_pair(kMod, a, b); }
Tensor pow(const Operand& a, const Operand& b) {
  if (b.is_number() && b.number() < 0 && is_integral(meeting_dtype(a, b)))
    fail<ValueError>("pow",
                     "whole numbers have no negative whole powers, got exponent {}: cast the base to a float first",
                     b.number());
  return apply_pair(kPow, a, b);
}
Tensor minimum(const Operand& a, const Operand& b) { return apply_pair(kMinimum, a, b); }
Tensor maximum(const Operand& a, const Operand& b) { return apply_pair(kMaximum, a, b); }
Tensor div(const Operand& a, const Operand& b) {
  const DType dtype = meeting_dtype(a, b);
  const auto [x, y] = meet("div", a, b, is_floating(dtype) ? dtype : DType::float32);
  return apply(kDiv, {x, y}, {}, a.where());
}

Tensor neg(const Operand& x) { return apply_one(kNeg, x); }
Tensor abs(const Operand& x) { return apply_one(kAbs, x); }
Tensor sign(const Operand& x) { return apply_one(kSign, x); }
Tensor floor(const Operand& x) { return apply_one(kFloor, x); }
Tensor ceil(const Operand& x) { return apply_one(kCeil, x); }
Tensor round(const Operand& x) { return apply_one(kRound, x); }
Tensor square(const Operand& x) { return apply_one(kSquare, x); }
Tensor sqrt(const Operand& x) { return apply_one(kSqrt, x); }
Tensor rsqrt(const Operand& x) { return apply_one(kRsqrt, x); }
Tensor reciprocal(const Operand& x) { return apply_one(kReciprocal, x); }
Tensor exp(const Operand& x) { return apply_one(kExp, x); }
Tensor log(const Operand& x) { return apply_one(kLog, x); }
Tensor log1p(const Operand& x) { return apply_one(kLog1p, x); }
Tensor expm1(const Operand& x) { return apply_one(kExpm1, x); }
Tensor sin(const Operand& x) { return apply_one(kSin, x); }
Tensor cos(const Operand& x) { return apply_one(kCos, x); }
Tensor tanh(const Operand& x) { return apply_one(kTanh, x); }
Tensor sigmoid(const Operand& x) { return apply_one(kSigmoid, x); }
Tensor erf(const Operand& x) { return apply_one(kErf, x); }
Tensor relu(const Operand& x) { return apply_one(kRelu, x); }
Tensor leaky_relu(const Operand& x, double slope) { return apply_one(kLeakyRelu, x, {{"alpha", slope}}); }
Tensor elu(const Operand& x, double alpha) { return apply_one(kElu, x, {{"alpha", alpha}}); }
Tensor selu(const Operand& x) { return apply_one(kSelu, x); }
Tensor gelu(const Operand& x, bool approximate) { return apply_one(kGelu, x, {{"approximate", approximate}}); }
Tensor silu(const Operand& x) { return apply_one(kSilu, x); }
Tensor softplus(const Operand& x) { return apply_one(kSoftplus, x); }
Tensor clip(const Operand& x, double low, double high) {
  if (!(low <= high)) fail<ValueError>("clip", "low must not be above high, got {} and {}", low, high);
  const auto whole = [](double bound) { return std::isinf(bound) || bound == std::trunc(bound); };
  const DType dtype = x.tensor().dtype();
  const bool between = is_integral(dtype) && !(whole(low) && whole(high));
  if (is_integral(dtype) && !between)
    visit_dtype(dtype, [&]<class T>(Type<T>) {
      const auto least = static_cast<double>(std::numeric_limits<T>::lowest()),
                 most = static_cast<double>(std::numeric_limits<T>::max());
      low = std::clamp(low, least, most);
      high = std::clamp(high, least, most);
    });
  return apply_one(kClip, between ? Operand(cast(x, DType::float32), x.where()) : x, {{"low", low}, {"high", high}});
}

Tensor equal(const Operand& a, const Operand& b) { return compare(kEqual, a, b); }
Tensor not_equal(const Operand& a, const Operand& b) { return compare(kNotEqual, a, b); }
Tensor less(const Operand& a, const Operand& b) { return compare(kLess, a, b); }
Tensor less_equal(const Operand& a, const Operand& b) { return compare(kLessEqual, a, b); }
Tensor greater(const Operand& a, const Operand& b) { return compare(kGreater, a, b); }
Tensor greater_equal(const Operand& a, const Operand& b) { return compare(kGreaterEqual, a, b); }
Tensor logical_and(const Operand& a, const Operand& b) {
  return apply(kAnd, {truth_of(a), truth_of(b)}, {}, a.where());
}
Tensor logical_or(const Operand& a, const Operand& b) { return apply(kOr, {truth_of(a), truth_of(b)}, {}, a.where()); }
Tensor logical_xor(const Operand& a, const Operand& b) {
  return apply(kXor, {truth_of(a), truth_of(b)}, {}, a.where());
}
Tensor logical_not(const Operand& x) { return apply(kNot, {truth_of(x)}, {}, x.where()); }
Tensor is_nan(const Operand& x) { return apply_one(kIsNan, x); }
Tensor is_inf(const Operand& x) { return apply_one(kIsInf, x); }
Tensor is_finite(const Operand& x) { return apply_one(kIsFinite, x); }

Tensor where(const Operand& condition, const Operand& a, const Operand& b) {
  const auto [x, y] = meet("where", a, b);
  return apply(kWhere, {truth_of(condition), x, y}, {}, condition.where());
}

Tensor cast(const Operand& x, DType dtype) {
  const Tensor t = x.tensor(dtype, "cast");
  if (t.dtype() == dtype) return t;
  return apply(kCast, {t}, {{"dtype", static_cast<int64_t>(dtype)}}, x.where());
}

Tensor stop_gradient(const Operand& x) {
  Tensor y = apply_one(kStopGradient, x);
  y.value().node->set_differentiable(false);
  return y;
}

// --- operands -----------------------------------------------------------------------------------------
bool Operand::fits(DType dtype) const {
  if (!is_number()) return true;
  return visit_dtype(dtype, [&]<class T>(Type<T>) { return integer_ ? holds<T>(*integer_) : holds<T>(number_); });
}

Tensor Operand::tensor(DType like, std::string_view op) const {
  if (!is_number()) return tensor_;
  if (!fits(like)) {
    constexpr const char* kText = "{} does not fit {}; use a dtype that it fits (cast the tensor first)";
    integer_ ? fail<ValueError>(op, kText, *integer_, like) : fail<ValueError>(op, kText, number_, like);
  }
  // The constants of a graph are doubles.
  constexpr int64_t kExact = int64_t{1} << 53;
  if (like == DType::int64 && integer_ && (*integer_ > kExact || *integer_ < -kExact)) return scalar(*integer_, like);
  return constant(number_, like);
}

DType Operand::dtype_with(DType other) const {
  if (!is_number()) return promote(tensor_.dtype(), other);
  if (!integral_) return is_floating(other) ? other : DType::float32;
  if (other != DType::boolean || number_ == 0 || number_ == 1) return other;
  return fits(DType::int32) ? DType::int32 : DType::int64;
}

DType meeting_dtype(const Operand& a, const Operand& b) {
  if (!a.is_number()) return b.dtype_with(a.tensor().dtype());
  if (!b.is_number()) return a.dtype_with(b.tensor().dtype());
  return a.integral() && b.integral() ? DType::int64 : DType::float32;
}

OperandPair meet(std::string_view op, const Operand& a, const Operand& b, DType dtype) {
  return {cast(Operand(a.tensor(dtype, op), a.where()), dtype), cast(Operand(b.tensor(dtype, op), b.where()), dtype)};
}
OperandPair meet(std::string_view op, const Operand& a, const Operand& b) {
  return meet(op, a, b, meeting_dtype(a, b));
}

Tensor& replace_value(Tensor& a, const Tensor& value) {
  if (!NoGradGuard::active() || !a.state()->variable) return a = value;
  Variable::of(a).assign(value);
  return a;
}

Tensor Tensor::to(DType dtype) const { return cast(*this, dtype); }
Tensor Tensor::detach() const { return stop_gradient(*this); }

// A leaf of its own on the same bytes (which are copied before they are overwritten), for a trace that captures it
// takes the variable's own leaf for the variable. What is pending, or read in a trace, is no leaf.
Tensor Variable::read() const {
  const Value& now = state_->value;
  if (tracing_on_this_thread() || !now.node->computed()) return Tensor(now);
  const Value kept = make_leaf(now.spec(), now.node->results[static_cast<size_t>(now.index)], LeafRole::data);
  kept.node->variable = state_->variable;
  kept.node->differentiable = now.node->differentiable;
  return Tensor(kept);
}
// From the variable's own leaf, whose bytes are then updated in place.
void Variable::assign_add(const Tensor& value) const { assign(Tensor(state_->value) + value); }
void Variable::assign_sub(const Tensor& value) const { assign(Tensor(state_->value) - value); }

}  // namespace isochron
