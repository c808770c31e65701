// An autoencoder of digits, from which the encoder is taken as a model of its own.
#include "examples/epochs.h"

namespace iso = isochron;

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "data";
  const iso::Tensor pixels = (iso::data::read_digits(folder + "/digits.csv.gz").pixels / 16).eval();
  iso::set_seed(1);

  const auto image = iso::Input({64}, {.name = "image"});
  const auto code =
      iso::Dense(8, {.activation = "relu", .name = "code"})(iso::Dense(32, {.activation = "relu"})(image));
  const auto picture = iso::Dense(64, {.activation = "sigmoid"})(iso::Dense(32, {.activation = "relu"})(code));
  iso::Model autoencoder(image, picture, {.name = "autoencoder"});
  autoencoder.compile({.optimizer = iso::Adam(3e-3), .loss = "mse"});
  const iso::History history = autoencoder.fit(pixels, pixels, {.epochs = 10, .verbose = 2});

  iso::Model encoder(image, code);  // the same layers, up to the code
  const iso::Tensor codes = encoder.predict(pixels);
  fmt::print("{} codes of {} numbers\n", codes.shape()[0], codes.shape()[1]);

  print_epochs(history);
  return verdict(history["loss"].front(), history["loss"].back(), 0.6);
}
