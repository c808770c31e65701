#include "isochron/passes/constants.h"

#include <algorithm>
#include <cmath>

#include "isochron/passes/known_ops.h"

namespace isochron {
namespace {

// Integers wrap, as they do in the kernels.
template <class T>
double wrapped(const Op& op, std::span<const double> x, bool& known) {
  using U = std::make_unsigned_t<T>;
  const KnownOps& k = known_ops();
  const auto a = static_cast<T>(x[0]), b = x.size() > 1 ? static_cast<T>(x[1]) : T{};
  const auto ua = static_cast<U>(a), ub = static_cast<U>(b);
  T result{};
  if (&op == k.add) {
    result = static_cast<T>(ua + ub);
  } else if (&op == k.sub) {
    result = static_cast<T>(ua - ub);
  } else if (&op == k.mul || &op == k.square) {
    result = static_cast<T>(uint64_t{ua} * uint64_t{&op == k.square ? ua : ub});
  } else if (&op == k.neg) {
    result = static_cast<T>(U{0} - ua);
  } else if (&op == k.minimum || &op == k.maximum) {
    result = &op == k.minimum ? std::min(a, b) : std::max(a, b);
  } else {
    known = false;
  }
  known &= std::abs(static_cast<double>(result)) <= 0x1p53;
  return static_cast<double>(result);
}

template <class T>
double real(const Op& op, std::span<const double> x, bool& known) {
  const KnownOps& k = known_ops();
  const T a = static_cast<T>(x[0]), b = x.size() > 1 ? static_cast<T>(x[1]) : T{};
  if (&op == k.add) return static_cast<double>(a + b);
  if (&op == k.sub) return static_cast<double>(a - b);
  if (&op == k.mul) return static_cast<double>(a * b);
  if (&op == k.div) return static_cast<double>(a / b);
  if (&op == k.square) return static_cast<double>(a * a);
  if (&op == k.neg) return static_cast<double>(-a);
  if (&op == k.abs) return static_cast<double>(std::abs(a));
  if (&op == k.sqrt) return static_cast<double>(std::sqrt(a));
  known = !std::isnan(a) && !std::isnan(b);
  if (&op == k.minimum) return static_cast<double>(std::min(a, b));
  if (&op == k.maximum) return static_cast<double>(std::max(a, b));
  known = false;
  return 0;
}

std::optional<bool> compared(const Op& op, double a, double b) {
  const KnownOps& k = known_ops();
  if (&op == k.equal) return a == b;
  if (&op == k.not_equal) return a != b;
  if (&op == k.less) return a < b;
  if (&op == k.less_equal) return a <= b;
  if (&op == k.greater) return a > b;
  if (&op == k.greater_equal) return a >= b;
  return std::nullopt;
}

std::optional<bool> decided(const Op& op, std::span<const double> x) {
  const KnownOps& k = known_ops();
  if (&op == k.logical_not) return x[0] == 0;
  if (&op == k.logical_and) return x[0] != 0 && x[1] != 0;
  if (&op == k.logical_or) return x[0] != 0 || x[1] != 0;
  if (&op == k.logical_xor) return (x[0] != 0) != (x[1] != 0);
  return std::nullopt;
}

bool integer_in(double number, double low, double high) {
  return number >= low && number <= high && number == std::trunc(number);
}

}  // namespace

double rounded(double number, DType dtype) {
  return visit_dtype(dtype, [&]<class T>(Type<T>) -> double {
    if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
      return static_cast<double>(static_cast<float>(T(static_cast<float>(number))));
    else
      return static_cast<double>(static_cast<T>(number));
  });
}

std::optional<double> splat_of(const Graph& graph, ValueId v) {
  const KnownOps& k = known_ops();
  if (graph[v].op == k.broadcast_to) v = graph[v].inputs[0];
  if (graph[v].op != k.constant) return std::nullopt;
  return rounded(graph[v].attributes.get<double>("value"), graph.spec(v).dtype);
}

ValueId add_splat(Rewriter& rewriter, double number, const TensorSpec& spec, ValueId like) {
  const KnownOps& k = known_ops();
  const Shape shape = spec.shape;
  const ValueId scalar =
      rewriter.add(*k.constant, {}, {{"value", number}, {"dtype", static_cast<int64_t>(spec.dtype)}}, like);
  if (shape.rank() == 0) return scalar;
  return rewriter.add(*k.broadcast_to, {scalar}, {{"shape", shape.to_vector()}}, like);
}

std::optional<double> fold(const Op& op, std::span<const double> x, DType in, DType out) {
  if (x.empty()) return std::nullopt;
  if (&op == known_ops().cast) {
    if (is_floating(out)) return rounded(x[0], out);
    if (out == DType::boolean) return x[0] != 0 ? 1.0 : 0.0;
    const bool fits = out == DType::uint8   ? integer_in(x[0], 0, 255)
                      : out == DType::int32 ? integer_in(x[0], -0x1p31, 0x1p31 - 1)
                                            : integer_in(x[0], -0x1p53, 0x1p53);
    return fits ? std::optional<double>(x[0]) : std::nullopt;
  }
  if (x.size() == 2)
    if (const auto truth = compared(op, x[0], x[1])) return *truth ? 1.0 : 0.0;
  if (in == DType::boolean) {
    const auto truth = decided(op, x);
    return truth ? std::optional<double>(*truth ? 1.0 : 0.0) : std::nullopt;
  }
  if (in != out) return std::nullopt;
  bool known = true;
  double result = 0;
  if (in == DType::float64)
    result = real<double>(op, x, known);
  else if (is_floating(in))
    result = rounded(real<float>(op, x, known), in);
  else if (in == DType::int64)
    result = wrapped<int64_t>(op, x, known);
  else if (in == DType::int32)
    result = wrapped<int32_t>(op, x, known);
  else
    result = wrapped<uint8_t>(op, x, known);
  return known ? std::optional<double>(result) : std::nullopt;
}

}  // namespace isochron
