// Dense 784-128-10 with Adam and categorical cross-entropy: epoch 1 against epochs 2 to 5.
#include "examples/epochs.h"

namespace iso = isochron;

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "data";
  const iso::Tensor images = iso::data::read_idx(folder + "/mnist/t10k-images-idx3-ubyte.gz");
  const iso::Tensor labels = iso::data::read_idx(folder + "/mnist/t10k-labels-idx1-ubyte.gz");
  constexpr int64_t kExamples = 4000;
  const iso::Tensor x =
      iso::cast(iso::reshape(iso::slice(images, {0}, {kExamples}), {-1, 784}), iso::DType::float32) / 255;
  const iso::Tensor y = iso::one_hot(iso::cast(iso::slice(labels, {0}, {kExamples}), iso::DType::int64), 10);

  iso::Sequential model{iso::Dense(128, {.activation = "relu"}), iso::Dense(10, {.activation = "softmax"})};
  model.compile({.optimizer = iso::Adam(1e-3), .loss = "categorical_crossentropy", .metrics = {"accuracy"}});
  const iso::History history = model.fit(x, y, {.epochs = 5, .verbose = 2});

  history.epoch_report().print();
  print_epochs(history);
  return verdict(history["loss"].front(), history["loss"].back(), 0.5);
}
