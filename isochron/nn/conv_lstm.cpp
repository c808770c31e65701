#include "isochron/nn/conv_lstm.h"

#include "isochron/ops/conv.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/shape_ops.h"

namespace isochron {
namespace {

// Channels from behind the first `before` axes to the end, and back.
Tensor channels_moved_last(const Tensor& x, int before) { return transpose(x, axis_last(x.rank(), before)); }
Tensor channels_moved_back(const Tensor& x, int before) {
  return transpose(x, inverse_permutation(axis_last(x.rank(), before)));
}

}  // namespace

ConvLSTM::ConvLSTM(const char* kind, size_t axes, int64_t filters, const Sizes& kernel_size,
                   const ConvLSTMOptions& options)
    : RecurrentLayer(kind, filters, 4, 2, settings_of(options)),
      options_(options),
      kernel_size_(per_axis(kind, "kernel_size", kernel_size.values(), axes)),
      channels_first_(is_channels_first(kind, options.data_format)) {
  per_axis(kind, "strides", options_.strides.values(), axes);
  per_axis(kind, "dilation_rate", options_.dilation_rate.values(), axes);
}

Shape ConvLSTM::kernel_shape(int64_t features) const {
  Extents dims = kernel_size_;
  dims.insert(dims.end(), {features, gates_ * units_});
  return Shape(dims);
}

void ConvLSTM::build(const Shape& input) {
  const bool move = channels_first_ && input.rank() == kernel_shape(1).rank();  // another rank is refused
  RecurrentLayer::build(move ? input.erase(1).insert(input.rank() - 1, input[1]) : input);
}

// (T, B, spatial…, channels) -> (T, B, spatial…, 4 filters): a batch of T B images.
Tensor ConvLSTM::project(const Tensor& input, const Tensor& kernel) const {
  const int64_t steps = input.shape()[0], batch = input.shape()[1];
  const Tensor z = conv(reshape(input, input.shape().erase(0).with(0, steps * batch).to_vector()), kernel,
                        {.strides = options_.strides.values(),
                         .padding = options_.padding,
                         .dilations = options_.dilation_rate.values()});
  return reshape(z, z.shape().with(0, batch).insert(0, steps).to_vector());
}

std::vector<Tensor> ConvLSTM::plain_step(const Tensor& z, const Tensor& h, const std::vector<Tensor>& states) {
  return after_gates(z + conv(h, recurrent_, {.padding = "same"}), states[1]);
}

RecurrentResult ConvLSTM::run(const Tensor& x, RecurrentCall call) {
  if (!channels_first_) return RecurrentLayer::run(x, std::move(call));
  ensure_built(x.shape().erase(0));
  if (x.rank() != kernel_.rank() + 1)
    fail<ShapeError>(class_name(), "layer \"{}\" takes (batch, time, channels, {} spatial axes), got {}", name(),
                     kernel_size_.size(), x.shape());
  for (Tensor& state : call.initial_states)
    if (state.rank() == x.rank() - 1) state = channels_moved_last(state, 1);
  RecurrentResult result = RecurrentLayer::run(channels_moved_last(x, 2), std::move(call));
  result.output = channels_moved_back(result.output, settings_.return_sequences ? 2 : 1);
  for (Tensor& state : result.states) state = channels_moved_back(state, 1);
  return result;
}

}  // namespace isochron
