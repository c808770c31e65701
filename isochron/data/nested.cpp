// Stages with data sets inside: flat_map, interleave, group_by_window, sample_from_datasets.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "isochron/base/counts.h"
#include "isochron/base/rng.h"
#include "isochron/data/run.h"
#include "isochron/data/stages.h"
#include "isochron/ops/random_key.h"

namespace isochron::data {
namespace {

// A data set that runs inside a stage of another.
class Inner {
 public:
  Inner(const Dataset& dataset, Run& parent, int stage, bool ahead)
      : run_(parent, stage), stream_(run_.stream(ahead ? dataset.prefetch().stage() : dataset.stage())) {}
  Stream* operator->() { return stream_.get(); }

 private:
  Run run_;
  std::unique_ptr<Stream> stream_;
};

// Takes turns: `cycle` data sets are open, `block` elements come from one before it is the next one's turn. With a
// cycle of 1 this is flat_map.
class InterleaveStream : public Stream {
 public:
  InterleaveStream(Run& run, std::unique_ptr<Stream> below, DatasetFunction f, InterleaveOptions options, StageId id)
      : run_(run), below_(std::move(below)), f_(std::move(f)), options_(options), id_(id) {}
  void begin(uint64_t epoch) override {
    epoch_ = epoch;
    below_->begin(epoch);
    open_.clear();
    open_.resize(static_cast<size_t>(options_.cycle_length));
    turn_ = 0;
    taken_ = opened_ = 0;
    ended_ = false;
  }
  bool next(Worker& worker, Element& out) override {
    size_t empty = 0;
    while (empty < open_.size()) {
      Open& open = open_[turn_];
      if (!open.inner && !ended_ && !refill(worker, open)) ended_ = true;
      if (!open.inner) {
        ++empty;
        pass_on();
        continue;
      }
      out.clear();
      if (open.inner->operator->()->next(worker, out)) {
        if (++taken_ == options_.block_length) pass_on();
        return true;
      }
      // tf.data opens the next data set in the place of an exhausted one at its next turn.
      open = {};
      if (ended_ || options_.cycle_length == 1) continue;
      pass_on();
      empty = 0;
    }
    return false;
  }
  void save(StateWriter& state) override {
    state.put(epoch_);
    state.put(static_cast<uint64_t>(turn_));
    state.put(taken_);
    state.put(opened_);
    state.put(ended_);
    for (Open& open : open_) {
      state.put(open.inner != nullptr);
      if (!open.inner) continue;
      state.put(open.from);
      state.put(open.number);
      open.inner->operator->()->save(state);
    }
    below_->save(state);
  }
  void restore(StateReader& state) override {
    epoch_ = state.get<uint64_t>();
    turn_ = static_cast<size_t>(state.get_count(options_.cycle_length - 1));
    taken_ = state.get_count(options_.block_length - 1);
    opened_ = state.get_count();
    ended_ = state.get<bool>();
    open_.clear();
    open_.resize(static_cast<size_t>(options_.cycle_length));
    for (Open& open : open_) {
      if (!state.get<bool>()) continue;
      open.from = state.get_element();
      open.number = state.get_count();
      const LocalRandom random(element_seed(id_.seed, epoch_, open.number));
      make(open);
      open.inner->operator->()->restore(state);
    }
    below_->restore(state);
  }

 private:
  struct Open {
    Element from;
    int64_t number = 0;
    std::unique_ptr<Inner> inner;
  };
  void pass_on() {
    turn_ = (turn_ + 1) % open_.size();
    taken_ = 0;
  }
  void make(Open& open) {
    open.inner = std::make_unique<Inner>(f_(open.from), run_, id_.number, options_.num_parallel_calls != 1);
  }
  bool refill(Worker& worker, Open& open) {
    if (!below_->next(worker, open.from)) return false;
    UserCode code(worker, id_, opened_, epoch_);
    open.number = opened_++;
    make(open);
    // Shuffles inside differ from data set to data set and from pass to pass.
    open.inner->operator->()->begin((epoch_ << 20) + static_cast<uint64_t>(open.number));
    return true;
  }

  Run& run_;
  std::unique_ptr<Stream> below_;
  const DatasetFunction f_;
  const InterleaveOptions options_;
  const StageId id_;
  uint64_t epoch_ = 0;
  std::vector<Open> open_;
  size_t turn_ = 0;
  int64_t taken_ = 0, opened_ = 0;
  bool ended_ = false;
};

class InterleaveStage : public StageOf<InterleaveStage> {
 public:
  InterleaveStage(StagePtr input, std::string name, DatasetFunction f, std::string code, InterleaveOptions options)
      : StageOf({std::move(input)}),
        name_(std::move(name)),
        f_(std::move(f)),
        code_(std::move(code)),
        options_(options) {
    if (options_.cycle_length < 1 || options_.block_length < 1)
      fail<ValueError>("interleave", "cycle_length and block_length must be at least 1, got {} and {}",
                       options_.cycle_length, options_.block_length);
  }
  std::string describe() const override { return name_; }
  std::string fingerprint() const override { return fmt::format("{}:{}:{}", name_, options_.block_length, code_); }
  int64_t size() const override { return inputs()[0]->size() == kInfinite ? kInfinite : kUnknownSize; }
  std::vector<ComponentSpec> specs() const override { return {}; }
  Names names() const override { return nullptr; }
  bool is_indexed() const override { return false; }
  bool has_user_code() const override { return true; }
  std::unique_ptr<Stream> stream(Run& run) const override {
    auto below = run.stream(inputs()[0]);
    return std::make_unique<InterleaveStream>(run, std::move(below), f_, options_, run.add(*this));
  }

 private:
  std::string name_;
  DatasetFunction f_;
  std::string code_;
  InterleaveOptions options_;
};

// Elements with one key wait until there are `window` of them; what `reduce` makes of them comes out.
class GroupByWindowStream : public Stream {
 public:
  GroupByWindowStream(Run& run, std::unique_ptr<Stream> below, KeyFunction key, ReduceFunction reduce, int64_t window,
                      StageId id)
      : run_(run),
        below_(std::move(below)),
        key_(std::move(key)),
        reduce_(std::move(reduce)),
        window_(window),
        id_(id) {}
  void begin(uint64_t epoch) override {
    epoch_ = epoch;
    below_->begin(epoch);
    waiting_.clear();
    inner_.reset();
    ended_ = false;
    seen_ = 0;
  }
  bool next(Worker& worker, Element& out) override {
    while (true) {
      out.clear();
      if (inner_) {
        if ((*inner_)->next(worker, out)) return true;
        inner_.reset();
      }
      if (!ended_) {
        Element element;
        if (!below_->next(worker, element)) {
          ended_ = true;
          continue;
        }
        UserCode code(worker, id_, seen_++, epoch_);
        const int64_t key = key_(element);
        std::vector<Element>& group = waiting_[key];
        group.push_back(std::move(element));
        if (static_cast<int64_t>(group.size()) == window_) open(key);
      } else {
        if (waiting_.empty()) return false;
        UserCode code(worker, id_, seen_, epoch_);
        open(waiting_.begin()->first);
      }
    }
  }
  void save(StateWriter& state) override {
    state.put(epoch_);
    state.put(ended_);
    state.put(seen_);
    state.put(static_cast<uint64_t>(waiting_.size()));
    for (const auto& [key, group] : waiting_) put_group(state, key, group);
    state.put(inner_ != nullptr);
    if (inner_) {
      put_group(state, open_key_, open_group_);
      state.put(open_seed_);
      (*inner_)->save(state);
    }
    below_->save(state);
  }
  void restore(StateReader& state) override {
    begin(state.get<uint64_t>());
    ended_ = state.get<bool>();
    seen_ = state.get_count();
    for (auto left = state.get_count(); left > 0; --left) {
      const auto key = state.get<int64_t>();
      waiting_[key] = get_group(state, window_ - 1);
    }
    if (state.get<bool>()) {
      open_key_ = state.get<int64_t>();
      open_group_ = get_group(state, window_);
      open_seed_ = state.get<uint64_t>();
      make_inner();
      (*inner_)->restore(state);
    }
    below_->restore(state);
  }

 private:
  static void put_group(StateWriter& state, int64_t key, const std::vector<Element>& group) {
    state.put(key);
    state.put_all(group);
  }
  static std::vector<Element> get_group(StateReader& state, int64_t most) {
    std::vector<Element> group;
    state.get_all(group, most);
    return group;
  }
  void make_inner() {
    const LocalRandom random(open_seed_);
    inner_ = std::make_unique<Inner>(reduce_(open_key_, from_elements(open_group_)), run_, id_.number, false);
  }
  void open(int64_t key) {
    open_key_ = key;
    open_group_ = std::move(waiting_[key]);
    waiting_.erase(key);
    open_seed_ = element_seed(get_seed(), epoch_, key);
    make_inner();
    (*inner_)->begin(epoch_);
  }

  Run& run_;
  std::unique_ptr<Stream> below_;
  const KeyFunction key_;
  const ReduceFunction reduce_;
  const int64_t window_;
  const StageId id_;
  uint64_t epoch_ = 0, open_seed_ = 0;
  std::map<int64_t, std::vector<Element>> waiting_;  // what is left at the end comes by key, as in tf.data
  std::unique_ptr<Inner> inner_;
  int64_t open_key_ = 0, seen_ = 0;
  std::vector<Element> open_group_;
  bool ended_ = false;
};

class GroupByWindowStage : public StageOf<GroupByWindowStage> {
 public:
  GroupByWindowStage(StagePtr input, KeyFunction key, ReduceFunction reduce, int64_t window, std::string code)
      : StageOf({std::move(input)}),
        key_(std::move(key)),
        reduce_(std::move(reduce)),
        window_(window),
        code_(std::move(code)) {
    if (window < 1) fail<ValueError>("group_by_window", "the window must be at least 1, got {}", window);
  }
  std::string describe() const override { return fmt::format("group_by_window({})", window_); }
  std::string fingerprint() const override { return describe() + code_; }
  int64_t size() const override { return inputs()[0]->size() == kInfinite ? kInfinite : kUnknownSize; }
  std::vector<ComponentSpec> specs() const override { return {}; }
  Names names() const override { return nullptr; }
  bool is_indexed() const override { return false; }
  bool has_user_code() const override { return true; }
  std::unique_ptr<Stream> stream(Run& run) const override {
    auto below = run.stream(inputs()[0]);
    return std::make_unique<GroupByWindowStream>(run, std::move(below), key_, reduce_, window_, run.add(*this));
  }

 private:
  KeyFunction key_;
  ReduceFunction reduce_;
  int64_t window_;
  std::string code_;
};

class SampleStream : public Stream {
 public:
  SampleStream(std::vector<std::unique_ptr<Stream>> below, std::vector<double> weights, SampleOptions options)
      : below_(std::move(below)), weights_(std::move(weights)), options_(options) {}
  void begin(uint64_t epoch) override {
    for (const auto& one : below_) one->begin(epoch);
    random_ = {*options_.seed, options_.rerandomize_each_iteration ? epoch : 0};
    drawn_ = 0;
    empty_.assign(below_.size(), 0);
  }
  bool next(Worker& worker, Element& out) override {
    while (true) {
      double total = 0;
      for (size_t i = 0; i < below_.size(); ++i) total += empty_[i] ? 0 : weights_[i];
      if (total <= 0) return false;
      const PhiloxBlock bits = random_.block(static_cast<uint64_t>(drawn_++));
      const double uniform = (bits[0] + bits[1] * 0x1p-32) * 0x1p-32;
      double left = uniform * total;
      size_t pick = below_.size();
      for (size_t i = 0; i < below_.size(); ++i) {
        if (empty_[i] || weights_[i] <= 0) continue;
        pick = i;
        if ((left -= weights_[i]) < 0) break;
      }
      out.clear();
      if (below_[pick]->next(worker, out)) return true;
      empty_[pick] = 1;
      if (options_.stop_on_empty_dataset) {
        empty_.assign(below_.size(), 1);
        return false;
      }
    }
  }
  void save(StateWriter& state) override {
    state.put(random_);
    state.put(drawn_);
    for (char empty : empty_) state.put(empty);
    for (const auto& one : below_) one->save(state);
  }
  void restore(StateReader& state) override {
    random_ = state.get<RandomStream>();
    drawn_ = state.get_count();
    empty_.assign(below_.size(), 0);
    for (char& empty : empty_) empty = state.get<char>();
    for (const auto& one : below_) one->restore(state);
  }

 private:
  std::vector<std::unique_ptr<Stream>> below_;
  const std::vector<double> weights_;
  const SampleOptions options_;
  RandomStream random_;
  int64_t drawn_ = 0;
  std::vector<char> empty_;
};

class SampleStage : public StageOf<SampleStage> {
 public:
  SampleStage(std::vector<StagePtr> inputs, std::vector<double> weights, SampleOptions options)
      : StageOf(std::move(inputs)), weights_(std::move(weights)), options_(options) {}
  std::string describe() const override { return fmt::format("sample_from_datasets({})", inputs().size()); }
  std::string fingerprint() const override {
    std::string weights;
    for (const double weight : weights_) weights += fmt::format("{},", weight);
    return fmt::format("{}:{}:{}:{}:{}", describe(), *options_.seed, weights, options_.stop_on_empty_dataset,
                       options_.rerandomize_each_iteration);
  }
  int64_t size() const override {
    if (options_.stop_on_empty_dataset) return kUnknownSize;
    int64_t sum = 0;
    for (size_t i = 0; i < inputs().size(); ++i) {
      const int64_t size = inputs()[i]->size();
      if (weights_[i] <= 0) continue;
      sum = size < 0 || sum < 0 ? std::min(size, sum) : counted_sum(sum, size);  // kInfinite is the least
    }
    return sum;
  }
  std::vector<ComponentSpec> specs() const override { return common_specs(inputs()); }
  bool is_indexed() const override { return false; }
  std::unique_ptr<Stream> stream(Run& run) const override {
    std::vector<std::unique_ptr<Stream>> below;
    for (const StagePtr& input : inputs()) below.push_back(run.stream(input));
    run.add(*this);
    return std::make_unique<SampleStream>(std::move(below), weights_, options_);
  }

 private:
  std::vector<double> weights_;
  SampleOptions options_;
};

}  // namespace

StagePtr flat_map_stage(StagePtr input, DatasetFunction f, std::string code) {
  return std::make_shared<InterleaveStage>(std::move(input), "flat_map()", std::move(f), std::move(code),
                                           InterleaveOptions{.cycle_length = 1});
}
StagePtr interleave_stage(StagePtr input, DatasetFunction f, std::string code, InterleaveOptions options) {
  const std::string name = fmt::format("interleave({} at a time)", options.cycle_length);
  return std::make_shared<InterleaveStage>(std::move(input), name, std::move(f), std::move(code), options);
}
StagePtr group_by_window_stage(StagePtr input, KeyFunction key, ReduceFunction reduce, int64_t window,
                               std::string code) {
  return std::make_shared<GroupByWindowStage>(std::move(input), std::move(key), std::move(reduce), window,
                                              std::move(code));
}

Dataset sample_from_datasets(const std::vector<Dataset>& datasets, std::vector<double> weights, SampleOptions options) {
  if (datasets.empty()) fail<ValueError>("sample_from_datasets", "needs at least one data set");
  if (weights.empty()) weights.assign(datasets.size(), 1);
  if (weights.size() != datasets.size())
    fail<ValueError>("sample_from_datasets", "needs a weight for each of the {} data sets, got {}", datasets.size(),
                     weights.size());
  check_weights("sample_from_datasets", weights);
  if (!options.seed) options.seed = get_seed() * 0x9e3779b97f4a7c15u + take_random_streams(1);
  std::vector<StagePtr> stages;
  for (const Dataset& dataset : datasets) stages.push_back(dataset.stage());
  check_alike("sample_from_datasets", stages);
  return Dataset(std::make_shared<SampleStage>(std::move(stages), std::move(weights), options));
}

}  // namespace isochron::data
