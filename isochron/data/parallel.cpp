#include "isochron/data/parallel.h"

namespace isochron::data {
namespace {

class Walk : public Stream {
 public:
  explicit Walk(std::unique_ptr<Indexed> below) : below_(std::move(below)), size_(below_->size()) {}
  void begin(uint64_t epoch) override {
    epoch_ = epoch;
    next_ = 0;
  }
  bool next(Worker& worker, Element& out) override {
    if (size_ >= 0 && next_ >= size_) return false;
    below_->get(next_++, epoch_, worker, out);
    return true;
  }
  void save(StateWriter& state) override {
    state.put(epoch_);
    state.put(next_);
  }
  void restore(StateReader& state) override {
    epoch_ = state.get<uint64_t>();
    next_ = state.get<int64_t>();
  }

 private:
  std::unique_ptr<Indexed> below_;
  const int64_t size_;
  uint64_t epoch_ = 0;
  int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<Stream> walk(Run& run, const StagePtr& stage) { return std::make_unique<Walk>(stage->indexed(run)); }

std::unique_ptr<Stream> Stage::stream(Run& run) const {
  std::unique_ptr<Indexed> below = indexed(run);
  ISO_CHECK(below != nullptr);
  return std::make_unique<Walk>(std::move(below));
}

}  // namespace isochron::data
