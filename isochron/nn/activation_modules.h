// Activations as modules, with PyTorch's names, arguments and defaults.
//
//   nn::Sequential net{nn::Linear(784, 128), nn::GELU(), nn::Linear(128, 10), nn::LogSoftmax(1)};
#pragma once

#include <functional>

#include "isochron/nn/module.h"

namespace isochron::nn {

// A function of its input, without parameters.
class FunctionModule : public Module {
 public:
  Tensor forward(Tensor x) override { return function_(x); }

 protected:
  using Function = std::function<Tensor(const Tensor&)>;
  // `arguments` is what summary() shows in brackets.
  explicit FunctionModule(Function function, std::string arguments = {});

 private:
  Function function_;
};

struct ReLU : FunctionModule {
  ReLU();
};
struct ReLU6 : FunctionModule {
  ReLU6();
};
struct Tanh : FunctionModule {
  Tanh();
};
struct Sigmoid : FunctionModule {
  Sigmoid();
};
struct SELU : FunctionModule {
  SELU();
};
struct SiLU : FunctionModule {
  SiLU();
};
struct Mish : FunctionModule {
  Mish();
};
struct Softsign : FunctionModule {
  Softsign();
};
struct LogSigmoid : FunctionModule {
  LogSigmoid();
};
struct Hardsigmoid : FunctionModule {
  Hardsigmoid();
};
struct Hardswish : FunctionModule {
  Hardswish();
};
struct Tanhshrink : FunctionModule {
  Tanhshrink();
};
struct LeakyReLU : FunctionModule {
  explicit LeakyReLU(double negative_slope = 0.01);
};
struct ELU : FunctionModule {
  explicit ELU(double alpha = 1);
};
struct CELU : FunctionModule {
  explicit CELU(double alpha = 1);
};
struct GELU : FunctionModule {
  explicit GELU(const std::string& approximate = "none");  // or "tanh"; ValueError for another
};
struct Softplus : FunctionModule {
  explicit Softplus(double beta = 1);
};
struct Hardtanh : FunctionModule {
  explicit Hardtanh(double min_val = -1, double max_val = 1);
};
struct Hardshrink : FunctionModule {
  explicit Hardshrink(double lambd = 0.5);
};
struct Softshrink : FunctionModule {
  explicit Softshrink(double lambd = 0.5);
};
struct Threshold : FunctionModule {
  Threshold(double threshold, double value);
};
struct GLU : FunctionModule {
  explicit GLU(int64_t dim = -1);
};
struct Softmax : FunctionModule {
  explicit Softmax(int64_t dim = -1);
};
struct LogSoftmax : FunctionModule {
  explicit LogSoftmax(int64_t dim = -1);
};

// Learns the slope below 0: one for all, or one for each channel (axis 1).
class PReLU : public Module {
 public:
  // ValueError unless num_parameters is positive.
  explicit PReLU(int64_t num_parameters = 1, double init = 0.25, DType dtype = DType::float32);
  Tensor forward(Tensor x) override;  // ShapeError when axis 1 is not num_parameters, if there are several

  Variable weight;
};

}  // namespace isochron::nn
