// Inside a pipeline: descriptions (Stage) and what runs (Indexed, Stream).
//
// A Dataset is a tree of Stages, immutable and shared. Running it instantiates one of two things per stage:
// - Indexed: elements by number, from any thread. As long as all below is indexed, shuffle, take, shard, batch … only
//   calculate with numbers, so the first element of a shuffle costs as much as any other, threads need no queues
//   between stages, and the cursor is one number.
// - Stream: one element after the other, where numbers say nothing (filter, generators, …).
// A stage that can be Indexed on top of its inputs says so; otherwise it is a Stream, and an indexed input is walked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isochron/data/element.h"
#include "isochron/data/source.h"

namespace isochron::data {

// The place of an element: which pass over the data, and its number in it. Functions given to map may take one as their
// last argument. `random_seed` follows from the global seed, pass and number alone: augmentation that draws from it
// (RandomStream{at.random_seed}) is the same for any number of threads and after a restart.
struct ElementContext {
  uint64_t epoch = 0;
  int64_t index = 0;
  uint64_t random_seed = 0;
};

inline ElementContext get_context(StateReader& state) {
  return {.epoch = state.get<uint64_t>(), .index = state.get_count(), .random_seed = state.get<uint64_t>()};
}

class Run;
class Worker;
struct Assembly;        // batch.h
struct PipelineReport;  // report.h

class Indexed {
 public:
  virtual ~Indexed() = default;
  virtual int64_t size() const = 0;
  // Element `index` of pass `epoch`. `out` is empty. From any thread.
  virtual void get(int64_t index, uint64_t epoch, Worker& worker, Element& out) = 0;
  // As in IndexedSource, where everything below agrees: false, and get() it is.
  virtual bool view(int64_t /*index*/, uint64_t /*epoch*/, std::span<const std::byte*> /*rows*/) { return false; }
  virtual bool slice(int64_t /*first*/, int64_t /*count*/, Element& /*out*/) { return false; }
  virtual bool fill(int64_t /*index*/, uint64_t /*epoch*/, Worker& /*worker*/, std::span<std::byte* const> /*rows*/) {
    return false;
  }
  // An element may be made in parts, by several threads: prepare(), then every part once, then complete().
  virtual int64_t parts(int64_t /*index*/, uint64_t /*epoch*/) { return 1; }
  virtual void prepare(int64_t /*index*/, uint64_t /*epoch*/, Assembly& /*assembly*/) {}
  virtual void make(int64_t /*index*/, uint64_t /*epoch*/, int64_t /*first*/, int64_t /*last*/, Worker& /*worker*/,
                    Assembly& /*assembly*/) {}
  virtual void complete(int64_t index, uint64_t epoch, Worker& worker, Assembly& /*assembly*/, Element& out) {
    get(index, epoch, worker, out);
  }
};

class Stream {
 public:
  virtual ~Stream() = default;
  // Starts pass `epoch` from its first element.
  virtual void begin(uint64_t epoch) = 0;
  virtual bool next(Worker& worker, Element& out) = 0;  // `out` is empty
  // The place before the next element.
  virtual void save(StateWriter& state) = 0;
  virtual void restore(StateReader& state) = 0;
};

class Stage;
using StagePtr = std::shared_ptr<const Stage>;

class Stage {
 public:
  explicit Stage(std::vector<StagePtr> inputs = {}) : inputs_(std::move(inputs)) {}
  virtual ~Stage() = default;
  const std::vector<StagePtr>& inputs() const { return inputs_; }

  virtual std::string describe() const = 0;
  // Changes when the elements change; describe() for most.
  virtual std::string fingerprint() const { return describe(); }
  // A checksum of values that the fingerprint knows nothing of, for caches that outlive the program; see source.h.
  virtual std::string contents() const { return {}; }
  // Number of elements of a pass, kUnknownSize or kInfinite.
  virtual int64_t size() const = 0;
  virtual std::vector<ComponentSpec> specs() const { return {}; }
  virtual Names names() const { return nullptr; }
  // nullptr where elements have no numbers.
  virtual std::unique_ptr<Indexed> indexed(Run&) const { return nullptr; }
  // By default walks indexed().
  virtual std::unique_ptr<Stream> stream(Run& run) const;
  // The same stage on other inputs: for rewriting plans.
  virtual StagePtr with_inputs(std::vector<StagePtr> inputs) const = 0;
  // What does the same as this and its input in one stage; nullptr where there is nothing of the kind.
  virtual StagePtr merged_with_input() const { return nullptr; }
  // Whether elements have numbers.
  virtual bool is_indexed() const = 0;
  // User code that must not run in two threads at once, user code at all, wish for threads of its own.
  virtual bool serial() const { return false; }
  virtual bool has_user_code() const { return false; }
  virtual int threads_wanted() const { return 0; }  // 0: none, -1: autotune
  virtual bool ordered() const { return true; }
  // What reports should tell of it beside its counters; by default what its inputs have to tell.
  virtual void add_notes(PipelineReport& report) const {
    for (const StagePtr& input : inputs_) input->add_notes(report);
  }
  // For prefetch: how many elements to make ahead; 0: does not say, -1: autotune.
  virtual int64_t ahead() const { return 0; }

 protected:
  bool inputs_indexed() const {
    for (const StagePtr& input : inputs_)
      if (!input->is_indexed()) return false;
    return true;
  }

  std::vector<StagePtr> inputs_;
};

// A stage on inputs, alike to the first of them unless it says otherwise.
template <class Self>
class StageOf : public Stage {
 public:
  using Stage::Stage;
  int64_t size() const override { return inputs()[0]->size(); }
  std::vector<ComponentSpec> specs() const override { return inputs()[0]->specs(); }
  Names names() const override { return inputs()[0]->names(); }
  StagePtr with_inputs(std::vector<StagePtr> inputs) const override {
    auto copy = std::make_shared<Self>(static_cast<const Self&>(*this));
    static_cast<StageOf&>(*copy).inputs_ = std::move(inputs);
    return copy;
  }
};

// Of the whole tree; with its contents if asked for.
std::string fingerprint_of(const Stage& stage, bool contents = false);

}  // namespace isochron::data
