#include "isochron/data/loader.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "isochron/base/cache_folder.h"
#include "isochron/base/counts.h"
#include "isochron/base/rng.h"
#include "isochron/data/index_map.h"
#include "isochron/data/run.h"
#include "isochron/data/stages.h"
#include "isochron/ops/random_key.h"

namespace isochron::data {
namespace {

uint64_t seed_or_fresh(const std::optional<uint64_t>& seed) {
  return seed ? *seed : get_seed() * 0x9e3779b97f4a7c15u + take_random_streams(1);
}

double uniform(uint64_t seed, uint64_t epoch, int64_t i) {
  const PhiloxBlock bits = RandomStream{seed, epoch}.block(static_cast<uint64_t>(i));
  return (bits[0] + bits[1] * 0x1p-32) * 0x1p-32;
}

class RandomSampler : public Sampler {
 public:
  RandomSampler(int64_t elements, RandomSamplerOptions options)
      : elements_(elements),
        samples_(options.num_samples > 0 ? options.num_samples : elements),
        replacement_(options.replacement),
        seed_(seed_or_fresh(options.seed)) {
    if (elements < 1) fail<ValueError>("random_sampler", "needs at least 1 element, got {}", elements);
    if (options.num_samples < 0)
      fail<ValueError>("random_sampler", "num_samples must not be negative, got {}", options.num_samples);
  }
  int64_t size() const override { return samples_; }
  int64_t at(int64_t i, uint64_t epoch) const override {
    if (replacement_) return static_cast<int64_t>(uniform(seed_, epoch, i) * static_cast<double>(elements_));
    // More samples than elements: one order after the other.
    const uint64_t round =
        epoch * static_cast<uint64_t>(samples_ / elements_ + 1) + static_cast<uint64_t>(i / elements_);
    return static_cast<int64_t>(
        permuted_index(seed_, round, static_cast<uint64_t>(elements_), static_cast<uint64_t>(i % elements_)));
  }
  std::string describe() const override { return replacement_ ? "random with replacement" : "random"; }

 private:
  const int64_t elements_, samples_;
  const bool replacement_;
  const uint64_t seed_;
};

class WeightedSampler : public Sampler {
 public:
  WeightedSampler(std::vector<double> weights, int64_t samples, WeightedSamplerOptions options)
      : weights_(std::move(weights)),
        sums_(weights_.size()),
        samples_(samples),
        replacement_(options.replacement),
        seed_(seed_or_fresh(options.seed)) {
    check_weights("weighted_random_sampler", weights_);
    const auto positive = std::count_if(weights_.begin(), weights_.end(), [](double w) { return w > 0; });
    if (samples < 1 || (!replacement_ && samples > positive))
      fail<ValueError>("weighted_random_sampler", "can't draw {} of {} elements with a weight{}", samples, positive,
                       replacement_ ? "" : " without replacement");
    std::partial_sum(weights_.begin(), weights_.end(), sums_.begin());
  }
  int64_t size() const override { return samples_; }
  int64_t at(int64_t i, uint64_t epoch) const override {
    if (!replacement_) return order_of(epoch)->at(static_cast<size_t>(i));
    const double drawn = uniform(seed_, epoch, i) * sums_.back();
    const auto found = std::upper_bound(sums_.begin(), sums_.end(), drawn);
    return std::min<int64_t>(found - sums_.begin(), static_cast<int64_t>(sums_.size()) - 1);
  }
  std::string describe() const override { return "weighted"; }

 private:
  // Without replacement (Efraimidis and Spirakis): the largest of log(u) / weight come first.
  std::shared_ptr<const std::vector<int64_t>> order_of(uint64_t epoch) const {
    std::lock_guard lock(mutex_);
    for (const auto& [known, order] : orders_)
      if (known == epoch) return order;
    std::vector<std::pair<double, int64_t>> keys;
    for (size_t i = 0; i < weights_.size(); ++i)
      if (weights_[i] > 0) {
        const double u = std::max(uniform(seed_, epoch, static_cast<int64_t>(i)), 0x1p-64);
        keys.emplace_back(-std::log(u) / weights_[i], static_cast<int64_t>(i));
      }
    std::sort(keys.begin(), keys.end());
    auto order = std::make_shared<std::vector<int64_t>>();
    for (int64_t i = 0; i < samples_; ++i) order->push_back(keys[static_cast<size_t>(i)].second);
    if (orders_.size() == 2) orders_.erase(orders_.begin());  // threads may be in this pass and the next
    orders_.emplace_back(epoch, order);
    return order;
  }
  const std::vector<double> weights_;
  std::vector<double> sums_;
  const int64_t samples_;
  const bool replacement_;
  const uint64_t seed_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<uint64_t, std::shared_ptr<const std::vector<int64_t>>>> orders_;
};

class SubsetSampler : public Sampler {
 public:
  SubsetSampler(std::vector<int64_t> indices, uint64_t seed) : indices_(std::move(indices)), seed_(seed) {}
  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  int64_t at(int64_t i, uint64_t epoch) const override {
    return indices_[permuted_index(seed_, epoch, indices_.size(), static_cast<uint64_t>(i))];
  }
  std::string describe() const override { return fmt::format("subset of {}", indices_.size()); }

 private:
  const std::vector<int64_t> indices_;
  const uint64_t seed_;
};

class DistributedSampler : public Sampler {
 public:
  DistributedSampler(int64_t elements, int64_t replicas, int64_t rank, DistributedSamplerOptions options)
      : elements_(elements), replicas_(replicas), rank_(rank), options_(options) {
    if (elements < 0) fail<ValueError>("distributed_sampler", "can't share {} elements", elements);
    if (replicas < 1 || rank < 0 || rank >= replicas)
      fail<ValueError>("distributed_sampler", "rank must be in [0, replicas), got {} of {}", rank, replicas);
  }
  int64_t size() const override { return options_.drop_last ? elements_ / replicas_ : parts_of(elements_, replicas_); }
  int64_t at(int64_t i, uint64_t epoch) const override {
    const auto place = (static_cast<uint64_t>(i) * static_cast<uint64_t>(replicas_) + static_cast<uint64_t>(rank_)) %
                       static_cast<uint64_t>(elements_);
    if (!options_.shuffle) return static_cast<int64_t>(place);
    return static_cast<int64_t>(permuted_index(options_.seed, epoch, static_cast<uint64_t>(elements_), place));
  }
  std::string describe() const override { return fmt::format("share {} of {}", rank_, replicas_); }

 private:
  const int64_t elements_, replicas_, rank_;
  const DistributedSamplerOptions options_;
};

class SampledIndexed : public IndexMap {
 public:
  SampledIndexed(std::unique_ptr<Indexed> below, std::shared_ptr<const Sampler> sampler)
      : IndexMap(std::move(below)), sampler_(std::move(sampler)) {}
  int64_t size() const override { return sampler_->size(); }
  void map(int64_t& index, uint64_t& epoch) const override {
    const int64_t wanted = sampler_->at(index, epoch);
    if (wanted < 0 || wanted >= below_->size())
      fail<IndexError>("sampler", "asked for element {} of {}", wanted, below_->size());
    index = wanted;
  }

 private:
  std::shared_ptr<const Sampler> sampler_;
};

class SamplerStage : public StageOf<SamplerStage> {
 public:
  SamplerStage(StagePtr input, std::shared_ptr<const Sampler> sampler)
      : StageOf({std::move(input)}), sampler_(std::move(sampler)) {
    if (!inputs_indexed() || inputs()[0]->size() < 0)
      fail<ValueError>("DataLoader", "a sampler needs elements with numbers; {} {}", inputs()[0]->describe(),
                       inputs_indexed() ? "has no end" : "is a stream");
  }
  std::string describe() const override { return fmt::format("sampler({})", sampler_->describe()); }
  // By what it draws: two subsets of one size are not the same, nor are two seeds.
  std::string fingerprint() const override {
    constexpr int64_t kLooks = 4096;
    const int64_t step = std::max<int64_t>(1, size() / kLooks);
    std::string indices;
    for (int64_t i = 0; i < size(); i += step) indices += fmt::format("{},", sampler_->at(i, 0));
    return fmt::format("{}:{}:{}", describe(), size(), hashed(indices));
  }
  int64_t size() const override { return sampler_->size(); }
  bool is_indexed() const override { return true; }
  std::unique_ptr<Indexed> indexed(Run& run) const override {
    auto below = run.indexed(inputs()[0]);
    run.add(*this);
    return std::make_unique<SampledIndexed>(std::move(below), sampler_);
  }

 private:
  std::shared_ptr<const Sampler> sampler_;
};

StagePtr loader_stage(const Dataset& dataset, const DataLoaderOptions& options) {
  if (options.sampler && options.shuffle) fail<ValueError>("DataLoader", "sampler and shuffle exclude each other");
  if (options.workers < AUTOTUNE)
    fail<ValueError>("DataLoader", "workers must not be negative, got {}", options.workers);
  StagePtr stage = dataset.stage();
  if (options.sampler) stage = std::make_shared<SamplerStage>(stage, options.sampler);
  if (options.shuffle && !stage->is_indexed() && stage->size() < 0)
    fail<ValueError>("DataLoader",
                     "{} is a stream of unknown length; instead of .shuffle here, give it a buffer: "
                     "dataset.shuffle(10000)",
                     stage->describe());
  if (options.shuffle) stage = shuffle_stage(stage, std::max<int64_t>(1, stage->size()), {.seed = options.seed});
  stage = options.collate ? collate_stage(stage, options.batch_size, options.drop_last, options.collate)
                          : Dataset(stage).batch(options.batch_size, {.drop_remainder = options.drop_last}).stage();
  return options.workers == 0 ? stage : prefetch_stage(stage, AUTOTUNE, static_cast<int>(options.workers));
}

}  // namespace

Component row_of(const Component& column, int64_t i) {
  if (column.shape().rank() < 1 || i < 0 || i >= column.shape()[0])
    fail<IndexError>("row_of", "row {} of {}", i, to_string(column.component_spec()));
  if (!column.is_text()) return Component::row(column, i);
  const Shape shape = column.shape().erase(0);
  const auto begin = column.texts().begin() + i * shape.elements();
  return Component(Strings(begin, begin + shape.elements()), shape);
}

std::shared_ptr<const Sampler> random_sampler(int64_t elements, RandomSamplerOptions options) {
  return std::make_shared<RandomSampler>(elements, options);
}
void check_weights(const char* where, const std::vector<double>& weights) {
  for (const double weight : weights)
    if (!(weight >= 0 && std::isfinite(weight)))
      fail<ValueError>(where, "weights are at least 0 and finite, got {}", weight);
  if (std::none_of(weights.begin(), weights.end(), [](double weight) { return weight > 0; }))
    fail<ValueError>(where, "at least one weight must be more than 0");
}

std::shared_ptr<const Sampler> weighted_random_sampler(std::vector<double> weights, int64_t num_samples,
                                                       WeightedSamplerOptions options) {
  return std::make_shared<WeightedSampler>(std::move(weights), num_samples, options);
}
std::shared_ptr<const Sampler> subset_random_sampler(std::vector<int64_t> indices, std::optional<uint64_t> seed) {
  return std::make_shared<SubsetSampler>(std::move(indices), seed_or_fresh(seed));
}
std::shared_ptr<const Sampler> distributed_sampler(int64_t elements, int64_t replicas, int64_t rank,
                                                   DistributedSamplerOptions options) {
  return std::make_shared<DistributedSampler>(elements, replicas, rank, options);
}

DataLoader::DataLoader(const Dataset& dataset, DataLoaderOptions options) : dataset_(loader_stage(dataset, options)) {}

}  // namespace isochron::data
