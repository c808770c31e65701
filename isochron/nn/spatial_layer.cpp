#include "isochron/nn/spatial_layer.h"

#include "isochron/base/names.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {

bool is_channels_first(const std::string& layer, const std::string& data_format) {
  const bool first = data_format == "channels_first";
  if (!first && data_format != "channels_last")
    fail<ValueError>(layer, "unknown data_format \"{}\"{}", data_format,
                     did_you_mean(data_format, {"channels_last", "channels_first"}));
  return first;
}

SpatialLayer::SpatialLayer(std::string class_name, size_t axes, const std::string& data_format, std::string name)
    : class_name_(std::move(class_name)), axes_(axes), channels_first_(is_channels_first(class_name_, data_format)) {
  if (!name.empty()) set_name(std::move(name));
}

Tensor SpatialLayer::call(const Tensor& x, const CallContext& context) {
  if (x.rank() != static_cast<int>(axes_) + 2)
    fail<ShapeError>(class_name_, "needs (batch, {} spatial ax{}, channels), got {}; layer \"{}\"", axes_,
                     axes_ == 1 ? "is" : "es", x.shape(), name());
  const auto work = [&](const Tensor& rows) {
    return context.mask.defined() ? call_masked(rows, context.mask) : call_channels_last(rows);
  };
  if (!channels_first_) return work(x);
  const std::vector<int64_t> order = axis_last(x.rank(), 1);
  const Tensor y = work(transpose(x, order));
  return y.rank() == x.rank() ? transpose(y, inverse_permutation(order)) : y;
}

int64_t SpatialLayer::channels_of(const Shape& example) const {
  if (example.rank() != static_cast<int>(axes_) + 1)
    fail<ShapeError>(class_name_, "needs examples with {} spatial ax{} and channels, got {}", axes_,
                     axes_ == 1 ? "is" : "es", example);
  const int64_t channels = example[channels_first_ ? 0 : -1];
  if (channels < 1) fail<ShapeError>(class_name_, "needs at least one channel, got {}", example);
  return channels;
}

}  // namespace isochron
