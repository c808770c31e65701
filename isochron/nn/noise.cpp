#include "isochron/nn/noise.h"

#include <cmath>

#include "isochron/ops/elementwise.h"
#include "isochron/ops/random.h"

namespace isochron {
namespace {

void need_rate(const char* layer, double rate) {
  if (!(rate >= 0 && rate < 1)) fail<ValueError>(layer, "rate must be in [0, 1), got {}", rate);
}

}  // namespace

NoiseLayer::NoiseLayer(double strength, NoiseOptions options)
    : strength_(strength), options_(std::move(options)), key_(options_.seed) {
  set_name(options_.name);
}

Tensor NoiseLayer::call(const Tensor& x, const CallContext& context) {
  if (!is_floating(x.dtype())) fail<DTypeError>(class_name(), "needs a floating input, got {}", x.dtype());
  return context.training && strength_ > 0 ? noisy(x) : x;
}

GaussianNoise::GaussianNoise(double stddev, NoiseOptions options) : NoiseLayer(stddev, std::move(options)) {
  if (!(stddev >= 0)) fail<ValueError>("GaussianNoise", "stddev must not be negative, got {}", stddev);
}
Tensor GaussianNoise::noisy(const Tensor& x) {
  return x + random_normal(x.shape(), 0, strength_, {.dtype = x.dtype(), .key = key_.next()});
}

GaussianDropout::GaussianDropout(double rate, NoiseOptions options) : NoiseLayer(rate, std::move(options)) {
  need_rate("GaussianDropout", rate);
}
Tensor GaussianDropout::noisy(const Tensor& x) {
  const double deviation = std::sqrt(strength_ / (1 - strength_));
  return x * random_normal(x.shape(), 1, deviation, {.dtype = x.dtype(), .key = key_.next()});
}

AlphaDropout::AlphaDropout(double rate, NoiseOptions options) : NoiseLayer(rate, std::move(options)) {
  need_rate("AlphaDropout", rate);
}
Tensor AlphaDropout::noisy(const Tensor& x) {
  // SELU's limit for very negative inputs is what a dropped element becomes; a and b restore mean and variance.
  constexpr double kLimit = -1.6732632423543772 * 1.0507009873554805;
  const double a = 1 / std::sqrt((1 - strength_) * (1 + strength_ * kLimit * kLimit)), b = -a * kLimit * strength_;
  const Tensor keep = random_bernoulli(x.shape(), 1 - strength_, {.dtype = DType::boolean, .key = key_.next()});
  return where(keep, x, kLimit) * a + b;
}

}  // namespace isochron
