#include "isochron/data/dataset.h"

#include <mutex>

#include "isochron/data/batch.h"
#include "isochron/data/pipeline.h"
#include "isochron/data/stages.h"

namespace isochron::data {

// What copies of a data set share: its stages, and the pipeline that waits for the next pass.
struct Dataset::Shared {
  StagePtr stage;
  std::mutex mutex;
  std::shared_ptr<Pipeline> idle;
};

namespace detail {
void refuse_arity(size_t wanted, const Element& element) {
  fail<ValueError>("map", "the function takes {} components, the elements have {}: {}", wanted, element.size(),
                   describe(element));
}
}  // namespace detail

std::string fingerprint_of(const Stage& stage) {
  std::string text = stage.fingerprint() + "(";
  for (const StagePtr& input : stage.inputs()) text += fingerprint_of(*input) + ";";
  return text + ")";
}

Dataset::Dataset(StagePtr stage) : shared_(std::make_shared<Shared>()) { shared_->stage = std::move(stage); }

const StagePtr& Dataset::stage() const { return shared_->stage; }
int64_t Dataset::size() const { return shared_->stage->size(); }
std::vector<ComponentSpec> Dataset::specs() const { return shared_->stage->specs(); }

DatasetIterator Dataset::begin() const {
  std::shared_ptr<Pipeline> pipeline;
  {
    std::lock_guard lock(shared_->mutex);
    pipeline = std::exchange(shared_->idle, nullptr);
  }
  if (!pipeline) pipeline = std::make_shared<Pipeline>(shared_->stage);
  pipeline->begin();
  // Back to the data set when the iterator lets go of it, ready for the next pass.
  std::weak_ptr<Shared> home = shared_;
  Pipeline* running = pipeline.get();
  return DatasetIterator(std::shared_ptr<Pipeline>(running, [home, owner = std::move(pipeline)](Pipeline*) mutable {
    if (const auto shared = home.lock()) {
      std::lock_guard lock(shared->mutex);
      shared->idle = std::move(owner);
    }
  }));
}

DatasetIterator::DatasetIterator(std::shared_ptr<Pipeline> pipeline) : pipeline_(std::move(pipeline)) { ++*this; }

DatasetIterator& DatasetIterator::operator++() {
  if (pipeline_ && !pipeline_->next(element_)) pipeline_.reset();
  return *this;
}

Dataset Dataset::map_elements(MapFunction f, std::string code, MapOptions options) const {
  return Dataset(map_stage(stage(), std::move(f), std::move(code), std::move(options)));
}
Dataset Dataset::batch(int64_t size, BatchOptions options) const {
  return Dataset(batch_stage(stage(), size, options.drop_remainder));
}
Dataset Dataset::shuffle(int64_t buffer_size, ShuffleOptions options) const {
  return Dataset(shuffle_stage(stage(), buffer_size, options));
}
Dataset Dataset::prefetch(int64_t buffer_size) const { return Dataset(prefetch_stage(stage(), buffer_size)); }

}  // namespace isochron::data
