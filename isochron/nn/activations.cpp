#include "isochron/nn/activations.h"

#include <map>

#include "isochron/base/names.h"
#include "isochron/ops/ops.h"

namespace isochron {
namespace {

using Maker = Tensor (*)(const Tensor&);
const std::map<std::string_view, Maker>& named() {
  static const std::map<std::string_view, Maker> functions = {
      {"linear", [](const Tensor& x) { return x; }},
      {"relu", [](const Tensor& x) { return relu(x); }},
      {"relu6", relu6},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); }},
      {"elu", [](const Tensor& x) { return elu(x); }},
      {"selu", [](const Tensor& x) { return selu(x); }},
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"silu", [](const Tensor& x) { return silu(x); }},
      {"swish", [](const Tensor& x) { return silu(x); }},
      {"softplus", [](const Tensor& x) { return softplus(x); }},
      {"softsign", softsign},
      {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
      {"hard_sigmoid", hard_sigmoid},
      {"tanh", [](const Tensor& x) { return tanh(x); }},
      {"exponential", [](const Tensor& x) { return exp(x); }},
      {"mish", mish},
      {"softmax", [](const Tensor& x) { return softmax(x); }},
      {"log_softmax", [](const Tensor& x) { return log_softmax(x); }},
      {"log_sigmoid", log_sigmoid},
      {"hard_silu", hard_silu},
      {"hard_swish", hard_silu},
      {"hard_tanh", [](const Tensor& x) { return hard_tanh(x); }},
      {"celu", [](const Tensor& x) { return celu(x); }},
      {"glu", [](const Tensor& x) { return glu(x); }},
      {"hard_shrink", [](const Tensor& x) { return hard_shrink(x); }},
      {"soft_shrink", [](const Tensor& x) { return soft_shrink(x); }},
      {"tanh_shrink", tanh_shrink},
      {"squareplus", [](const Tensor& x) { return squareplus(x); }},
      {"sparse_plus", sparse_plus},
      {"sparse_sigmoid", sparse_sigmoid},
      {"sparsemax", [](const Tensor& x) { return sparsemax(x); }},
  };
  return functions;
}

}  // namespace

ActivationFunction::ActivationFunction(const char* name) : name_(name ? name : "linear") {
  const auto found = named().find(name_);
  if (found == named().end()) {
    std::vector<std::string_view> known;
    for (const auto& [key, f] : named()) known.push_back(key);
    fail<ValueError>("activation", "unknown activation \"{}\"{}", name_, did_you_mean(name_, known));
  }
  if (name_ != "linear") function_ = found->second;
}

Tensor relu6(const Tensor& x) { return clip(x, 0, 6); }
Tensor softsign(const Tensor& x) { return x / (abs(x) + 1); }
Tensor mish(const Tensor& x) { return x * tanh(softplus(x)); }
Tensor log_sigmoid(const Tensor& x) { return -softplus(-x); }
Tensor hard_sigmoid(const Tensor& x) { return clip(x / 6 + 0.5, 0, 1); }
Tensor hard_silu(const Tensor& x) { return x * hard_sigmoid(x); }
Tensor hard_tanh(const Tensor& x, double low, double high) { return clip(x, low, high); }

Tensor celu(const Tensor& x, double alpha) {
  if (!(alpha > 0)) fail<ValueError>("celu", "alpha must be positive, got {}", alpha);
  return alpha * elu(x / alpha);
}

Tensor glu(const Tensor& x, int64_t axis) {
  const int along = normalize_axis("glu", axis, x.rank());
  if (x.shape()[along] % 2 != 0)
    fail<ShapeError>("glu", "needs two halves along axis {}, got shape {}", axis, x.shape());
  const std::vector<Tensor> halves = split(x, 2, along);
  return halves[0] * sigmoid(halves[1]);
}

Tensor hard_shrink(const Tensor& x, double threshold) { return where(abs(x) > threshold, x, 0); }
Tensor soft_shrink(const Tensor& x, double threshold) {
  if (!(threshold >= 0)) fail<ValueError>("soft_shrink", "threshold must not be negative, got {}", threshold);
  return x - clip(x, -threshold, threshold);
}
Tensor tanh_shrink(const Tensor& x) { return x - tanh(x); }

Tensor squareplus(const Tensor& x, double b) {
  if (!(b > 0)) fail<ValueError>("squareplus", "b must be positive, got {}", b);
  return (x + sqrt(square(x) + b)) * 0.5;
}

Tensor sparse_plus(const Tensor& x) { return square(clip(x, -1, 1) + 1) * 0.25 + relu(x - 1); }
Tensor sparse_sigmoid(const Tensor& x) { return clip((x + 1) * 0.5, 0, 1); }
Tensor threshold(const Tensor& x, double limit, double value) { return where(x > limit, x, value); }

Tensor sparsemax(const Tensor& x, int64_t axis) {
  const int along = normalize_axis("sparsemax", axis, x.rank());
  const std::vector<int64_t> order = axis_last(x.rank(), along);
  if (x.elements() == 0) return x;
  const Tensor given = transpose(x, order), rows = given - stop_gradient(max(given, {-1}, true));
  // How many of the largest are kept: as long as one is above what the sum of those so far leaves for it.
  const Tensor sorted = sort(stop_gradient(rows), -1, /*descending=*/true);
  const Tensor places = cast(arange(rows.shape()[-1]) + 1, rows.dtype());
  const Tensor kept = sum(cast(sorted * places + 1 > cumsum(sorted), rows.dtype()), {-1}, true);
  // By value, so that equal elements are kept or left together.
  const Tensor least = sum(where(equal(places, kept), sorted, 0), {-1}, true);
  const Tensor support = rows >= least;
  const Tensor excess = (sum(where(support, rows, 0), {-1}, true) - 1) / sum(cast(support, rows.dtype()), {-1}, true);
  return transpose(maximum(rows - excess, 0), inverse_permutation(order));
}

}  // namespace isochron
