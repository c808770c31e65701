// Random-normal weights set by hand, then Adam.
#include "examples/epochs.h"

namespace iso = isochron;

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "data";
  const iso::data::Digits digits = iso::data::read_digits(folder + "/digits.csv.gz");

  iso::Sequential model{iso::Input({64}), iso::Dense(32, {.activation = "relu"}), iso::Dense(10)};
  iso::set_seed(1);
  model.set_weights(
      {iso::random_normal({64, 32}, 0, 0.1), iso::zeros({32}), iso::random_normal({32, 10}, 0, 0.1), iso::zeros({10})});
  model.compile({.optimizer = iso::Adam(1e-3), .loss = iso::SparseCategoricalCrossentropy({.from_logits = true})});
  const iso::History history = model.fit(digits.pixels / 16, digits.labels, {.epochs = 10, .verbose = 2});

  print_epochs(history);
  return verdict(history["loss"].front(), history["loss"].back(), 0.5);
}
