// Module::to(): parameters, buffers, gradients, optimizers and traced functions go over to another dtype.
#include <gtest/gtest.h>

#include "isochron/exec/function.h"
#include "isochron/nn/modules.h"
#include "isochron/nn/torch_losses.h"
#include "isochron/ops/ops.h"
#include "isochron/optim/torch_optimizers.h"
#include "reference.h"

namespace isochron {
namespace {

constexpr DType kWide = DType::float64;

struct Net : nn::Module {
  nn::Linear linear{3, 4};
  nn::BatchNorm1d norm{4};
  Net() {
    register_module("linear", linear);
    register_module("norm", norm);
  }
  Tensor forward(Tensor x) override { return norm(linear(x)); }
};

Tensor noise(const Shape& shape, uint64_t seed) { return random_normal(shape, 0, 1, {.seed = seed}).eval(); }

TEST(ModuleDtype, EveryFloatingVariableIsConvertedInPlace) {
  Net net;
  const Variable held = net.linear.weight;
  const Tensor before = net.linear.weight.read().detach().eval();
  EXPECT_EQ(&net.to(kWide), &net);
  for (const auto& [name, parameter] : net.named_parameters()) EXPECT_EQ(parameter.dtype(), kWide) << name;
  EXPECT_EQ(net.norm.running_mean.dtype(), kWide);
  EXPECT_EQ(net.norm.num_batches_tracked.dtype(), DType::int64);
  EXPECT_CLOSE(held, before.to(kWide), 0, 0);
  EXPECT_EQ(before.dtype(), DType::float32);
  EXPECT_EQ(net(ones({2, 3}, kWide)).dtype(), kWide);
  EXPECT_ERROR(net(ones({2, 3})), DTypeError, "takes float64, got float32");
  net.to(DType::bfloat16).eval();
  EXPECT_EQ(net(ones({2, 3}, DType::bfloat16)).dtype(), DType::bfloat16);
}

// Modules that have looked at their options' dtype.
TEST(ModuleDtype, SequenceModulesComputeInTheNewOne) {
  const Tensor x = noise({5, 2, 4}, 1).to(kWide).eval();
  nn::LSTM lstm(4, 3, {.num_layers = 2, .bidirectional = true}),
      wide_lstm(4, 3, {.num_layers = 2, .bidirectional = true, .dtype = kWide});
  wide_lstm.load_state_dict(lstm.to(kWide).state_dict());
  EXPECT_CLOSE(lstm(x), wide_lstm(x), 1e-12, 0);
  nn::TransformerEncoderLayer encoder(4, 2, {.dim_feedforward = 8}),
      wide_encoder(4, 2, {.dim_feedforward = 8, .dtype = kWide});
  encoder.eval();
  wide_encoder.eval();
  wide_encoder.load_state_dict(encoder.to(kWide).state_dict());
  EXPECT_CLOSE(encoder(x), wide_encoder(x), 1e-12, 0);
}

// v = momentum v + g, w = w - lr v, with g = 2 (w - target) / n: by hand.
TEST(ModuleDtype, OptimizersGoOnWithTheirState) {
  nn::Linear net(1, 2, {.bias = false});
  net.weight.assign(tensor({{1.f}, {-2.f}}));
  optim::SGD sgd(net.parameters(), {.lr = 0.25, .momentum = 0.5});
  const auto step = [&](DType dtype) {
    sgd.zero_grad();
    mse_loss(net(ones({1, 1}, dtype)), zeros({1, 2}, dtype)).backward();
    sgd.step();
  };
  step(DType::float32);  // v = (1, -2), w = (0.75, -1.5)
  net.to(kWide);
  EXPECT_EQ(net.weight.grad().dtype(), kWide);
  step(kWide);  // v = (0.5, -1) + (0.75, -1.5), w = (0.4375, -0.875)
  EXPECT_CLOSE(net.weight, tensor({{0.4375}, {-0.875}}, kWide), 0, 0);
  net.to(DType::float32);
  step(DType::float32);  // v = (0.625, -1.25) + (0.4375, -0.875)
  EXPECT_CLOSE(net.weight, tensor({{0.171875f}, {-0.34375f}}), 0, 0);
  net.to(DType::bfloat16);
  EXPECT_ERROR(step(DType::bfloat16), DTypeError, "variables must be float32 or float64");
}

TEST(ModuleDtype, TracedFunctionsAreTracedAnew) {
  nn::Linear net(3, 2);
  const auto f = function([&](Tensor x) { return net(cast(x, net.weight.dtype())); });
  const Tensor x = noise({4, 3}, 2), narrow = f(x);
  net.to(kWide);
  const Tensor wide = f(x);
  EXPECT_EQ(wide.dtype(), kWide);
  EXPECT_CLOSE(wide.to(DType::float32), narrow, 1e-5, 1e-6);
  EXPECT_CLOSE(f(x), net(x.to(kWide)), 1e-12, 1e-12);
  nn::Linear(3, 2).to(kWide);  // another module's business
  f(x);
  EXPECT_EQ(f.report().traces, 2);
}

TEST(ModuleDtype, HistoriesEndWhatIsHeldStays) {
  nn::Linear net(3, 2);
  const Tensor x = noise({4, 3}, 3);
  const Tensor kept = net.weight.read();
  const std::vector<float> numbers = kept.to_vector<float>();
  const Tensor loss = sum(square(net(x)));
  net.to(kWide);
  EXPECT_GT(loss.item(), 0);
  EXPECT_EQ(kept.to_vector<float>(), numbers);
  EXPECT_ERROR(loss.backward(), StateError, "has become float64 since this was computed");
}

TEST(ModuleDtype, RefusesWhatCannotBe) {
  nn::Linear net(3, 2);
  EXPECT_ERROR(net.to(DType::int32), DTypeError, "floating dtypes, got int32");
  const auto f = function([&](Tensor x) {
    net.to(kWide);
    return x;
  });
  EXPECT_ERROR(f(ones({1})), StateError, "within a traced function");
  EXPECT_EQ(net.weight.dtype(), DType::float32);
}

}  // namespace
}  // namespace isochron
