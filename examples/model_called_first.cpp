// A model called once before fit, to build it and to look at what it gives.
#include "examples/epochs.h"

namespace iso = isochron;

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "data";
  const iso::data::Digits digits = iso::data::read_digits(folder + "/digits.csv.gz");
  const iso::Tensor x = digits.pixels / 16;

  iso::Sequential model{iso::Dense(32, {.activation = "relu"}), iso::Dense(10, {.activation = "softmax"})};
  const iso::Tensor before = model(iso::slice(x, {0}, {2}));
  fmt::print("untrained, the first two digits:\n{}\n{}", before, model.summary());

  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  const iso::History history = model.fit(x, digits.labels, {.epochs = 10, .verbose = 2});

  print_epochs(history);
  return verdict(history["loss"].front(), history["loss"].back(), 0.5);
}
