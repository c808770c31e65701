// A line through three points with SGD, ten epochs.
#include "examples/epochs.h"

namespace iso = isochron;

int main() {
  const iso::Tensor x = iso::tensor({{-1.0}, {0.0}, {1.0}});
  const iso::Tensor y = iso::tensor({{-1.0}, {1.0}, {3.0}});

  iso::Sequential model{iso::Dense(1)};
  model.compile({.optimizer = iso::SGD(0.4), .loss = "mse"});
  const iso::History history = model.fit(x, y, {.epochs = 10, .verbose = 2});

  print_epochs(history);
  const std::vector<iso::Tensor> weights = model.get_weights();
  fmt::print("y = {:.2f} x + {:.2f}\n", weights[0].item(), weights[1].item());
}
