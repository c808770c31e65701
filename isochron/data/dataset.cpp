#include "isochron/data/dataset.h"

#include <mutex>

#include "isochron/data/batch.h"
#include "isochron/data/optimize.h"
#include "isochron/data/pipeline.h"
#include "isochron/data/stages.h"

namespace isochron::data {

// What copies of a data set share: its stages, and the pipeline that waits for the next pass.
struct Dataset::Shared {
  StagePtr stage;
  std::mutex mutex;
  std::shared_ptr<Pipeline> idle;
  std::weak_ptr<Pipeline> latest;  // the pass that began last
};

namespace detail {
void refuse_arity(size_t wanted, const Element& element) {
  fail<ValueError>("map", "the function takes {} components, the elements have {}: {}", wanted, element.size(),
                   describe(element));
}
}  // namespace detail

std::string fingerprint_of(const Stage& stage, bool contents) {
  std::string text = stage.fingerprint() + (contents ? stage.contents() : "") + "(";
  for (const StagePtr& input : stage.inputs()) text += fingerprint_of(*input, contents) + ";";
  return text + ")";
}

Dataset::Dataset(StagePtr stage) : shared_(std::make_shared<Shared>()) { shared_->stage = std::move(stage); }

const StagePtr& Dataset::stage() const { return shared_->stage; }
int64_t Dataset::size() const { return shared_->stage->size(); }
std::vector<ComponentSpec> Dataset::specs() const { return shared_->stage->specs(); }

DatasetIterator Dataset::begin_pass(bool ahead) const {
  std::shared_ptr<Pipeline> pipeline;
  {
    std::lock_guard lock(shared_->mutex);
    pipeline = std::exchange(shared_->idle, nullptr);
  }
  if (!pipeline || (pipeline->ahead() != ahead && !pipeline->restored()))
    pipeline = std::make_shared<Pipeline>(shared_->stage, ahead, pipeline ? pipeline->next_pass() : 0);
  pipeline->begin();
  {
    std::lock_guard lock(shared_->mutex);
    shared_->latest = pipeline;
  }
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

std::string Dataset::state() const {
  std::shared_ptr<Pipeline> pipeline;
  {
    std::lock_guard lock(shared_->mutex);
    pipeline = shared_->latest.lock();
  }
  return pipeline ? pipeline->state() : Pipeline(shared_->stage).state();
}

void Dataset::restore(std::string_view state) const {
  auto pipeline = std::make_shared<Pipeline>(shared_->stage, Pipeline::was_ahead(state));
  pipeline->restore(state);
  std::lock_guard lock(shared_->mutex);
  shared_->idle = pipeline;
  shared_->latest = pipeline;
}

std::string Dataset::explain() const {
  return "asked for:\n" + plan_text(*stage()) + "runs:\n" + plan_text(*optimized(stage()));
}

std::string Dataset::inspect(int64_t count) const { return data::inspect(stage(), count); }

PipelineReport Dataset::report() const {
  std::shared_ptr<Pipeline> pipeline;
  {
    std::lock_guard lock(shared_->mutex);
    pipeline = shared_->latest.lock();
  }
  return pipeline ? pipeline->report() : PipelineReport{};
}

DatasetIterator::DatasetIterator(std::shared_ptr<Pipeline> pipeline) : pipeline_(std::move(pipeline)) { ++*this; }

DatasetIterator& DatasetIterator::operator++() {
  if (pipeline_ && !pipeline_->next(element_)) pipeline_.reset();
  return *this;
}

Dataset Dataset::map_elements(MapFunction f, std::string code, MapOptions options) const {
  return Dataset(map_stage(stage(), std::move(f), std::move(code), std::move(options)));
}
Dataset Dataset::cast(CastOptions options) const { return Dataset(cast_stage(stage(), options)); }
Dataset Dataset::batch(int64_t size, BatchOptions options) const {
  return Dataset(batch_stage(stage(), size, options.drop_remainder));
}
Dataset Dataset::padded_batch(int64_t size, PaddedBatchOptions options) const {
  return Dataset(padded_batch_stage(stage(), size, std::move(options)));
}
Dataset Dataset::bucket_elements(KeyFunction length, std::string code, std::vector<int64_t> boundaries,
                                 std::vector<int64_t> batch_sizes, BucketOptions options) const {
  return Dataset(bucket_stage(stage(), std::move(length), std::move(code), std::move(boundaries),
                              std::move(batch_sizes), std::move(options)));
}
Dataset Dataset::collate(int64_t size, Collate collate, BatchOptions options) const {
  return Dataset(collate_stage(stage(), size, options.drop_remainder, std::move(collate)));
}
Dataset Dataset::unbatch() const { return Dataset(unbatch_stage(stage())); }
Dataset Dataset::window(int64_t size, WindowOptions options) const {
  return Dataset(window_stage(stage(), size, options));
}
Dataset Dataset::shuffle(int64_t buffer_size, ShuffleOptions options) const {
  return Dataset(shuffle_stage(stage(), buffer_size, options));
}
Dataset Dataset::repeat(int64_t count) const { return Dataset(repeat_stage(stage(), count)); }
Dataset Dataset::take(int64_t count) const { return Dataset(take_stage(stage(), count)); }
Dataset Dataset::skip(int64_t count) const { return Dataset(skip_stage(stage(), count)); }
Dataset Dataset::shard(int64_t num_shards, int64_t index) const {
  return Dataset(shard_stage(stage(), num_shards, index));
}
Dataset Dataset::concatenate(const Dataset& other) const { return Dataset(concatenate_stage(stage(), other.stage())); }
Dataset Dataset::enumerate(int64_t start) const { return zip({range(start, INT64_MAX), *this}); }
Dataset Dataset::filter_elements(std::function<bool(const Element&)> keep, std::string code) const {
  return Dataset(filter_stage(stage(), std::move(keep), std::move(code)));
}
Dataset Dataset::scan_elements(Element initial, ScanFunction f, std::string code) const {
  return Dataset(scan_stage(stage(), std::move(initial), std::move(f), std::move(code)));
}
Dataset Dataset::flat_map_elements(DatasetFunction f, std::string code) const {
  return Dataset(flat_map_stage(stage(), std::move(f), std::move(code)));
}
Dataset Dataset::interleave_elements(DatasetFunction f, std::string code, InterleaveOptions options) const {
  return Dataset(interleave_stage(stage(), std::move(f), std::move(code), options));
}
Dataset Dataset::group_elements(KeyFunction key, ReduceFunction reduce, int64_t window_size, std::string code) const {
  return Dataset(group_by_window_stage(stage(), std::move(key), std::move(reduce), window_size, std::move(code)));
}
Dataset Dataset::prefetch(int64_t buffer_size) const { return Dataset(prefetch_stage(stage(), buffer_size)); }
Dataset Dataset::ignore_errors(int64_t limit) const { return Dataset(ignore_errors_stage(stage(), limit)); }
Dataset Dataset::retry(RetryOptions options) const { return Dataset(retry_stage(stage(), options)); }

Dataset zip(const std::vector<Dataset>& datasets) {
  std::vector<StagePtr> stages;
  for (const Dataset& dataset : datasets) stages.push_back(dataset.stage());
  return Dataset(zip_stage(std::move(stages)));
}

}  // namespace isochron::data
