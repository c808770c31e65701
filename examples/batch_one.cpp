// Dense 784-128-10 trained one image at a time, by a step that is traced once.
#include "examples/epochs.h"

namespace iso = isochron;

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "data";
  const iso::Tensor images = iso::data::read_idx(folder + "/mnist/t10k-images-idx3-ubyte.gz");
  const iso::Tensor labels = iso::data::read_idx(folder + "/mnist/t10k-labels-idx1-ubyte.gz");
  const iso::Tensor pixels = (iso::cast(iso::reshape(images, {-1, 1, 784}), iso::DType::float32) / 255).eval();
  const iso::Tensor targets = iso::one_hot(iso::cast(iso::reshape(labels, {-1, 1}), iso::DType::int64), 10).eval();
  std::vector<iso::Tensor> x, y;
  for (int64_t i = 0; i < 500; ++i) {
    x.push_back(pixels[i].eval());
    y.push_back(targets[i].eval());
  }

  iso::Sequential model{iso::Input({784}), iso::Dense(128, {.activation = "relu"}),
                        iso::Dense(10, {.activation = "softmax"})};
  iso::Adam optimizer(1e-3);
  const iso::CategoricalCrossentropy loss_of;
  const auto step = iso::function([&](iso::Tensor image, iso::Tensor target) {
    iso::GradientTape tape;
    const iso::Tensor loss = loss_of(target, model(image, {.training = true}));
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
    return loss;
  });

  Epochs epochs;
  std::vector<double> losses;
  for (int epoch = 0; epoch < 5; ++epoch)
    epochs.run([&] {
      double sum = 0;
      for (size_t i = 0; i < x.size(); ++i) sum += step(x[i], y[i]).item();
      losses.push_back(sum / static_cast<double>(x.size()));
    });
  epochs.print();
  return verdict(losses.front(), losses.back(), 0.5);
}
