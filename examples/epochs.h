// What the examples share: the line that sets the first epoch against the later ones.
//
//   print_epochs(history);                                  // after fit()
//   Epochs epochs; for (…) epochs.run([&] { … }); epochs.print();   // around a loop of one's own
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "isochron/isochron.h"

class Epochs {
 public:
  template <class F>
  void run(F&& epoch) {
    const auto start = std::chrono::steady_clock::now();
    epoch();
    add(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  void add(double seconds) { milliseconds_.push_back(1e3 * seconds); }
  void print() const {
    std::vector<double> later(milliseconds_.begin() + 1, milliseconds_.end());
    std::sort(later.begin(), later.end());
    fmt::print("first epoch {:.3f} ms, later {:.3f} ms\n", milliseconds_.front(), later[later.size() / 2]);
  }

 private:
  std::vector<double> milliseconds_;
};

inline void print_epochs(const isochron::History& history) {
  Epochs epochs;
  for (const isochron::Epoch& epoch : history.record().epochs) epochs.add(epoch.seconds);
  epochs.print();
}

// The last line of an example: "learned" when the loss fell to `bound` of what it was.
inline int verdict(double first_loss, double last_loss, double bound) {
  const bool learned = last_loss < bound * first_loss;
  fmt::print("{}: loss {:.4f} -> {:.4f}\n", learned ? "learned" : "did not learn", first_loss, last_loss);
  return learned ? 0 : 1;
}
