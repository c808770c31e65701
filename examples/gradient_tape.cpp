// A training step of one's own: gradients from a tape, traced by iso::function.
#include "examples/epochs.h"

namespace iso = isochron;

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "data";
  const iso::data::Digits digits = iso::data::read_digits(folder + "/digits.csv.gz");
  const iso::Tensor pixels = (digits.pixels / 16).eval();

  const iso::Variable w(iso::random_normal({64, 10}, 0, 0.1));
  const iso::Variable b(iso::zeros({10}));
  iso::SGD optimizer(0.5);
  const auto step = iso::function([&](iso::Tensor x, iso::Tensor labels) {
    iso::GradientTape tape;
    const iso::Tensor loss =
        iso::mean(iso::losses::sparse_categorical_crossentropy(labels, iso::matmul(x, w) + b, {.from_logits = true}));
    const std::vector<iso::Tensor> variables{w, b};
    optimizer.apply_gradients(tape.gradient(loss, variables), variables);
    return loss;
  });

  constexpr int64_t kBatch = 64;
  const int64_t steps = pixels.shape()[0] / kBatch;
  Epochs epochs;
  std::vector<double> losses;
  for (int epoch = 0; epoch < 5; ++epoch)
    epochs.run([&] {
      double sum = 0;
      for (int64_t i = 0; i < steps; ++i)
        sum += step(iso::slice(pixels, {i * kBatch}, {(i + 1) * kBatch}),
                    iso::slice(digits.labels, {i * kBatch}, {(i + 1) * kBatch}))
                   .item();
      losses.push_back(sum / static_cast<double>(steps));
    });
  epochs.print();
  return verdict(losses.front(), losses.back(), 0.5);
}
