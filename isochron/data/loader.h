// DataLoader, PyTorch's face of the same machinery, and its samplers.
//
//   DataLoader loader(std::make_shared<MyDataset>(), {.batch_size = 128, .shuffle = true});
//   for (const Element& batch : loader) { auto [x, y] = batch.tensors<2>(); }
//   model.fit(loader.dataset(), {.epochs = 2});
//
// workers = 0 collates in the consumer's thread; otherwise so many threads (never processes) run ahead of it. They
// start once and live across epochs.
#pragma once

#include <memory>
#include <vector>

#include "isochron/data/dataset.h"

namespace isochron::data {

// Row i of a column, of an array (sharing its bytes) or of strings: what get(i) of a class that holds tensors returns,
// as `self.x[i]` in PyTorch.
Component row_of(const Component& column, int64_t i);

// Which elements an epoch sees, by number: at(i, epoch) for i of 0 … size() - 1. Called from several threads.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual int64_t size() const = 0;
  virtual int64_t at(int64_t i, uint64_t epoch) const = 0;
  virtual std::string describe() const = 0;
};

struct RandomSamplerOptions {
  bool replacement = false;
  int64_t num_samples = 0;  // 0: as many as there are elements
  std::optional<uint64_t> seed = {};
};
std::shared_ptr<const Sampler> random_sampler(int64_t elements, RandomSamplerOptions options = {});
// Element i is drawn with a probability in proportion to weights[i].
struct WeightedSamplerOptions {
  bool replacement = true;
  std::optional<uint64_t> seed = {};
};
std::shared_ptr<const Sampler> weighted_random_sampler(std::vector<double> weights, int64_t num_samples,
                                                       WeightedSamplerOptions options = {});
std::shared_ptr<const Sampler> subset_random_sampler(std::vector<int64_t> indices, std::optional<uint64_t> seed = {});
// The share of one of `replicas` processes. All get equally many: some elements twice, or, with drop_last, some not.
struct DistributedSamplerOptions {
  bool shuffle = true, drop_last = false;
  uint64_t seed = 0;  // the same in all processes
};
std::shared_ptr<const Sampler> distributed_sampler(int64_t elements, int64_t replicas, int64_t rank,
                                                   DistributedSamplerOptions options = {});

struct DataLoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  int64_t workers = 0;  // AUTOTUNE: as many as help
  std::shared_ptr<const Sampler> sampler = {};
  Collate collate = {};
  bool drop_last = false;
  std::optional<uint64_t> seed = {};  // of the shuffle
};

class DataLoader {
 public:
  // ValueError for a sampler together with shuffle, for one over a stream, and for shuffle over a stream of unknown
  // length, which needs Dataset::shuffle() with a buffer.
  DataLoader(const Dataset& dataset, DataLoaderOptions options = {});
  DataLoader(std::shared_ptr<const MapStyleDataset> dataset, DataLoaderOptions options = {})
      : DataLoader(from_map_style(std::move(dataset)), std::move(options)) {}

  DatasetIterator begin() const { return dataset_.begin(); }
  std::default_sentinel_t end() const { return {}; }
  int64_t size() const { return dataset_.size(); }  // batches
  const Dataset& dataset() const { return dataset_; }

 private:
  Dataset dataset_;
};

}  // namespace isochron::data
