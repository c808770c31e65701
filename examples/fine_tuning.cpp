// Layers trained on one task are frozen and used for another, then trained a little further with a small rate.
#include "examples/epochs.h"

namespace iso = isochron;

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "data";
  const iso::data::Digits digits = iso::data::read_digits(folder + "/digits.csv.gz");
  const iso::Tensor pixels = (digits.pixels / 16).eval();
  iso::set_seed(1);

  // All ten digits.
  iso::Sequential base{iso::Input({64}), iso::Dense(64, {.activation = "relu"}),
                       iso::Dense(32, {.activation = "relu"})};
  const auto image = iso::Input({64});
  iso::Model teacher(image, iso::Dense(10)(base(image)));
  teacher.compile({.optimizer = iso::Adam(2e-3), .loss = iso::SparseCategoricalCrossentropy({.from_logits = true})});
  teacher.fit(pixels, digits.labels, {.epochs = 8, .verbose = 0});

  // Another question of the same images: is the digit even?
  const iso::Tensor even =
      iso::reshape(iso::cast(iso::equal(iso::mod(digits.labels, 2), 0), iso::DType::float32), {-1, 1}).eval();
  base.set_trainable(false);
  const auto other = iso::Input({64});
  iso::Model student(other, iso::Dense(1)(base(other)));
  student.compile({.optimizer = iso::Adam(5e-3), .loss = iso::BinaryCrossentropy({.from_logits = true})});
  fmt::print("{} of {} weights train\n", student.trainable_variables().size(), student.weights().size());
  const iso::History head = student.fit(pixels, even, {.epochs = 8, .verbose = 2});

  base.set_trainable(true);
  student.compile({.optimizer = iso::Adam(1e-4), .loss = iso::BinaryCrossentropy({.from_logits = true})});
  const iso::History all = student.fit(pixels, even, {.epochs = 4, .verbose = 2});

  print_epochs(head);
  return verdict(head["loss"].front(), all["loss"].back(), 0.7);
}
