// Two programs whose input is slow, and what the report says of them: preprocessing that sleeps once, for 2 seconds,
// and a map that sleeps 50 ms for every batch, first one call at a time, then as many as it takes.
#include <isochron/isochron.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "isochron/base/clock.h"

namespace iso = isochron;
using iso::Tensor;

namespace {

void nap(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

void train(const char* title, const iso::data::Dataset& dataset) {
  iso::Sequential model{iso::Dense(8, {.activation = "relu"}), iso::Dense(1)};
  model.compile({.optimizer = iso::SGD(0.01), .loss = "mse"});
  fmt::print("{}\n", title);
  const int64_t start = iso::monotonic_ns();
  model.fit(dataset, {.epochs = 2, .verbose = 0}).epoch_report().print();
  fmt::print("{:.2f} s in all\n\n", iso::seconds_between(start, iso::monotonic_ns()));
}

}  // namespace

int main() {
  const Tensor x = iso::random_normal({1024, 16}), y = iso::random_normal({1024, 1});
  const auto batches = iso::data::from_tensor_slices(x, y).batch(32);

  std::once_flag once;
  train("preprocessing that sleeps 2 s, once", batches.map(
                                                   [&](Tensor a, Tensor b) {
                                                     std::call_once(once, [] { nap(2000); });
                                                     return std::pair(a, b);
                                                   },
                                                   {.name = "preprocess"}));
  const auto slow = [](Tensor a, Tensor b) {
    nap(50);
    return std::pair(a, b);
  };
  train("50 ms for every batch, one call at a time", batches.map(slow, {.name = "slow"}));
  train("50 ms for every batch, AUTOTUNE",
        batches.map(slow, {.num_parallel_calls = iso::data::AUTOTUNE, .name = "slow"}));
}
