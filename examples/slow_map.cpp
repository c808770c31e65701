// A map that takes very long for one element, diagnosed while it runs: the watchdog tells which stage, which element,
// since when, in which thread and where in its code, and training goes on when the element is there at last.
#include <isochron/isochron.h>

#include <chrono>
#include <thread>

namespace iso = isochron;
using iso::Tensor;

namespace {

[[gnu::noinline]] void wait_for_a_slow_server() {
  std::this_thread::sleep_for(std::chrono::milliseconds(3500));
  asm volatile("");  // no tail call, so that it is seen in the stack
}

}  // namespace

int main() {
  const Tensor x = iso::random_normal({1024, 16}), y = iso::random_normal({1024, 1});
  const auto batches = iso::data::from_tensor_slices(x, y)
                           .map(
                               [](Tensor a, Tensor b, const iso::data::ElementContext& at) {
                                 if (at.epoch == 1 && at.index == 700) wait_for_a_slow_server();
                                 return std::pair(a, b);
                               },
                               {.num_parallel_calls = 2, .name = "download"})
                           .batch(32);
  iso::Sequential model{iso::Dense(8, {.activation = "relu"}), iso::Dense(1)};
  model.compile({.optimizer = iso::SGD(0.01), .loss = "mse"});

  // The usual limit is ten seconds; here half a second will do. Without on_report the text goes to standard error.
  const auto history = model.fit(
      batches, {.epochs = 3,
                .verbose = 0,
                .watchdog = {.first_step_limit = 0.5, .least_limit = 0.5, .on_report = [](const std::string& text) {
                               fmt::print("{}\n", text);
                             }}});
  fmt::print("\ntrained to the end: {} epochs\n", history.epochs().size());
  history.epoch_report().print();
}
