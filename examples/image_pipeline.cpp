// 100,000 images of 28 x 28 x 3 through a pipeline: plain batches, then shuffled, converted and prefetched ones,
// feeding a dense model. The first shuffled batch comes at once, and the first pass costs what the later ones do.
#include <isochron/isochron.h>

#include <algorithm>

#include "isochron/base/clock.h"
#include "isochron/base/rng.h"

namespace iso = isochron;
using iso::data::AUTOTUNE;

namespace {

double ms_since(int64_t start) { return iso::seconds_between(start, iso::monotonic_ns()) * 1e3; }

// Milliseconds to the first batch and for the whole pass.
std::pair<double, double> time_pass(const iso::data::Dataset& dataset) {
  const int64_t start = iso::monotonic_ns();
  double first = 0;
  int64_t batches = 0;
  for ([[maybe_unused]] const auto& batch : dataset)
    if (batches++ == 0) first = ms_since(start);
  return {first, ms_since(start)};
}

}  // namespace

int main() {
  constexpr int64_t kImages = 100'000, kPixels = 28 * 28 * 3;
  std::vector<uint8_t> pixels(kImages * kPixels);
  std::vector<int64_t> labels(kImages);
  iso::fill_integers(labels.data(), {.seed = 1, .stream = 0}, 0, kImages, int64_t{0}, int64_t{10});
  // Images of a class are bright in their own tenth of the rows, so there is something to learn.
  for (int64_t i = 0; i < kImages; ++i) {
    const auto bright = static_cast<size_t>(labels[static_cast<size_t>(i)]) * kPixels / 10;
    std::fill_n(pixels.begin() + i * kPixels + static_cast<int64_t>(bright), kPixels / 10, uint8_t{200});
  }
  const iso::Tensor x = iso::Tensor::from_buffer(std::move(pixels), {kImages, 28, 28, 3});
  const iso::Tensor y = iso::Tensor::from_buffer(std::move(labels), {kImages});

  const auto plain = iso::data::from_tensor_slices(x, y).batch(32);
  const auto [plain_first, plain_pass] = time_pass(plain);
  fmt::print("batch(32): first batch {:.1f} ms, pass {:.0f} ms\n", plain_first, plain_pass);

  const auto train = iso::data::from_tensor_slices(x, y)
                         .shuffle(kImages)
                         .cast({.dtype = iso::DType::float32, .scale = 1 / 255.0})
                         .batch(32)
                         .prefetch(AUTOTUNE);
  fmt::print("{}", train.explain());
  const auto [first, pass] = time_pass(train);
  fmt::print("shuffled: first batch {:.1f} ms, first pass {:.0f} ms, second pass {:.0f} ms\n", first, pass,
             time_pass(train).second);

  iso::Sequential model{iso::Flatten(), iso::Dense(32, {.activation = "relu"}), iso::Dense(10)};
  model.compile({.optimizer = iso::Adam(1e-3),
                 .loss = iso::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  const iso::History history = model.fit(train, {.epochs = 2, .steps_per_epoch = 300, .verbose = 0});
  history.epoch_report().print();
  fmt::print("{}\n", history["accuracy"].back() > 0.95 ? "learned" : "did not learn");
}
