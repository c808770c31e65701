#include "isochron/nn/init.h"

#include <cmath>
#include <map>
#include <numbers>

#include "isochron/base/names.h"
#include "isochron/exec/variables.h"
#include "isochron/nn/initializers.h"
#include "isochron/ops/create.h"
#include "isochron/ops/shape_ops.h"

namespace isochron::nn::init {
namespace {

void fill(const Variable& weight, const Initializer& initializer) {
  overwrite(weight, initializer(weight.shape(), weight.dtype()));
}

Fans torch_fans(const char* what, const Variable& weight) {
  const Shape& shape = weight.shape();
  if (shape.rank() < 2) fail<ShapeError>(what, "needs a weight of (out, in, …) to know its fans, got {}", shape);
  const auto field = static_cast<double>(shape.elements(2, shape.rank()));
  return {static_cast<double>(shape[1]) * field, static_cast<double>(shape[0]) * field};
}

double xavier_std(const char* what, const Variable& weight, double gain) {
  const Fans fans = torch_fans(what, weight);
  return gain * std::sqrt(2 / (fans.in + fans.out));
}

double kaiming_std(const char* what, const Variable& weight, const KaimingOptions& o) {
  const Fans fans = torch_fans(what, weight);
  if (o.mode != "fan_in" && o.mode != "fan_out")
    fail<ValueError>(what, "unknown mode \"{}\"{}", o.mode, did_you_mean(o.mode, {"fan_in", "fan_out"}));
  return calculate_gain(o.nonlinearity, o.a) / std::sqrt(o.mode == "fan_in" ? fans.in : fans.out);
}

// The inverse of the normal distribution: from a rational start (Acklam's), two steps of Newton's method.
double normal_quantile(double p) {
  constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                          1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01,
                          -1.328068155288572e+01};
  constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                          -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00};
  const auto tail = [&](double q) {
    return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
           ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  };
  double x;
  if (p < 0.02425) {
    x = tail(std::sqrt(-2 * std::log(p)));
  } else if (p > 1 - 0.02425) {
    x = -tail(std::sqrt(-2 * std::log(1 - p)));
  } else {
    const double q = p - 0.5, r = q * q;
    x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
        (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
  }
  for (int step = 0; step < 2; ++step) {
    const double error = 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2) - p;
    x -= error * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
  }
  return x;
}

}  // namespace

double calculate_gain(const std::string& nonlinearity, std::optional<double> param) {
  const double slope = param.value_or(0.01);
  const std::map<std::string_view, double> gains = {
      {"linear", 1},    {"identity", 1},         {"sigmoid", 1},
      {"conv1d", 1},    {"conv2d", 1},           {"conv3d", 1},
      {"tanh", 5. / 3}, {"relu", std::sqrt(2.)}, {"leaky_relu", std::sqrt(2 / (1 + slope * slope))},
      {"selu", 0.75}};
  const auto found = gains.find(nonlinearity);
  if (found != gains.end()) return found->second;
  std::vector<std::string_view> known;
  for (const auto& [name, gain] : gains) known.push_back(name);
  fail<ValueError>("calculate_gain", "unknown nonlinearity \"{}\"{}", nonlinearity, did_you_mean(nonlinearity, known));
}

void constant_(const Variable& weight, double value) { fill(weight, initializers::constant(value)); }
void uniform_(const Variable& weight, double a, double b) {
  fill(weight, initializers::random_uniform({.minval = a, .maxval = b}));
}
void normal_(const Variable& weight, double mean, double std) {
  if (!(std >= 0)) fail<ValueError>("normal_", "std must not be negative, got {}", std);
  fill(weight, initializers::random_normal({.mean = mean, .stddev = std}));
}
void eye_(const Variable& weight) {
  if (weight.rank() != 2) fail<ShapeError>("eye_", "needs a matrix, got {}", weight.shape());
  overwrite(weight, eye(weight.shape()[0], weight.shape()[1], weight.dtype()));
}

void trunc_normal_(const Variable& weight, double mean, double std, double a, double b) {
  if (!(std > 0) || !(a < b))
    fail<ValueError>("trunc_normal_", "std must be positive and a below b, got {}, {} and {}", std, a, b);
  const auto below = [&](double x) { return 0.5 * std::erfc(-(x - mean) / std * std::numbers::sqrt2 / 2); };
  const double low = below(a), high = below(b);
  if (!(high > low)) fail<ValueError>("trunc_normal_", "[{}, {}] is too far from mean {} (std {})", a, b, mean, std);
  std::vector<double> values =
      initializers::random_uniform({.minval = low, .maxval = high})(weight.shape(), DType::float64).to_vector<double>();
  for (double& value : values) value = std::clamp(mean + std * normal_quantile(value), a, b);
  overwrite(weight, tensor(values, weight.shape()).to(weight.dtype()));
}

void xavier_uniform_(const Variable& weight, double gain) {
  const double bound = std::sqrt(3.) * xavier_std("xavier_uniform_", weight, gain);
  uniform_(weight, -bound, bound);
}
void xavier_normal_(const Variable& weight, double gain) {
  normal_(weight, 0, xavier_std("xavier_normal_", weight, gain));
}
void kaiming_uniform_(const Variable& weight, const KaimingOptions& options) {
  const double bound = std::sqrt(3.) * kaiming_std("kaiming_uniform_", weight, options);
  uniform_(weight, -bound, bound);
}
void kaiming_normal_(const Variable& weight, const KaimingOptions& options) {
  normal_(weight, 0, kaiming_std("kaiming_normal_", weight, options));
}

void orthogonal_(const Variable& weight, double gain) {
  const Shape& shape = weight.shape();
  if (shape.rank() < 2) fail<ShapeError>("orthogonal_", "needs at least two axes, got {}", shape);
  const Shape matrix{shape[0], shape.elements(1, shape.rank())};
  overwrite(weight, reshape(initializers::orthogonal(gain)(matrix, weight.dtype()), shape.to_vector()));
}

}  // namespace isochron::nn::init
