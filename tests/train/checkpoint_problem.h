// A small training that saves, and what lies in its folder.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "isochron/isochron.h"

namespace isochron {

struct Problem {
  Tensor x = random_normal({40, 4}, 0, 1, {.seed = 7}).eval();
  Tensor y = (matmul(x, tensor({{2.0}, {-1.0}, {0.5}, {1.0}})) + 1).eval();
  Sequential model{Input({4}), Dense(8, {.activation = "tanh"}), Dense(1)};
  Problem() { model.compile({.optimizer = Adam(0.01), .loss = "mse"}); }
  History fit(int epochs, std::vector<std::shared_ptr<Callback>> callbacks, const std::string& resume = "") {
    return model.fit(
        x, y, {.epochs = epochs, .batch_size = 8, .verbose = 0, .callbacks = std::move(callbacks), .resume = resume});
  }
};

inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

inline std::shared_ptr<ModelCheckpoint> checkpoint(const std::string& path, ModelCheckpoint::Options options = {}) {
  return std::make_shared<ModelCheckpoint>(path, std::move(options));
}

}  // namespace isochron
