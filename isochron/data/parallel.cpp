#include "isochron/data/parallel.h"

#include "isochron/base/clock.h"
#include "isochron/base/threads.h"
#include "isochron/data/run_ahead.h"

namespace isochron::data {
namespace {

// Reading files waits for disks: more threads than cores may help.
constexpr int kReaders = 16;

// In the consumer's thread.
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
    next_ = state.get_count(farthest_place(size_));
  }

 private:
  std::unique_ptr<Indexed> below_;
  const int64_t size_;
  uint64_t epoch_ = 0;
  int64_t next_ = 0;
};

// By threads that claim numbers.
class IndexedAhead : public RunAhead {
 public:
  IndexedAhead(Run& run, std::unique_ptr<Indexed> below, RunAheadOptions options)
      : RunAhead(run, std::move(options)), below_(std::move(below)), units_(below_->size()) {}
  ~IndexedAhead() override { stop(); }

 protected:
  Job claim() override {
    if (!open_ || open_->claimed == open_->parts) open_ = next_slot();
    if (!open_) return {};
    Job job{open_, open_->claimed, 0};
    job.last = std::min(open_->parts, job.first + chunk(open_->parts));
    open_->claimed = job.last;
    return job;
  }

  void perform(Job& job, Worker& worker) override {
    Slot& slot = *job.slot;
    std::exception_ptr error;
    const int64_t begin = monotonic_ns();
    const auto guarded = [&](auto&& f) {
      try {
        f();
      } catch (...) {
        error = std::current_exception();
      }
    };
    guarded([&] { below_->make(slot.unit, slot.epoch, job.first, job.last, worker, slot.assembly); });
    if (slot.parts > 1) note_cost((monotonic_ns() - begin) / (job.last - job.first));
    if (!finish(job, std::exchange(error, nullptr), worker)) return;
    const int64_t made = monotonic_ns();
    if (!slot.error) {
      guarded([&] { below_->complete(slot.unit, slot.epoch, worker, slot.assembly, slot.element); });
      if (error) {
        slot.fault = run_.fault_of(worker, error);
        slot.error = std::move(error);
      }
    }
    if (slot.parts == 1) note_cost(monotonic_ns() - begin);
    note_completion(monotonic_ns() - made);
    publish(job.slot);
  }

  void reset(uint64_t epoch) override { go_to(epoch, 0); }
  int64_t most_delivered() const override { return farthest_place(units_); }

  void save_ring(StateWriter& state) override {
    if (options_.ordered) return;
    // Delivered out of order: what is still missing, then where to go on.
    std::vector<int64_t> missing;
    for (const auto& slot : ring_)
      if (slot->epoch == epoch_ && !slot->end) missing.push_back(slot->unit);
    state.put(static_cast<int64_t>(missing.size()));
    for (int64_t unit : missing) state.put(unit);
    state.put(next_epoch_ == epoch_ ? next_unit_ : units_);
  }
  void restore_ring(StateReader& state) override {
    go_to(epoch_, delivered_);
    if (!options_.ordered) {
      const int64_t end = farthest_place(units_);
      for (auto left = state.get_count(end); left > 0; --left) again_.push_back(state.get_count(end - 1));
      next_unit_ = state.get_count(end);
    }
    if (ended_) go_to(epoch_ + 1, 0);
  }

 private:
  void go_to(uint64_t epoch, int64_t unit) {
    next_epoch_ = epoch;
    next_unit_ = unit;
    closed_ = false;
    open_ = nullptr;
    again_.clear();
  }

  std::shared_ptr<Slot> next_slot() {
    if (window_full() || closed_) return nullptr;
    auto slot = std::make_shared<Slot>();
    slot->epoch = next_epoch_;
    if (!again_.empty()) {
      slot->unit = again_.front();
      again_.pop_front();
    } else if (units_ >= 0 && next_unit_ >= units_) {
      slot->end = slot->ready = true;
      ring_.push_back(slot);
      wake_consumer();
      ++next_epoch_;
      next_unit_ = 0;
      closed_ = !options_.next_pass || units_ == 0;
      return next_slot();
    } else {
      slot->unit = next_unit_++;
    }
    slot->parts = std::max<int64_t>(1, below_->parts(slot->unit, slot->epoch));
    try {
      below_->prepare(slot->unit, slot->epoch, slot->assembly);
    } catch (const std::exception& error) {
      slot->error = std::current_exception();
      slot->fault = {options_.name, error.what(), {}, slot->unit};
      slot->ready = true;
    }
    ring_.push_back(slot);
    if (!slot->ready) return slot;
    wake_consumer();
    return next_slot();
  }

  std::unique_ptr<Indexed> below_;
  const int64_t units_;
  uint64_t next_epoch_ = 0;
  int64_t next_unit_ = 0;
  std::shared_ptr<Slot> open_;  // the one whose parts are being claimed
  std::deque<int64_t> again_;   // restored: claimed before, never delivered
};

// A stream: one thread at a time pulls, all of them work on what was pulled.
class StreamAhead : public RunAhead {
 public:
  StreamAhead(Run& run, std::unique_ptr<Stream> below, AheadFunction f, RunAheadOptions options)
      : RunAhead(run, std::move(options)), below_(std::move(below)), f_(std::move(f)) {}
  ~StreamAhead() override { stop(); }

 protected:
  Job claim() override {
    if (pulling_ || closed_ || window_full()) return {};
    pulling_ = true;
    Job job{std::make_shared<Slot>(), 0, 1};
    job.slot->epoch = pull_.epoch;
    job.slot->claimed = 1;
    ring_.push_back(job.slot);
    return job;
  }

  void perform(Job& job, Worker& worker) override {
    Slot& slot = *job.slot;
    std::exception_ptr error;
    Element in;
    bool more = false;
    ElementContext context;
    try {
      if (std::exchange(to_begin_, false)) below_->begin(pull_.epoch);
      more = below_->next(worker, in);
    } catch (...) {
      error = std::current_exception();
    }
    {
      std::lock_guard lock(mutex_);
      pulling_ = false;
      context = pull_;
      if (error || more) ++pull_.index;
      if (!error && !more) {
        slot.end = true;
        ++pull_.epoch;
        pull_.index = 0;
        to_begin_ = true;
        closed_ = !options_.next_pass || context.index == 0;
      }
      wake_threads();
    }
    if (more && !error) {
      const int64_t begin = monotonic_ns();
      try {
        slot.element = f_ ? f_(in, context, worker) : std::move(in);
      } catch (...) {
        error = std::current_exception();
      }
      if (f_) note_cost(monotonic_ns() - begin);
      if (f_) note_completion(1);
    }
    finish(job, std::move(error), worker);
    publish(job.slot);
  }

  bool needs_quiet_reset() const override { return true; }
  void reset(uint64_t epoch) override {
    pull_ = {.epoch = epoch};
    to_begin_ = true;
    closed_ = false;
  }

  void save_ring(StateWriter& state) override {
    state.put(static_cast<int64_t>(ring_.size()));
    for (const auto& slot : ring_) {
      state.put(slot->epoch);
      state.put(slot->end);
      state.put(slot->error != nullptr);
      if (slot->error) state.put(slot->fault.message);
      state.put(slot->element);
    }
    state.put(pull_);
    state.put(to_begin_);
    state.put(closed_);
    if (!to_begin_) below_->save(state);
  }
  void restore_ring(StateReader& state) override {
    for (auto left = state.get_count(); left > 0; --left) {
      auto slot = std::make_shared<Slot>();
      slot->epoch = state.get<uint64_t>();
      slot->end = state.get<bool>();
      slot->ready = true;
      if (state.get<bool>()) {
        slot->fault = {options_.name, state.get_string(), {}, -1};
        slot->error = std::make_exception_ptr(Error(options_.name, slot->fault.message));
      }
      slot->element = state.get_element();
      ring_.push_back(std::move(slot));
    }
    pull_ = get_context(state);
    to_begin_ = state.get<bool>();
    closed_ = state.get<bool>();
    const auto ends = [](const auto& slot) { return slot->end; };
    if (closed_ && !ended_ && std::none_of(ring_.begin(), ring_.end(), ends))
      fail<StateError>("restore", "the state of the pipeline is damaged: nothing comes any more, and no end");
    if (!to_begin_) below_->restore(state);
  }

 private:
  std::unique_ptr<Stream> below_;
  const AheadFunction f_;
  ElementContext pull_;  // of the next element
  bool pulling_ = false, to_begin_ = true;
};

// What the stages of an indexed tree ask for together.
struct Wishes {
  int parallel_calls = 0;  // 0: none, -1: autotune
  int64_t ahead = 0;       // 0: no prefetch, -1: autotune
  bool serial_code = false, reads = false, ordered = true;
  std::string name;  // of the uppermost user code

  void add(const Stage& stage) {
    const int wanted = stage.threads_wanted();
    if (wanted < 0 || parallel_calls < 0)
      parallel_calls = -1;
    else
      parallel_calls = std::max(parallel_calls, wanted);
    if (stage.ahead() != 0 && ahead >= 0) ahead = stage.ahead() < 0 ? -1 : std::max(ahead, stage.ahead());
    serial_code = serial_code || stage.serial();
    ordered = ordered && stage.ordered();
    if (stage.has_user_code()) {
      if (stage.inputs().empty()) reads = true;
      if (name.empty()) name = stage.describe();
    }
    for (const StagePtr& input : stage.inputs()) add(*input);
  }
};

}  // namespace

std::unique_ptr<Stream> walk(Run& run, const StagePtr& stage) {
  Wishes wishes;
  wishes.add(*stage);
  if (wishes.parallel_calls == 0 && wishes.ahead == 0) return std::make_unique<Walk>(run.indexed_for_one_thread(stage));
  RunAheadOptions options;
  options.name = wishes.name.empty() ? stage->describe() : wishes.name;
  options.user_code = !wishes.name.empty();
  options.ordered = wishes.ordered;
  options.window = wishes.ahead > 0 ? wishes.ahead : -1;
  options.next_pass = !run.nested();
  if (wishes.parallel_calls != 0)
    options.max_threads = wishes.parallel_calls < 0 ? kMostThreads : wishes.parallel_calls;
  else
    options.max_threads = wishes.serial_code ? 1 : wishes.reads ? kReaders : available_cpus();
  return std::make_unique<IndexedAhead>(run, run.indexed(stage), options);
}

std::unique_ptr<Stream> run_ahead(Run& run, std::unique_ptr<Stream> below, AheadFunction f, RunAheadOptions options) {
  return std::make_unique<StreamAhead>(run, std::move(below), std::move(f), std::move(options));
}

std::unique_ptr<Stream> Stage::stream(Run& run) const {
  std::unique_ptr<Indexed> below = indexed(run);
  ISO_CHECK(below != nullptr);
  return std::make_unique<Walk>(std::move(below));
}

}  // namespace isochron::data
