#include "isochron/nn/pool_layers.h"

#include <numeric>

#include "isochron/ops/pool.h"
#include "isochron/ops/reduce.h"

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

}  // namespace isochron
