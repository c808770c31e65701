// A model larger than memory: two layers, 100,000 inputs and 100,000 units. It is refused before any of it is
// allocated, with what it needs, what there is, and what would fit; the estimate tells the same beforehand.
#include <isochron/isochron.h>

#include "isochron/base/clock.h"
#include "isochron/base/memory_info.h"

namespace iso = isochron;

int main() {
  const iso::Tensor x = iso::zeros({8, 100'000}).eval(), y = iso::zeros({8}, iso::DType::int64).eval();
  const int64_t memory = iso::resident_bytes(), start = iso::monotonic_ns();

  iso::Sequential model{iso::Input({100'000}), iso::Dense(100'000, {.activation = "relu"}), iso::Dense(10)};
  model.compile({.optimizer = iso::Adam(1e-3), .loss = iso::SparseCategoricalCrossentropy({.from_logits = true})});
  try {
    model.fit(x, y, {.epochs = 1, .verbose = 0});
    fmt::print("this machine has the memory for it\n");
  } catch (const iso::MemoryError& error) {
    fmt::print("{}\n", error.what());
  }
  fmt::print("refused after {:.1f} ms, {:.0f} MB more in memory\n\n",
             iso::seconds_between(start, iso::monotonic_ns()) * 1e3,
             static_cast<double>(iso::resident_bytes() - memory) * 1e-6);

  // A thousandth of it fits.
  iso::Sequential smaller{iso::Input({100'000}), iso::Dense(100, {.activation = "relu"}), iso::Dense(10)};
  smaller.compile({.optimizer = iso::Adam(1e-3), .loss = iso::SparseCategoricalCrossentropy({.from_logits = true})});
  fmt::print("{}", smaller.estimate(x, y, {.epochs = 5}).to_string());
}
