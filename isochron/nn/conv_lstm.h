// LSTMs whose states are images: ConvLSTM1D, 2D and 3D, with Keras' arguments, weights and gate order.
//
//   Sequential model{ConvLSTM2D(16, 3, {.padding = "same", .return_sequences = true}),     // (batch, time, rows,
//   columns,
//                    ConvLSTM2D(8, 3), Flatten(), Dense(1)};                               //  channels), a film each
//
// In place of the products of an LSTM stand convolutions: one over all steps of the input, and at each step one over
// the state, which keeps its size. So the plan grows with the length. Everything else is as in recurrent.h.
#pragma once

#include "isochron/nn/recurrent.h"
#include "isochron/nn/spatial_layer.h"

namespace isochron {

struct ConvLSTMOptions {
  Sizes strides = 1;  // of the convolution over the input, as padding and dilation_rate are
  Padding padding = "valid";
  std::string data_format = "channels_last";  // channels_first: (batch, time, channels, spatial…), states likewise
  Sizes dilation_rate = 1;
  ActivationFunction activation = "tanh";
  ActivationFunction recurrent_activation = "sigmoid";
  bool unit_forget_bias = true;
  ISO_RECURRENT_OPTIONS;
};
ISO_OPTIONS(ConvLSTMOptions, strides, padding, data_format, dilation_rate, activation, recurrent_activation,
            unit_forget_bias, ISO_RECURRENT_OPTION_NAMES)

// Weights: kernel (window…, channels, 4 filters), recurrent_kernel (window…, filters, 4 filters), bias (4 filters).
class ConvLSTM : public RecurrentLayer {
 public:
  ISO_ARGUMENTS(filters(), kernel_size_, options_)
  int64_t filters() const { return units_; }
  void build(const Shape& input) override;
  Shape output_shape(const Shape& input) const override { return Layer::output_shape(input); }
  RecurrentResult run(const Tensor& x, RecurrentCall call = {}) override;

 protected:
  // ValueError unless filters and sizes are positive.
  ConvLSTM(const char* kind, size_t axes, int64_t filters, const Sizes& kernel_size, const ConvLSTMOptions& options);
  Shape kernel_shape(int64_t features) const override;
  Tensor project(const Tensor& input, const Tensor& kernel) const override;
  std::vector<Tensor> plain_step(const Tensor& z, const Tensor& h, const std::vector<Tensor>& states) override;

 private:
  ConvLSTMOptions options_;
  Extents kernel_size_;
  bool channels_first_;
};

#define ISO_CONV_LSTM(Class, axes)                                                        \
  struct Class : ConvLSTM {                                                               \
    ISO_LAYER(Class)                                                                      \
    Class(int64_t filters, const Sizes& kernel_size, const ConvLSTMOptions& options = {}) \
        : ConvLSTM(#Class, axes, filters, kernel_size, options) {}                        \
    std::shared_ptr<RecurrentLayer> another() const override {                            \
      check_unbuilt();                                                                    \
      return std::make_shared<Class>(*this);                                              \
    }                                                                                     \
  }
ISO_CONV_LSTM(ConvLSTM1D, 1);
ISO_CONV_LSTM(ConvLSTM2D, 2);
ISO_CONV_LSTM(ConvLSTM3D, 3);
#undef ISO_CONV_LSTM

}  // namespace isochron
