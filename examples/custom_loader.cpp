// A data set class of one's own, 10,000 rows of 100 numbers, and a shuffled loader of 128: two passes, timed.
#include <isochron/isochron.h>

#include "isochron/base/clock.h"
#include "isochron/base/rng.h"

namespace iso = isochron;

struct RandomRows : iso::data::MapStyleDataset {
  static constexpr int64_t kRows = 10'000, kColumns = 100;
  std::vector<float> values = std::vector<float>(kRows * kColumns);
  RandomRows() { iso::fill_normal(values.data(), {.seed = 1, .stream = 0}, 0, kRows * kColumns, 0.f, 1.f); }
  int64_t size() const override { return kRows; }
  iso::data::Element get(int64_t i) const override {
    const std::span<const float> row(values.data() + i * kColumns, kColumns);
    return iso::data::make_element(iso::Tensor::from_span(row, {kColumns}), i % 10);
  }
};

int main() {
  const iso::data::DataLoader loader(std::make_shared<RandomRows>(), {.batch_size = 128, .shuffle = true});
  for (int epoch = 0; epoch < 2; ++epoch) {
    const int64_t start = iso::monotonic_ns();
    int64_t rows = 0;
    for (const iso::data::Element& batch : loader) {
      auto [x, y] = batch.tensors<2>();
      rows += x.shape()[0];
    }
    fmt::print("epoch {}: {} rows in {} batches, {:.1f} ms\n", epoch + 1, rows, loader.size(),
               iso::seconds_between(start, iso::monotonic_ns()) * 1e3);
  }
}
