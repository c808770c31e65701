// cache(), save() and load(): elements made once and kept, in memory or in a file.
#include <unistd.h>

#include <system_error>

#include "isochron/base/counts.h"
#include "isochron/base/interrupt.h"
#include "isochron/base/memory_info.h"
#include "isochron/data/cached_bytes.h"
#include "isochron/data/element_store.h"
#include "isochron/data/files/paths.h"
#include "isochron/data/report.h"
#include "isochron/data/run.h"
#include "isochron/data/stages.h"

namespace isochron::data {
namespace {

// What is kept is what the first pass gives: a shuffle below a cache is the same in every pass.
constexpr uint64_t kFirstPass = 0;

class CacheIndexed : public Indexed {
 public:
  CacheIndexed(std::unique_ptr<Indexed> below, std::shared_ptr<ElementStore> store, StageId id)
      : below_(std::move(below)), store_(std::move(store)), id_(id), size_(below_->size()) {}
  int64_t size() const override { return size_; }
  void get(int64_t index, uint64_t, Worker& worker, Element& out) override {
    {
      UserCode code(worker, id_, index, kFirstPass);
      if (store_->load(index, out)) {
        code.made(out);
        return;
      }
    }
    below_->get(index, kFirstPass, worker, out);
    store_->store(index, out);
    if (store_->count() == size_ && !store_->complete()) store_->finish(size_);
  }

 private:
  std::unique_ptr<Indexed> below_;
  std::shared_ptr<ElementStore> store_;
  const StageId id_;
  const int64_t size_;
};

class CacheStream : public Stream {
 public:
  CacheStream(std::unique_ptr<Stream> below, std::shared_ptr<ElementStore> store, StageId id)
      : below_(std::move(below)), store_(std::move(store)), id_(id) {}
  void begin(uint64_t) override {
    next_ = 0;
    stored_ = store_->complete();
    if (!stored_) below_->begin(kFirstPass);
  }
  bool next(Worker& worker, Element& out) override {
    if (stored_) {
      if (next_ == store_->total()) return false;
      UserCode code(worker, id_, next_, kFirstPass);
      return store_->load(next_++, out);
    }
    if (skip_ > 0) skip(worker);
    if (!below_->next(worker, out)) {
      store_->finish(next_);
      return false;
    }
    keep(next_++, out);
    return true;
  }
  void save(StateWriter& state) override {
    state.put(next_);
    state.put(stored_);
    if (!stored_) below_->save(state);
  }
  void restore(StateReader& state) override {
    stored_ = store_->complete();
    next_ = state.get_count(stored_ ? store_->total() : StateReader::kMostCount);
    const bool was_stored = state.get<bool>();
    if (!was_stored) below_->restore(state);
    if (was_stored && !stored_) {
      // Made in a process whose memory is gone: made again, and passed over.
      below_->begin(kFirstPass);
      skip_ = next_;
    }
  }

 private:
  void skip(Worker& worker) {
    Element dropped;
    for (int64_t i = 0; i < skip_ && below_->next(worker, dropped); ++i) {
      check_interrupt("restore");
      keep(i, dropped);
      dropped.clear();
    }
    skip_ = 0;
  }
  // A stream can be read from what is kept only when all of it is.
  void keep(int64_t i, const Element& element) {
    if (!store_->store(i, element)) store_->give_up();
  }
  std::unique_ptr<Stream> below_;
  std::shared_ptr<ElementStore> store_;
  const StageId id_;
  int64_t next_ = 0, skip_ = 0;
  bool stored_ = false;
};

class CacheStage : public StageOf<CacheStage> {
 public:
  // `most_in_memory`: 0 for a cache in a file, -1 where the store decides.
  CacheStage(StagePtr input, std::string name, std::shared_ptr<ElementStore> store, int64_t most_in_memory)
      : StageOf({std::move(input)}),
        name_(std::move(name)),
        store_(std::move(store)),
        most_in_memory_(most_in_memory) {}
  std::string describe() const override { return name_; }
  std::string fingerprint() const override { return "cache"; }
  bool is_indexed() const override { return inputs_indexed() && size() >= 0; }
  std::unique_ptr<Indexed> indexed(Run& run) const override {
    auto below = run.indexed(inputs()[0]);
    return std::make_unique<CacheIndexed>(std::move(below), store_, run.add(*this));
  }
  std::unique_ptr<Stream> stream(Run& run) const override {
    auto below = run.stream(inputs()[0]);
    return std::make_unique<CacheStream>(std::move(below), store_, run.add(*this));
  }
  // What it will hold in memory when full.
  int64_t own_bytes() const {
    if (most_in_memory_ == 0 || size() < 0) return 0;
    int64_t element = 0;
    for (const ComponentSpec& spec : specs()) {
      int64_t elements = spec.text ? 0 : 1;
      for (const int64_t dim : spec.dims) elements = counted_product(elements, std::max<int64_t>(dim, 0));
      element = counted_sum(element, counted_product(elements, static_cast<int64_t>(size_of(spec.dtype))));
    }
    const int64_t all = counted_product(element, size());
    return std::min(all, most_in_memory_ > 0 ? most_in_memory_ : available_memory_bytes() / 2);
  }
  void add_notes(PipelineReport& report) const override {
    StageOf::add_notes(report);
    report.notes.push_back(store_->note());
    report.cache_full = report.cache_full || store_->complete();
  }

 private:
  std::string name_;
  std::shared_ptr<ElementStore> store_;
  int64_t most_in_memory_;
};

class Saved : public IndexedSource {
 public:
  explicit Saved(const std::string& path)
      : path_(path), files_(fingerprint_of_files({path})), store_(saved_store(path)) {
    if (!store_->complete()) fail<FileError>("load", "{} is no saved data set, or not a complete one", path);
  }
  int64_t size() const override { return store_->total(); }
  void get(int64_t i, Element& out) const override { store_->load(i, out); }
  std::string describe() const override { return "load(" + path_ + ")"; }
  std::string fingerprint() const override { return "load:" + files_; }
  std::string file_of(int64_t) const override { return path_; }

 private:
  std::string path_, files_;
  std::shared_ptr<ElementStore> store_;
};

}  // namespace

int64_t cached_bytes(const Stage& stage) {
  const auto* cache = dynamic_cast<const CacheStage*>(&stage);
  int64_t sum = cache ? cache->own_bytes() : 0;
  for (const StagePtr& input : stage.inputs()) sum += cached_bytes(*input);
  return sum;
}

Dataset Dataset::cache(CacheOptions options) const {
  return Dataset(std::make_shared<CacheStage>(stage(), "cache", memory_store(options.max_bytes), options.max_bytes));
}
Dataset Dataset::cache(const std::string& path, CacheOptions options) const {
  if (size() == kInfinite) fail<ValueError>("cache", "an infinite data set can't be kept; use take()");
  return Dataset(std::make_shared<CacheStage>(stage(), "cache(" + path + ")",
                                              file_store(path, fingerprint_of(*stage(), true) + options.tag), 0));
}
void Dataset::save(const std::string& path) const {
  if (size() == kInfinite) fail<ValueError>("save", "an infinite data set can't be saved; use take()");
  const auto store = saving_store(path);
  int64_t count = 0;
  for (const Element& element : *this) store->store(count++, element);
  store->finish(count);
}
Dataset load(const std::string& path) {
  if (path.empty() || access(path.c_str(), R_OK) != 0)
    fail<FileError>("load", "{}: {}", path, std::generic_category().message(errno));
  return from_source(std::make_shared<Saved>(path));
}

}  // namespace isochron::data
