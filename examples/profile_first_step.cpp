// Why is the first step slow? Profiles it apart from the later ones and prints both tables.
#include "examples/epochs.h"

namespace iso = isochron;

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "data";
  const iso::data::Digits digits = iso::data::read_digits(folder + "/digits.csv.gz");
  const iso::Tensor pixels = (digits.pixels / 16).eval();
  iso::Sequential model{iso::Dense(128, {.activation = "relu"}), iso::Dense(10)};
  model.compile({.optimizer = iso::Adam(1e-3), .loss = iso::SparseCategoricalCrossentropy({.from_logits = true})});

  iso::profiler::Profile first({.schedule = {.active = 1, .repeat = 1}});
  iso::History history = model.fit(pixels, digits.labels, {.epochs = 1, .verbose = 0, .profiler = &first});
  fmt::print("The first step:\n{}\n", first.key_averages().table({.sort_by = "cpu_time_total", .row_limit = 8}));

  iso::profiler::Profile later({.schedule = {.wait = 2, .warmup = 2, .active = 20, .repeat = 1}});
  history = model.fit(pixels, digits.labels, {.epochs = 1, .verbose = 0, .profiler = &later});
  fmt::print("Twenty later ones:\n{}\n", later.key_averages().table({.sort_by = "cpu_time_total", .row_limit = 8}));

  const double first_us = 1e6 * first.key_averages()["ProfilerStep*"].cpu_time();
  const double later_us = 1e6 * later.key_averages()["ProfilerStep*"].cpu_time();
  const double compile_us = 1e6 * first.key_averages()["compile"].cpu_time_total;
  fmt::print("first step {:.0f} us, of which compiling {:.0f} us; later steps {:.0f} us\n", first_us, compile_us,
             later_us);
  return 0;
}
