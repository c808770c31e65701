// An LSTM learns to continue a generated series: two sines and noise, the next value from the 24 before it.
//
//   build/bin/example_lstm_series [epochs]
#include <cmath>
#include <cstdlib>

#include "epochs.h"

namespace iso = isochron;

int main(int argc, char** argv) {
  const int epochs = argc > 1 ? std::atoi(argv[1]) : 8;
  iso::set_seed(2);
  constexpr int64_t kPoints = 1200, kWindow = 24;
  const std::vector<float> noise = iso::random_normal({kPoints}, 0, 0.05).to_vector<float>();
  std::vector<float> series;
  for (size_t t = 0; t < noise.size(); ++t) {
    const auto time = static_cast<float>(t);
    series.push_back(std::sin(0.3f * time) + 0.5f * std::sin(0.05f * time) + noise[t]);
  }
  std::vector<float> x, y;
  for (size_t start = 0; start + kWindow < series.size(); ++start) {
    x.insert(x.end(), series.begin() + static_cast<int64_t>(start),
             series.begin() + static_cast<int64_t>(start) + kWindow);
    y.push_back(series[start + kWindow]);
  }
  const auto rows = static_cast<int64_t>(y.size());

  iso::Sequential model{iso::LSTM(32), iso::Dense(1)};
  model.compile({.optimizer = iso::Adam(5e-3), .loss = "mse"});
  const iso::History history = model.fit(iso::tensor(x, {rows, kWindow, 1}), iso::tensor(y, {rows, 1}),
                                         {.epochs = epochs, .validation_split = 0.2, .verbose = 0});
  fmt::print("error on the last fifth of the series: {:.4f}\n", history["val_loss"].back());
  print_epochs(history);
  return verdict(history["loss"].front(), history["loss"].back(), 0.2);
}
