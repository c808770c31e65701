// A step traced once by iso::function and used over many epochs: memory stays flat, nothing is traced again.
#include "examples/epochs.h"
#include "isochron/base/memory_info.h"

namespace iso = isochron;

int main() {
  const iso::Tensor x = iso::random_normal({512, 32}, 0, 1, {.seed = 1}).eval();
  const iso::Tensor y = iso::sum(iso::slice(x, {0, 0}, {512, 4}), {1}, true).eval();
  iso::Sequential model{iso::Input({32}), iso::Dense(64, {.activation = "tanh"}), iso::Dense(1)};
  iso::Adam optimizer(1e-2);
  const auto step = iso::function([&](iso::Tensor inputs, iso::Tensor targets) {
    iso::GradientTape tape;
    const iso::Tensor loss = iso::mean(iso::square(model(inputs) - targets));
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
    return loss;
  });

  Epochs epochs;
  std::vector<double> losses, megabytes;
  for (int epoch = 0; epoch < 60; ++epoch) {
    epochs.run([&] {
      double sum = 0;
      for (int64_t row = 0; row < 512; row += 64)
        sum += step(iso::slice(x, {row}, {row + 64}), iso::slice(y, {row}, {row + 64})).item();
      losses.push_back(sum / 8);
    });
    megabytes.push_back(static_cast<double>(iso::exact_resident_bytes()) / (1 << 20));
  }
  epochs.print();
  const double growth = megabytes.back() - megabytes[9];
  fmt::print("traced {} time(s); memory {:.1f} MB, {}\n", step.report().traces, megabytes.back(),
             growth < 0.5 ? "flat" : fmt::format("{:.1f} MB more than after epoch 10", growth));
  return verdict(losses.front(), losses.back(), 0.5);
}
