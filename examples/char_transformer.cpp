// A small causal transformer learns the letters of seven sonnets of Shakespeare, then writes a line of its own.
//
//   build/bin/example_char_transformer [epochs]
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "epochs.h"

namespace iso = isochron;

int main(int argc, char** argv) {
  const int epochs = argc > 1 ? std::atoi(argv[1]) : 6;
  std::ifstream file("data/sonnets.txt");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty()) {
    fmt::print("run it where data/sonnets.txt is\n");
    return 1;
  }
  std::string letters = text;
  std::sort(letters.begin(), letters.end());
  letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
  const auto token = [&](char c) { return static_cast<int32_t>(letters.find(c)); };

  // Every example is a stretch of text and the same stretch one letter on.
  constexpr int64_t kLength = 32;
  std::vector<int32_t> x, y;
  for (size_t start = 0; start + kLength < text.size(); start += 8)
    for (size_t i = start; i < start + kLength; ++i) {
      x.push_back(token(text[i]));
      y.push_back(token(text[i + 1]));
    }
  const auto rows = static_cast<int64_t>(x.size()) / kLength;

  iso::set_seed(1);
  const auto vocabulary = static_cast<int64_t>(letters.size());
  iso::Sequential model{iso::Embedding(vocabulary, 64), iso::PositionEmbedding(kLength),
                        iso::TransformerEncoderLayer(4, 128, {.norm_first = true, .use_causal_mask = true}),
                        iso::LayerNormalization(), iso::Dense(vocabulary)};
  model.compile({.optimizer = iso::Adam(3e-3), .loss = iso::SparseCategoricalCrossentropy({.from_logits = true})});
  const iso::History history = model.fit(iso::tensor(x, {rows, kLength}), iso::tensor(y, {rows, kLength}),
                                         {.epochs = epochs, .batch_size = 32, .verbose = 0});

  std::string line = "Shall I compare thee to a summer";
  for (int i = 0; i < 60; ++i) {
    std::vector<int32_t> last;
    for (const char c : line.substr(line.size() - kLength)) last.push_back(token(c));
    const iso::Tensor logits = model(iso::tensor(last, {1, kLength}));
    const auto next = iso::argmax(iso::slice(logits, {0, kLength - 1}, {1, kLength})).item<int64_t>();
    line += letters[static_cast<size_t>(next)];
  }
  fmt::print("{}\n", line);
  print_epochs(history);
  return verdict(history["loss"].front(), history["loss"].back(), 0.9);
}
