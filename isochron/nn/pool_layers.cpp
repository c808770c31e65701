#include "isochron/nn/pool_layers.h"

#include <numeric>

#include "isochron/ops/elementwise.h"
#include "isochron/ops/pool.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {

Pooling::Pooling(Kind kind, std::string class_name, size_t axes, const Sizes& pool_size, PoolingOptions options)
    : SpatialLayer(std::move(class_name), axes, options.data_format, options.name),
      kind_(kind),
      pool_size_(sizes("pool_size", pool_size)),
      options_(std::move(options)) {
  if (!options_.strides.values().empty()) sizes("strides", options_.strides);
}

Tensor Pooling::call_channels_last(const Tensor& x) {
  const PoolOptions options{
      .window = pool_size_, .strides = options_.strides.values(), .padding = options_.padding, .count_padding = false};
  return kind_ == Kind::max ? max_pool(x, options) : avg_pool(x, options);
}

GlobalPooling::GlobalPooling(Kind kind, std::string class_name, size_t axes, const GlobalPoolingOptions& options)
    : SpatialLayer(std::move(class_name), axes, options.data_format, options.name), kind_(kind), options_(options) {}

Tensor GlobalPooling::call_channels_last(const Tensor& x) {
  Axes spatial(axes());
  std::iota(spatial.begin(), spatial.end(), 1);
  return kind_ == Kind::max ? max(x, spatial, options_.keepdims) : mean(x, spatial, options_.keepdims);
}

Tensor GlobalPooling::call_masked(const Tensor& x, const Tensor& mask) {
  if (kind_ == Kind::max || axes() != 1) return call_channels_last(x);
  if (mask.shape() != Shape{x.shape()[0], x.shape()[1]})
    fail<ShapeError>(class_name(), "a mask must be ({}, {}) as the steps are, got {}", x.shape()[0], x.shape()[1],
                     mask.shape());
  const Tensor counts = expand_dims(mask, -1);
  const Tensor total = sum(where(counts, x, 0), {1}, options_.keepdims);
  // Nothing of a sequence that is all padding.
  return total / maximum(sum(cast(counts, x.dtype()), {1}, options_.keepdims), 1);
}

}  // namespace isochron
