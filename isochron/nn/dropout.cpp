#include "isochron/nn/dropout.h"

#include <fmt/ranges.h>

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
                     fmt::join(noise_shape, ", "), input);
  return Shape(dims);
}

}  // namespace

Dropout::Dropout(double rate, DropoutOptions options) : rate_(rate), options_(std::move(options)) {
  if (!(rate >= 0 && rate <= 1)) fail<ValueError>("Dropout", "rate must be in [0, 1], got {}", rate);
  set_name(options_.name);
  if (options_.seed)
    key_ = Variable(tensor(std::vector<int64_t>{static_cast<int64_t>(*options_.seed), 0}), {.trainable = false});
}

Tensor Dropout::call(const Tensor& x, const CallContext& context) {
  if (!is_floating(x.dtype())) fail<DTypeError>("Dropout", "needs a floating input, got {}", x.dtype());
  if (!context.training || rate_ == 0) return x;
  const Shape shape = decisions_shape(options_.noise_shape, x.shape());
  if (rate_ == 1) return zeros_like(x);
  Tensor key;
  if (key_.defined()) {
    key = key_.read();
    key_.assign_add(tensor(std::vector<int64_t>{0, 1}));
  }
  const Tensor keep = random_bernoulli(shape, 1 - rate_, {.dtype = DType::boolean, .key = key});
  return where(keep, x * (1 / (1 - rate_)), 0);
}

}  // namespace isochron
