// A CNN on MNIST: from the gzipped files to the accuracy on the test images.
//   example_mnist_cnn [folder] [training images] [epochs]
#include "examples/epochs.h"

namespace iso = isochron;

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "data";
  const int64_t count = argc > 2 ? std::stoll(argv[2]) : 60000;
  const int epochs = argc > 3 ? std::stoi(argv[3]) : 1;
  const iso::data::Mnist mnist = iso::data::read_mnist(folder + "/mnist");
  const auto images = [](const iso::Tensor& x) { return iso::reshape(x, {-1, 28, 28, 1}); };
  const iso::Tensor x = images(iso::slice(mnist.train_images, {0}, {count})),
                    y = iso::slice(mnist.train_labels, {0}, {count});

  iso::Sequential model{iso::Rescaling(1.0 / 255),
                        iso::Conv2D(32, 3, {.activation = "relu"}),
                        iso::Conv2D(64, 3, {.activation = "relu"}),
                        iso::MaxPooling2D(),
                        iso::Flatten(),
                        iso::Dense(128, {.activation = "relu"}),
                        iso::Dense(10)};
  model.compile({.optimizer = iso::Adam(1e-3),
                 .loss = iso::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  const iso::History history = model.fit(x, y, {.epochs = epochs, .batch_size = 64, .verbose = 2});
  fmt::print("{}", model.summary());

  const iso::Logs logs =
      model.evaluate(images(mnist.test_images), mnist.test_labels, {.batch_size = 200, .verbose = 0});
  fmt::print("test accuracy {:.4f}\n", logs["accuracy"]);
  return logs["accuracy"] > 0.8 ? 0 : 1;
}
