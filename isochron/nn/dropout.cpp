#include "isochron/nn/dropout.h"

#include <fmt/core.h>

#include "isochron/base/joined.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/random.h"

namespace isochron {
namespace {

Shape decisions_shape(const std::vector<int64_t>& noise_shape, const Shape& input) {
  if (noise_shape.empty()) return input;
  std::vector<int64_t> dims = noise_shape;
  bool fits = dims.size() == static_cast<size_t>(input.rank());
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    const int64_t extent = input[static_cast<int>(i)];
    if (dims[i] == -1) dims[i] = extent;
    fits = dims[i] == 1 || dims[i] == extent;
  }
  if (!fits)
    fail<ShapeError>("Dropout", "noise_shape ({}) must have 1, -1 or the input's extent for each axis of {}",
                     joined(noise_shape), input);
  return Shape(dims);
}

}  // namespace

NoiseKey::NoiseKey(std::optional<uint64_t> seed) {
  if (seed) key_ = Variable(tensor(std::vector<int64_t>{static_cast<int64_t>(*seed), 0}), {.trainable = false});
}

Tensor NoiseKey::next() const {
  if (!key_.defined()) return {};
  const Tensor key(key_.value());
  key_.assign_add(tensor(std::vector<int64_t>{0, 1}));
  return key;
}

Dropout::Dropout(double rate, DropoutOptions options) : rate_(rate), options_(std::move(options)), key_(options_.seed) {
  if (!(rate >= 0 && rate <= 1)) fail<ValueError>("Dropout", "rate must be in [0, 1], got {}", rate);
  set_name(options_.name);
}

Tensor Dropout::call(const Tensor& x, const CallContext& context) {
  if (!is_floating(x.dtype())) fail<DTypeError>("Dropout", "needs a floating input, got {}", x.dtype());
  if (!context.training || rate_ == 0) return x;
  const Shape shape = decisions_shape(options_.noise_shape, x.shape());
  if (rate_ == 1) return zeros_like(x);
  const Tensor keep = random_bernoulli(shape, 1 - rate_, {.dtype = DType::boolean, .key = key_.next()});
  return where(keep, x * (1 / (1 - rate_)), 0);
}

}  // namespace isochron
