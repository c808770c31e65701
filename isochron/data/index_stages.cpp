// Stages that calculate with numbers: take, skip, shard, repeat, concatenate, zip, enumerate, window.
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>

#include "isochron/base/counts.h"
#include "isochron/data/batch.h"
#include "isochron/data/index_map.h"
#include "isochron/data/run.h"
#include "isochron/data/stages.h"

namespace isochron::data {
namespace {

// first, first + step, … below `last` of the input, by number or as they come.
struct Selection {
  int64_t first = 0, step = 1, last = INT64_MAX;
  int64_t count(int64_t size) const {
    if (size < 0 && (size == kUnknownSize || last == INT64_MAX)) return size;
    const int64_t end = size < 0 ? last : std::min(size, last);
    return end > first ? (end - first - 1) / step + 1 : 0;
  }
};

class SelectIndexed : public IndexMap {
 public:
  SelectIndexed(std::unique_ptr<Indexed> below, Selection selection)
      : IndexMap(std::move(below)), selection_(selection) {}
  int64_t size() const override { return selection_.count(below_->size()); }
  void map(int64_t& index, uint64_t&) const override { index = selection_.first + index * selection_.step; }
  bool slice(int64_t first, int64_t count, Element& out) override {
    return selection_.step == 1 && below_->slice(selection_.first + first, count, out);
  }

 private:
  const Selection selection_;
};

class SelectStream : public Stream {
 public:
  SelectStream(std::unique_ptr<Stream> below, Selection selection) : below_(std::move(below)), selection_(selection) {}
  void begin(uint64_t epoch) override {
    below_->begin(epoch);
    seen_ = 0;
  }
  bool next(Worker& worker, Element& out) override {
    while (seen_ < selection_.last) {
      out.clear();
      if (!below_->next(worker, out)) return false;
      const int64_t i = seen_++;
      if (i >= selection_.first && (i - selection_.first) % selection_.step == 0) return true;
    }
    return false;
  }
  void save(StateWriter& state) override {
    state.put(seen_);
    below_->save(state);
  }
  void restore(StateReader& state) override {
    seen_ = state.get_count(selection_.last);
    below_->restore(state);
  }

 private:
  std::unique_ptr<Stream> below_;
  const Selection selection_;
  int64_t seen_ = 0;
};

class SelectStage : public StageOf<SelectStage> {
 public:
  SelectStage(StagePtr input, std::string name, Selection selection)
      : StageOf({std::move(input)}), name_(std::move(name)), selection_(selection) {}
  std::string describe() const override { return name_; }
  int64_t size() const override { return selection_.count(inputs()[0]->size()); }
  bool is_indexed() const override { return inputs_indexed(); }
  std::unique_ptr<Indexed> indexed(Run& run) const override {
    auto below = run.indexed(inputs()[0]);
    run.add(*this);
    return std::make_unique<SelectIndexed>(std::move(below), selection_);
  }
  std::unique_ptr<Stream> stream(Run& run) const override {
    auto below = run.stream(inputs()[0]);
    run.add(*this);
    return std::make_unique<SelectStream>(std::move(below), selection_);
  }

 private:
  const std::string name_;
  const Selection selection_;
};

// Pass `round` of repetition `epoch`: a pass of its own below, so that shuffles there differ.
uint64_t repeated_epoch(uint64_t epoch, int64_t count, int64_t round) {
  return (count < 0 ? epoch << 32 : epoch * static_cast<uint64_t>(count)) + static_cast<uint64_t>(round);
}

class RepeatIndexed : public IndexMap {
 public:
  RepeatIndexed(std::unique_ptr<Indexed> below, int64_t count)
      : IndexMap(std::move(below)), count_(count), each_(below_->size()) {}
  int64_t size() const override { return each_ == 0 ? 0 : count_ < 0 ? kInfinite : counted_product(count_, each_); }
  void map(int64_t& index, uint64_t& epoch) const override {
    epoch = repeated_epoch(epoch, count_, index / each_);
    index %= each_;
  }

 private:
  const int64_t count_, each_;
};

class RepeatStream : public Stream {
 public:
  RepeatStream(std::unique_ptr<Stream> below, int64_t count) : below_(std::move(below)), count_(count) {}
  void begin(uint64_t epoch) override {
    epoch_ = epoch;
    round_ = 0;
    any_ = false;
    if (count_ != 0) below_->begin(repeated_epoch(epoch_, count_, 0));
  }
  bool next(Worker& worker, Element& out) override {
    while (count_ < 0 || round_ < count_) {
      if (below_->next(worker, out)) return any_ = true;
      if (!any_) return false;  // an empty input, however often repeated
      if (++round_ != count_) below_->begin(repeated_epoch(epoch_, count_, round_));
    }
    return false;
  }
  void save(StateWriter& state) override {
    state.put(epoch_);
    state.put(round_);
    state.put(any_);
    below_->save(state);
  }
  void restore(StateReader& state) override {
    epoch_ = state.get<uint64_t>();
    round_ = state.get_count(count_ < 0 ? StateReader::kMostCount : count_);
    any_ = state.get<bool>();
    below_->restore(state);
  }

 private:
  std::unique_ptr<Stream> below_;
  const int64_t count_;
  uint64_t epoch_ = 0;
  int64_t round_ = 0;
  bool any_ = false;
};

class RepeatStage : public StageOf<RepeatStage> {
 public:
  RepeatStage(StagePtr input, int64_t count) : StageOf({std::move(input)}), count_(count) {}
  std::string describe() const override { return count_ < 0 ? "repeat()" : fmt::format("repeat({})", count_); }
  int64_t size() const override {
    const int64_t each = inputs()[0]->size();
    if (each == 0 || count_ == 0) return 0;
    if (count_ < 0) return kInfinite;
    return each < 0 ? each : counted_product(each, count_);
  }
  bool is_indexed() const override { return inputs_indexed() && inputs()[0]->size() >= 0; }
  std::unique_ptr<Indexed> indexed(Run& run) const override {
    auto below = run.indexed(inputs()[0]);
    run.add(*this);
    return std::make_unique<RepeatIndexed>(std::move(below), count_);
  }
  std::unique_ptr<Stream> stream(Run& run) const override {
    auto below = run.stream(inputs()[0]);
    run.add(*this);
    return std::make_unique<RepeatStream>(std::move(below), count_);
  }

 private:
  const int64_t count_;
};

class ConcatenateIndexed : public Indexed {
 public:
  ConcatenateIndexed(std::unique_ptr<Indexed> first, std::unique_ptr<Indexed> second)
      : first_(std::move(first)), second_(std::move(second)), split_(first_->size()) {}
  int64_t size() const override { return second_->size() < 0 ? second_->size() : counted_sum(split_, second_->size()); }
  void get(int64_t index, uint64_t epoch, Worker& worker, Element& out) override {
    at(index).get(index, epoch, worker, out);
  }
  bool view(int64_t index, uint64_t epoch, std::span<const std::byte*> rows) override {
    return at(index).view(index, epoch, rows);
  }
  bool fill(int64_t index, uint64_t epoch, Worker& worker, std::span<std::byte* const> rows) override {
    return at(index).fill(index, epoch, worker, rows);
  }

 private:
  Indexed& at(int64_t& index) {
    if (index < split_) return *first_;
    index -= split_;
    return *second_;
  }
  std::unique_ptr<Indexed> first_, second_;
  const int64_t split_;
};

class ConcatenateStream : public Stream {
 public:
  ConcatenateStream(std::unique_ptr<Stream> first, std::unique_ptr<Stream> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  void begin(uint64_t epoch) override {
    first_->begin(epoch);
    second_->begin(epoch);
    in_second_ = false;
  }
  bool next(Worker& worker, Element& out) override {
    if (!in_second_ && first_->next(worker, out)) return true;
    in_second_ = true;
    return second_->next(worker, out);
  }
  void save(StateWriter& state) override {
    state.put(in_second_);
    first_->save(state);
    second_->save(state);
  }
  void restore(StateReader& state) override {
    in_second_ = state.get<bool>();
    first_->restore(state);
    second_->restore(state);
  }

 private:
  std::unique_ptr<Stream> first_, second_;
  bool in_second_ = false;
};

class ConcatenateStage : public StageOf<ConcatenateStage> {
 public:
  using StageOf::StageOf;
  std::string describe() const override { return "concatenate"; }
  int64_t size() const override {
    const int64_t a = inputs()[0]->size(), b = inputs()[1]->size();
    if (a == kInfinite || b == kInfinite) return kInfinite;
    return a < 0 || b < 0 ? kUnknownSize : counted_sum(a, b);
  }
  std::vector<ComponentSpec> specs() const override { return common_specs(inputs()); }
  bool is_indexed() const override { return inputs_indexed() && inputs()[0]->size() >= 0; }
  std::unique_ptr<Indexed> indexed(Run& run) const override {
    auto first = run.indexed(inputs()[0]), second = run.indexed(inputs()[1]);
    run.add(*this);
    return std::make_unique<ConcatenateIndexed>(std::move(first), std::move(second));
  }
  std::unique_ptr<Stream> stream(Run& run) const override {
    auto first = run.stream(inputs()[0]), second = run.stream(inputs()[1]);
    run.add(*this);
    return std::make_unique<ConcatenateStream>(std::move(first), std::move(second));
  }
};

void append(Element& out, Element&& more) {
  for (Component& component : more) out.add(std::move(component));
}

class ZipIndexed : public Indexed {
 public:
  explicit ZipIndexed(std::vector<std::unique_ptr<Indexed>> below, Names names)
      : below_(std::move(below)), names_(std::move(names)) {}
  int64_t size() const override {
    int64_t least = kInfinite;
    for (const auto& one : below_)
      if (one->size() >= 0) least = least < 0 ? one->size() : std::min(least, one->size());
    return least;
  }
  void get(int64_t index, uint64_t epoch, Worker& worker, Element& out) override {
    for (const auto& one : below_) {
      Element part;
      one->get(index, epoch, worker, part);
      append(out, std::move(part));
    }
    out.set_names(names_);
  }

 private:
  std::vector<std::unique_ptr<Indexed>> below_;
  const Names names_;
};

class ZipStream : public Stream {
 public:
  ZipStream(std::vector<std::unique_ptr<Stream>> below, Names names)
      : below_(std::move(below)), names_(std::move(names)) {}
  void begin(uint64_t epoch) override {
    for (const auto& one : below_) one->begin(epoch);
  }
  bool next(Worker& worker, Element& out) override {
    for (const auto& one : below_) {
      Element part;
      if (!one->next(worker, part)) return false;
      append(out, std::move(part));
    }
    out.set_names(names_);
    return true;
  }
  void save(StateWriter& state) override {
    for (const auto& one : below_) one->save(state);
  }
  void restore(StateReader& state) override {
    for (const auto& one : below_) one->restore(state);
  }

 private:
  std::vector<std::unique_ptr<Stream>> below_;
  const Names names_;
};

class ZipStage : public StageOf<ZipStage> {
 public:
  using StageOf::StageOf;
  std::string describe() const override { return "zip"; }
  int64_t size() const override {
    int64_t least = kInfinite;
    for (const StagePtr& input : inputs()) {
      const int64_t size = input->size();
      if (size == kUnknownSize) return kUnknownSize;
      if (size >= 0) least = least < 0 ? size : std::min(least, size);
    }
    return least;
  }
  std::vector<ComponentSpec> specs() const override {
    std::vector<ComponentSpec> all;
    for (const StagePtr& input : inputs()) {
      const std::vector<ComponentSpec> some = input->specs();
      if (some.empty()) return {};
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  Names names() const override {
    std::vector<std::string> all;
    for (const StagePtr& input : inputs()) {
      if (!input->names()) return nullptr;
      all.insert(all.end(), input->names()->begin(), input->names()->end());
    }
    return std::make_shared<const std::vector<std::string>>(std::move(all));
  }
  bool is_indexed() const override { return inputs_indexed(); }
  std::unique_ptr<Indexed> indexed(Run& run) const override {
    std::vector<std::unique_ptr<Indexed>> below;
    for (const StagePtr& input : inputs()) below.push_back(run.indexed(input));
    run.add(*this);
    return std::make_unique<ZipIndexed>(std::move(below), names());
  }
  std::unique_ptr<Stream> stream(Run& run) const override {
    std::vector<std::unique_ptr<Stream>> below;
    for (const StagePtr& input : inputs()) below.push_back(run.stream(input));
    run.add(*this);
    return std::make_unique<ZipStream>(std::move(below), names());
  }
};

}  // namespace

StagePtr take_stage(StagePtr input, int64_t count) {
  return std::make_shared<SelectStage>(std::move(input), fmt::format("take({})", count),
                                       Selection{0, 1, count < 0 ? INT64_MAX : count});
}
StagePtr skip_stage(StagePtr input, int64_t count) {
  // As in tf.data, a negative count skips everything.
  const int64_t first = count < 0 ? INT64_MAX : count;
  return std::make_shared<SelectStage>(std::move(input), fmt::format("skip({})", count),
                                       Selection{first, 1, INT64_MAX});
}
StagePtr shard_stage(StagePtr input, int64_t shards, int64_t index) {
  if (shards < 1 || index < 0 || index >= shards)
    fail<ValueError>("shard", "the index must be in [0, number of shards), got {} of {}", index, shards);
  return std::make_shared<SelectStage>(std::move(input), fmt::format("shard({}, {})", shards, index),
                                       Selection{index, shards, INT64_MAX});
}
StagePtr repeat_stage(StagePtr input, int64_t count) { return std::make_shared<RepeatStage>(std::move(input), count); }
StagePtr concatenate_stage(StagePtr first, StagePtr second) {
  std::vector<StagePtr> both{std::move(first), std::move(second)};
  check_alike("concatenate", both);
  return std::make_shared<ConcatenateStage>(std::move(both));
}

void check_alike(const char* where, const std::vector<StagePtr>& inputs) {
  const std::vector<ComponentSpec> first = inputs[0]->specs();
  for (const StagePtr& input : inputs) {
    const std::vector<ComponentSpec> own = input->specs();
    const bool alike = first.empty() || own.empty() ||
                       std::equal(first.begin(), first.end(), own.begin(), own.end(), [](const auto& a, const auto& b) {
                         return a.text == b.text && (a.text || a.dtype == b.dtype);
                       });
    if (!alike)
      fail<DTypeError>(where, "all data sets need the same components, got {} and {}; use cast() or map() before",
                       to_string(first), to_string(own));
    if (inputs[0]->names() && input->names() && *inputs[0]->names() != *input->names())
      fail<ValueError>(where, "components have other names in one data set than in the other: ({}) and ({})",
                       fmt::join(*inputs[0]->names(), ", "), fmt::join(*input->names(), ", "));
  }
}

std::vector<ComponentSpec> common_specs(const std::vector<StagePtr>& inputs) {
  std::vector<ComponentSpec> specs = inputs[0]->specs();
  const bool all = std::all_of(inputs.begin(), inputs.end(), [&](const auto& one) { return one->specs() == specs; });
  return all ? specs : std::vector<ComponentSpec>{};
}

StagePtr zip_stage(std::vector<StagePtr> inputs) {
  if (inputs.empty()) fail<ValueError>("zip", "needs at least one data set");
  return std::make_shared<ZipStage>(std::move(inputs));
}

}  // namespace isochron::data
