// Stages after which numbers say nothing: filter, scan, unbatch, rebatch, ignore_errors, retry.
#include <algorithm>
#include <chrono>
#include <ios>
#include <system_error>
#include <thread>

#include "isochron/base/interrupt.h"
#include "isochron/data/batch.h"
#include "isochron/data/loader.h"
#include "isochron/data/run.h"
#include "isochron/data/stages.h"

namespace isochron::data {
namespace {

// Most stream stages have one input and a little state of their own.
class StreamOn : public Stream {
 public:
  explicit StreamOn(std::unique_ptr<Stream> below) : below_(std::move(below)) {}
  void begin(uint64_t epoch) override {
    epoch_ = epoch;
    below_->begin(epoch);
  }
  void save(StateWriter& state) override {
    state.put(epoch_);
    below_->save(state);
  }
  void restore(StateReader& state) override {
    epoch_ = state.get<uint64_t>();
    below_->restore(state);
  }

 protected:
  std::unique_ptr<Stream> below_;
  uint64_t epoch_ = 0;
};

class FilterStream : public StreamOn {
 public:
  FilterStream(std::unique_ptr<Stream> below, std::function<bool(const Element&)> keep, StageId id)
      : StreamOn(std::move(below)), keep_(std::move(keep)), id_(id) {}
  void begin(uint64_t epoch) override {
    StreamOn::begin(epoch);
    seen_ = 0;
  }
  bool next(Worker& worker, Element& out) override {
    while (true) {
      out.clear();
      if (!below_->next(worker, out)) return false;
      UserCode code(worker, id_, seen_++, epoch_);
      if (keep_(out)) return true;
    }
  }
  void save(StateWriter& state) override {
    state.put(seen_);
    StreamOn::save(state);
  }
  void restore(StateReader& state) override {
    seen_ = state.get_count();
    StreamOn::restore(state);
  }

 private:
  const std::function<bool(const Element&)> keep_;
  const StageId id_;
  int64_t seen_ = 0;
};

class ScanStream : public StreamOn {
 public:
  ScanStream(std::unique_ptr<Stream> below, Element initial, ScanFunction f, StageId id)
      : StreamOn(std::move(below)), initial_(std::move(initial)), f_(std::move(f)), id_(id) {}
  void begin(uint64_t epoch) override {
    StreamOn::begin(epoch);
    carried_ = initial_;
    seen_ = 0;
  }
  bool next(Worker& worker, Element& out) override {
    Element in;
    if (!below_->next(worker, in)) return false;
    UserCode code(worker, id_, seen_++, epoch_);
    std::tie(carried_, out) = f_(carried_, in);
    return true;
  }
  void save(StateWriter& state) override {
    state.put(carried_);
    state.put(seen_);
    StreamOn::save(state);
  }
  void restore(StateReader& state) override {
    carried_ = state.get_element();
    seen_ = state.get_count();
    StreamOn::restore(state);
  }

 private:
  const Element initial_;
  const ScanFunction f_;
  const StageId id_;
  Element carried_;
  int64_t seen_ = 0;
};

// Row `i` of all components.
Element row_of(const Element& batch, int64_t i) {
  Element out;
  out.set_names(batch.names());
  for (const Component& column : batch) out.add(row_of(column, i));
  return out;
}

int64_t rows_of(const char* what, const Element& batch) {
  if (batch.empty()) return 0;
  for (const Component& column : batch)
    if (column.shape().rank() < 1 || column.shape()[0] != batch[0].shape()[0])
      fail<ShapeError>(what, "all components need the same first axis, got {}", describe(batch));
  return batch[0].shape()[0];
}

class UnbatchStream : public StreamOn {
 public:
  using StreamOn::StreamOn;
  void begin(uint64_t epoch) override {
    StreamOn::begin(epoch);
    batch_.clear();
    row_ = rows_ = 0;
  }
  bool next(Worker& worker, Element& out) override {
    while (row_ == rows_) {
      batch_.clear();
      row_ = rows_ = 0;
      if (!below_->next(worker, batch_)) return false;
      rows_ = rows_of("unbatch", batch_);
    }
    out = row_of(batch_, row_++);
    return true;
  }
  void save(StateWriter& state) override {
    state.put(batch_);
    state.put(row_);
    state.put(rows_);
    StreamOn::save(state);
  }
  void restore(StateReader& state) override {
    batch_ = state.get_element();
    row_ = state.get_count();
    rows_ = state.get_count();
    if (row_ > rows_ || (rows_ > 0 && rows_ != rows_of("restore", batch_)))
      fail<StateError>("restore", "the state of the pipeline is damaged: row {} of {} in {}", row_, rows_,
                       describe(batch_));
    StreamOn::restore(state);
  }

 private:
  Element batch_;
  int64_t row_ = 0, rows_ = 0;
};

class IgnoreErrorsStream : public StreamOn {
 public:
  IgnoreErrorsStream(std::unique_ptr<Stream> below, int64_t limit, StageId id)
      : StreamOn(std::move(below)), limit_(limit), id_(id) {}
  void begin(uint64_t epoch) override {
    StreamOn::begin(epoch);
    skipped_ = 0;
  }
  bool next(Worker& worker, Element& out) override {
    while (true) {
      try {
        out.clear();
        return below_->next(worker, out);
      } catch (const StallError&) {
        throw;  // the watchdog ends the wait: no fault of an element
      } catch (...) {
        if (++skipped_ > limit_) throw;
        add(worker.counters(id_.number).skipped, 1);
        worker.failed_stage = -1;
      }
    }
  }
  void save(StateWriter& state) override {
    state.put(skipped_);
    StreamOn::save(state);
  }
  void restore(StateReader& state) override {
    skipped_ = state.get_count();
    StreamOn::restore(state);
  }

 private:
  const int64_t limit_;
  const StageId id_;
  int64_t skipped_ = 0;
};

bool is_io_error() {
  try {
    throw;
  } catch (const FileError&) {
    return true;
  } catch (const std::system_error&) {  // also std::ios_base::failure and filesystem errors
    return true;
  } catch (...) {
    return false;
  }
}

// Calls f again after errors of files and devices, waiting twice as long each time.
template <class F>
auto retried(const RetryOptions& options, Worker& worker, const StageId& id, F&& f) {
  double wait = options.backoff_seconds;
  for (int attempt = 1;; ++attempt) {
    try {
      return f();
    } catch (...) {
      if (attempt >= options.attempts || !is_io_error()) throw;
      const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait);
      while (std::chrono::steady_clock::now() < until) {
        if (worker.unwanted()) throw;
        check_interrupt("retry");
        std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(until - std::chrono::steady_clock::now(),
                                                                            std::chrono::milliseconds(20)));
      }
      worker.failed_stage = -1;
      add(worker.counters(id.number).retried, 1);
    }
    wait *= 2;
  }
}

class RetryIndexed : public Indexed {
 public:
  RetryIndexed(std::unique_ptr<Indexed> below, RetryOptions options, StageId id)
      : below_(std::move(below)), options_(options), id_(id) {}
  int64_t size() const override { return below_->size(); }
  void get(int64_t index, uint64_t epoch, Worker& worker, Element& out) override {
    retried(options_, worker, id_, [&] {
      out.clear();
      below_->get(index, epoch, worker, out);
    });
  }

 private:
  std::unique_ptr<Indexed> below_;
  const RetryOptions options_;
  const StageId id_;
};

class RetryStream : public StreamOn {
 public:
  RetryStream(std::unique_ptr<Stream> below, RetryOptions options, StageId id)
      : StreamOn(std::move(below)), options_(options), id_(id) {}
  bool next(Worker& worker, Element& out) override {
    return retried(options_, worker, id_, [&] {
      out.clear();
      return below_->next(worker, out);
    });
  }

 private:
  const RetryOptions options_;
  const StageId id_;
};

class RetryStage : public StageOf<RetryStage> {
 public:
  RetryStage(StagePtr input, RetryOptions options) : StageOf({std::move(input)}), options_(options) {}
  std::string describe() const override { return fmt::format("retry({} attempts)", options_.attempts); }
  bool is_indexed() const override { return inputs_indexed(); }
  std::unique_ptr<Indexed> indexed(Run& run) const override {
    auto below = run.indexed(inputs()[0]);
    return std::make_unique<RetryIndexed>(std::move(below), options_, run.add(*this));
  }
  std::unique_ptr<Stream> stream(Run& run) const override {
    auto below = run.stream(inputs()[0]);
    return std::make_unique<RetryStream>(std::move(below), options_, run.add(*this));
  }

 private:
  const RetryOptions options_;
};

// A stage that is a stream whatever its input: told by how to make it.
class SimpleStreamStage : public StageOf<SimpleStreamStage> {
 public:
  using Make = std::function<std::unique_ptr<Stream>(std::unique_ptr<Stream>, StageId id)>;
  struct Traits {
    std::string name, code = {};
    bool keeps_size = false, keeps_specs = false, user_code = false;
  };
  SimpleStreamStage(StagePtr input, Traits traits, Make make)
      : StageOf({std::move(input)}), traits_(std::move(traits)), make_(std::move(make)) {}
  std::string describe() const override { return traits_.name; }
  std::string fingerprint() const override { return traits_.name + traits_.code; }
  int64_t size() const override {
    const int64_t below = inputs()[0]->size();
    return traits_.keeps_size || below == kInfinite ? below : kUnknownSize;
  }
  std::vector<ComponentSpec> specs() const override {
    return traits_.keeps_specs ? inputs()[0]->specs() : std::vector<ComponentSpec>{};
  }
  Names names() const override { return traits_.keeps_specs ? inputs()[0]->names() : nullptr; }
  bool is_indexed() const override { return false; }
  bool has_user_code() const override { return traits_.user_code; }
  std::unique_ptr<Stream> stream(Run& run) const override {
    auto below = run.stream(inputs()[0]);
    return make_(std::move(below), run.add(*this));
  }

 private:
  Traits traits_;
  Make make_;
};

}  // namespace

StagePtr filter_stage(StagePtr input, std::function<bool(const Element&)> keep, std::string code) {
  return std::make_shared<SimpleStreamStage>(std::move(input),
                                             SimpleStreamStage::Traits{"filter()", std::move(code), false, true, true},
                                             [keep = std::move(keep)](std::unique_ptr<Stream> below, StageId id) {
                                               return std::make_unique<FilterStream>(std::move(below), keep, id);
                                             });
}
StagePtr scan_stage(StagePtr input, Element initial, ScanFunction f, std::string code) {
  return std::make_shared<SimpleStreamStage>(
      std::move(input), SimpleStreamStage::Traits{"scan()", std::move(code), true, false, true},
      [initial = std::move(initial), f = std::move(f)](std::unique_ptr<Stream> below, StageId id) {
        return std::make_unique<ScanStream>(std::move(below), initial, f, id);
      });
}
StagePtr unbatch_stage(StagePtr input) {
  return std::make_shared<SimpleStreamStage>(
      std::move(input), SimpleStreamStage::Traits{"unbatch()"},
      [](std::unique_ptr<Stream> below, const StageId&) { return std::make_unique<UnbatchStream>(std::move(below)); });
}
StagePtr ignore_errors_stage(StagePtr input, int64_t limit) {
  if (limit < 0) fail<ValueError>("ignore_errors", "the limit must not be negative, got {}", limit);
  return std::make_shared<SimpleStreamStage>(
      std::move(input), SimpleStreamStage::Traits{fmt::format("ignore_errors({})", limit), {}, false, true},
      [limit](std::unique_ptr<Stream> below, StageId id) {
        return std::make_unique<IgnoreErrorsStream>(std::move(below), limit, id);
      });
}
StagePtr retry_stage(StagePtr input, RetryOptions options) {
  if (options.attempts < 1) fail<ValueError>("retry", "needs at least 1 attempt, got {}", options.attempts);
  return std::make_shared<RetryStage>(std::move(input), options);
}

}  // namespace isochron::data
