// A one-layer module with SGD and the mean squared error, in a loop written by hand.
#include "examples/epochs.h"

namespace iso = isochron;

struct Net : iso::nn::Module {
  iso::nn::Linear line{4, 1};
  Net() { register_module("line", line); }
  iso::Tensor forward(iso::Tensor x) override { return line(x); }
};

int main() {
  iso::set_seed(1);
  const iso::Tensor x = iso::random_normal({256, 4}).eval();
  const iso::Tensor y = (iso::matmul(x, iso::tensor({{1.0}, {-2.0}, {0.5}, {3.0}})) + 1).eval();

  Net net;
  iso::optim::SGD optimizer(net.parameters(), {.lr = 0.1});
  constexpr int64_t kBatch = 32;
  Epochs epochs;
  std::vector<double> losses;
  for (int epoch = 0; epoch < 10; ++epoch)
    epochs.run([&] {
      double sum = 0;
      for (int64_t first = 0; first < x.shape()[0]; first += kBatch) {
        const iso::Tensor batch = iso::slice(x, {first}, {first + kBatch});
        const iso::Tensor loss = iso::mse_loss(net(batch), iso::slice(y, {first}, {first + kBatch}));
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
        sum += loss.item();
      }
      losses.push_back(sum);
    });
  epochs.print();
  return verdict(losses.front(), losses.back(), 0.01);
}
