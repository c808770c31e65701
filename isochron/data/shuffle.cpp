// Shuffles. Over numbers: a keyed permutation, so the first element comes at once and nothing is stored. Over streams:
// a buffer that fills while elements already leave it.
#include <algorithm>
#include <array>
#include <atomic>

#include "isochron/base/rng.h"
#include "isochron/data/index_map.h"
#include "isochron/data/run_ahead.h"
#include "isochron/data/stages.h"
#include "isochron/ops/random_key.h"

namespace isochron::data {
namespace {

// While the buffer of a stream fills, so many elements come in for each that leaves it.
constexpr int64_t kFillAhead = 8;
constexpr int64_t kFirstFill = 64;
constexpr int64_t kLargestBuffer = int64_t{1} << 31;

class PermuteIndexed : public IndexMap {
 public:
  PermuteIndexed(std::unique_ptr<Indexed> below, uint64_t seed, bool reshuffle)
      : IndexMap(std::move(below)), seed_(seed), reshuffle_(reshuffle), size_(below_->size()) {}
  int64_t size() const override { return size_; }
  void map(int64_t& index, uint64_t& epoch) const override {
    // A thread asks for many numbers of one pass, mostly one after the other: its key is made once, and some numbers
    // are made together, which takes half the time.
    thread_local struct {
      const PermuteIndexed* owner = nullptr;
      uint64_t made = 0, epoch = 0;
      Permutation order{0, 0, 1};
      int64_t first = 0, count = 0;  // of `numbers`
      std::array<int64_t, 16> numbers;
    } last;
    if (last.owner != this || last.made != made_ || last.epoch != epoch) {
      last.order = Permutation(seed_, reshuffle_ ? epoch : 0, static_cast<uint64_t>(size_));
      last.owner = this;
      last.made = made_;
      last.epoch = epoch;
      last.count = 0;
    }
    if (index < last.first || index >= last.first + last.count) {
      const bool goes_on = last.count > 0 && index == last.first + last.count;
      last.count = goes_on ? std::min<int64_t>(std::ssize(last.numbers), size_ - index) : 1;
      last.first = index;
      last.order(static_cast<uint64_t>(index), std::span(last.numbers).first(static_cast<size_t>(last.count)));
    }
    index = last.numbers[static_cast<size_t>(index - last.first)];
  }

 private:
  static uint64_t next_made() {
    static std::atomic<uint64_t> count{0};
    return ++count;
  }
  const uint64_t made_ = next_made();  // tells apart two that were made at the same address
  const uint64_t seed_;
  const bool reshuffle_;
  const int64_t size_;
};

class ShuffleStream : public Stream {
 public:
  ShuffleStream(std::unique_ptr<Stream> below, int64_t buffer, uint64_t seed, bool reshuffle)
      : below_(std::move(below)), capacity_(buffer), seed_(seed), reshuffle_(reshuffle) {}
  void begin(uint64_t epoch) override {
    below_->begin(epoch);
    buffer_.clear();
    random_ = {seed_, reshuffle_ ? epoch : 0};
    drawn_ = 0;
    ended_ = false;
  }
  bool next(Worker& worker, Element& out) override {
    const int64_t wanted = std::min(capacity_, kFirstFill + drawn_ * (kFillAhead - 1));
    while (!ended_ && static_cast<int64_t>(buffer_.size()) < wanted) {
      Element element;
      if (below_->next(worker, element))
        buffer_.push_back(std::move(element));
      else
        ended_ = true;
    }
    if (buffer_.empty()) return false;
    const uint64_t bits = random_.block(static_cast<uint64_t>(drawn_++))[0];
    const auto pick = static_cast<size_t>(bits * buffer_.size() >> 32);
    out = std::move(buffer_[pick]);
    if (pick + 1 != buffer_.size()) buffer_[pick] = std::move(buffer_.back());
    buffer_.pop_back();
    return true;
  }
  void save(StateWriter& state) override {
    state.put(random_);
    state.put(drawn_);
    state.put(ended_);
    state.put_all(buffer_);
    below_->save(state);
  }
  void restore(StateReader& state) override {
    random_ = state.get<RandomStream>();
    drawn_ = state.get_count();
    ended_ = state.get<bool>();
    state.get_all(buffer_, capacity_);
    below_->restore(state);
  }

 private:
  std::unique_ptr<Stream> below_;
  const int64_t capacity_;
  const uint64_t seed_;
  const bool reshuffle_;
  std::vector<Element> buffer_;
  RandomStream random_;
  int64_t drawn_ = 0;
  bool ended_ = false;
};

class ShuffleStage : public StageOf<ShuffleStage> {
 public:
  ShuffleStage(StagePtr input, int64_t buffer, uint64_t seed, bool reshuffle)
      : StageOf({std::move(input)}), buffer_(buffer), seed_(seed), reshuffle_(reshuffle) {}
  std::string describe() const override {
    return fmt::format("shuffle({}{})", is_indexed() ? "all by number" : fmt::format("buffer of {}", buffer_),
                       reshuffle_ ? "" : ", the same in every pass");
  }
  std::string fingerprint() const override { return fmt::format("shuffle:{}:{}:{}", buffer_, seed_, reshuffle_); }
  bool is_indexed() const override { return inputs_indexed() && size() >= 0; }
  std::unique_ptr<Indexed> indexed(Run& run) const override {
    auto below = run.indexed(inputs()[0]);
    run.add(*this);
    return std::make_unique<PermuteIndexed>(std::move(below), seed_, reshuffle_);
  }
  std::unique_ptr<Stream> stream(Run& run) const override {
    auto below = run.stream(inputs()[0]);
    run.add(*this);
    return std::make_unique<ShuffleStream>(std::move(below), buffer_, seed_, reshuffle_);
  }

 private:
  const int64_t buffer_;
  const uint64_t seed_;
  const bool reshuffle_;
};

class PrefetchStage : public StageOf<PrefetchStage> {
 public:
  PrefetchStage(StagePtr input, int64_t buffer, int threads)
      : StageOf({std::move(input)}), buffer_(buffer), threads_(threads) {}
  int threads_wanted() const override { return threads_; }
  std::string describe() const override {
    return buffer_ == AUTOTUNE ? "prefetch" : fmt::format("prefetch({})", buffer_);
  }
  bool is_indexed() const override { return inputs_indexed(); }
  std::unique_ptr<Indexed> indexed(Run& run) const override { return run.indexed(inputs()[0]); }
  std::unique_ptr<Stream> stream(Run& run) const override {
    std::unique_ptr<Stream> below = run.stream(inputs()[0]);
    if (buffer_ == 0 || dynamic_cast<RunAhead*>(below.get())) return below;
    return run_ahead(run, std::move(below), nullptr,
                     {.name = describe(), .window = buffer_, .user_code = true, .next_pass = !run.nested()});
  }
  int64_t ahead() const override { return buffer_; }

 private:
  const int64_t buffer_;
  const int threads_;
};

}  // namespace

StagePtr shuffle_stage(StagePtr input, int64_t buffer_size, const ShuffleOptions& options) {
  if (buffer_size < 1 || buffer_size > kLargestBuffer)
    fail<ValueError>("shuffle", "the buffer must hold from 1 to {} elements, got {}", kLargestBuffer, buffer_size);
  const uint64_t seed = options.seed ? *options.seed : get_seed() * 0x9e3779b97f4a7c15u + take_random_streams(1);
  return std::make_shared<ShuffleStage>(std::move(input), buffer_size, seed, options.reshuffle_each_iteration);
}

StagePtr prefetch_stage(StagePtr input, int64_t buffer_size, int threads) {
  if (buffer_size < AUTOTUNE) fail<ValueError>("prefetch", "the buffer size must not be negative, got {}", buffer_size);
  return std::make_shared<PrefetchStage>(std::move(input), buffer_size, threads);
}

}  // namespace isochron::data
