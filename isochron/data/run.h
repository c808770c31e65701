// One running pipeline: its stages by number, what each did, and what every thread is doing now.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "isochron/base/page_cache.h"
#include "isochron/data/activity.h"
#include "isochron/data/autotune.h"
#include "isochron/data/dataset.h"
#include "isochron/data/stage.h"
#include "isochron/ops/random_key.h"

namespace isochron::data {

// What one stage did, as far as one thread did it. Written by that thread alone, read by others at any time.
struct StageCounters {
  std::atomic<int64_t> elements{0}, busy_ns{0}, cpu_ns{0}, cpu_measured_ns{0}, bytes{0}, skipped{0}, retried{0};
  std::atomic<int64_t> disk_bytes{0}, major_faults{0};  // read by its thread, since it looked last
  int64_t calls = 0;                                    // decides which calls are timed
  int64_t mask = 0;                                     // every (mask + 1)th is
  int64_t told = 0;                                     // of the calls; the next that is timed stands for the others
  bool slow = true;  // the last one was so long that its CPU time is worth asking for
  StageCounters() = default;
  StageCounters(const StageCounters& other) { fold(other); }
  void fold(const StageCounters& other);
};
inline void add(std::atomic<int64_t>& counter, int64_t by) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

void set_last_fault(Fault fault);
int64_t fault_count();  // how often it was set in this thread

// What threads that run ahead did so far.
struct AheadReport {
  std::string name, stuck;
  int threads = 0;
  int64_t window = 0, slot_bytes = 0;
  int64_t delivered = 0, depth_sum = 0;  // depth: elements that lay ready when one was taken
  int64_t waits = 0, wait_ns = 0, cpu_ns = 0;
  int64_t delay_ns = 0;   // in which threads were ready to run and got no core
  bool sleeping = false;  // threads waited for something when last looked at
};
class AheadProbe {
 public:
  // Whether a consumer waits for these threads: since when (0: it does not), for which element, in which thread.
  struct Waiting {
    std::string name;
    int64_t since_ns = 0, element = -1;
    int thread_id = 0;
  };
  virtual ~AheadProbe() = default;
  virtual AheadReport report() = 0;
  virtual Waiting waiting() = 0;
};

// A thread of a running pipeline (the consumer's included).
class Worker {
 public:
  explicit Worker(Run& run, bool is_consumer = false);
  ~Worker();
  Worker(const Worker&) = delete;

  StageCounters& counters(int id) { return counters_[static_cast<size_t>(id)]; }
  // What it is doing, for pipeline_activity(). `since_ns` is 0 where nobody asked the clock.
  std::atomic<int> stage{-1}, thread_id{0};
  std::atomic<int64_t> element{-1}, since_ns{0};
  const bool consumer;
  int exceptions = 0;  // under way when it began
  // Nobody wants any more of the run: long waits end.
  bool unwanted() const;
  // Counts what this thread had read from disks since it was last asked, on account of the stage that ran last.
  void note_disk_reads();
  // The pass is this thread's from here on.
  void begin_pass();
  // Where its last exception came from.
  int failed_stage = -1;
  int64_t failed_element = -1;
  std::string failed_file;

 private:
  friend class Run;
  friend class UserCode;
  Run& run_;
  std::vector<StageCounters> counters_;
  int last_stage_ = -1;
  DiskReads disk_seen_;
  int read_in_thread_ = 0;
};

// A stage of a run: its number, and what random numbers that its functions draw follow from.
struct StageId {
  int number = -1;
  uint64_t seed = 0;
};
// For random numbers of one element in one pass: the same for any number of threads and after a restart. The mixing is
// that of SplitMix64.
inline uint64_t element_seed(uint64_t stage_seed, uint64_t epoch, int64_t index) {
  uint64_t x = stage_seed + epoch * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(index) * 0xd1342543de82ef95u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Run {
 public:
  Run() = default;
  // For a data set inside a stage of another (flat_map and the like): what it does counts as that stage's, and its
  // threads do not run on into its next pass.
  Run(Run& parent, int stage) : parent_(&parent), stage_(stage) {}
  bool nested() const { return parent_ != nullptr; }

  // Its description is for reports.
  StageId add(const Stage& stage);
  int stages() const { return parent_ ? parent_->stages() : static_cast<int>(names_.size()); }
  const std::string& name(int stage) const {
    return parent_ ? parent_->name(stage) : names_[static_cast<size_t>(stage)];
  }
  // What runs `stage`: numbers where elements have them, else one after the other, with threads if it asks for them.
  std::unique_ptr<Stream> stream(const StagePtr& stage);
  std::unique_ptr<Indexed> indexed(const StagePtr& stage) { return stage->indexed(*this); }
  // The same where one thread at a time will ask for elements: stages need no locks.
  std::unique_ptr<Indexed> indexed_for_one_thread(const StagePtr& stage);
  bool one_thread() const { return one_thread_; }

  StageCounters totals(int stage);
  // Also forgets it in the worker.
  Fault fault_of(Worker& worker, std::exception_ptr error) const;
  void watch(AheadProbe* probe);
  void unwatch(AheadProbe* probe);
  std::vector<AheadReport> ahead();
  void add_activity(std::vector<Activity>& activities);

  // What earlier runs of the same pipeline found out about one of its groups of threads, and what this one did.
  Tuning tuning(const std::string& name) const;
  void learn(const std::string& name, const Tuning& tuning);
  Tunings tunings, learnt;

  void end() { ended_.store(true, std::memory_order_relaxed); }

 private:
  friend class Worker;
  Run& root() { return parent_ ? parent_->root() : *this; }
  Run* const parent_ = nullptr;
  const int stage_ = -1;
  const uint64_t seed_ = get_seed();
  int added_ = 0;
  bool one_thread_ = false;  // will run the stages that are being made
  std::vector<std::string> names_;
  std::mutex mutex_;
  std::list<Worker*> workers_;
  std::vector<StageCounters> gone_;  // of threads that ended
  std::vector<AheadProbe*> probes_;
  std::atomic<bool> ended_{false};
};

// While it lives, pipeline_activity() tells of a run: after all its stages were added.
class Visible {
 public:
  explicit Visible(Run& run);
  ~Visible();
  Visible(const Visible&) = delete;

 private:
  Run& run_;
};

// Marks user code: counts and times it, remembers whose it was when it throws, and gives it random numbers that follow
// from the element.
class UserCode {
 public:
  UserCode(Worker& worker, const StageId& stage, int64_t element, uint64_t epoch)
      : random_(element_seed(stage.seed, epoch, element)),
        worker_(worker),
        counters_(worker.counters(stage.number)),
        stage_(stage.number),
        before_(worker.stage.load(std::memory_order_relaxed)),
        element_(element) {
    worker.element.store(element, std::memory_order_relaxed);
    worker.stage.store(stage_, std::memory_order_relaxed);
    if ((counters_.calls++ & counters_.mask) == 0) begin_timing();
  }
  ~UserCode() {
    worker_.stage.store(before_, std::memory_order_relaxed);
    add(counters_.elements, 1);
    if (begin_ns_) end_timing();
    if (!returned_) note_exception();
  }
  UserCode(const UserCode&) = delete;
  // It returned, and made so many bytes. Where not every call is timed, those that are stand for the others.
  void made(int64_t bytes) {
    returned_ = true;
    if (begin_ns_) add(counters_.bytes, bytes * stands_for_);
  }
  void made(const Element& element) { made(begin_ns_ ? element.bytes() : 0); }

 private:
  void begin_timing();
  void end_timing();
  void note_exception();  // if there is one
  const LocalRandom random_;
  Worker& worker_;
  StageCounters& counters_;
  const int stage_, before_;
  const int64_t element_;
  int64_t begin_ns_ = 0, cpu_ns_ = 0, stands_for_ = 0;
  bool returned_ = false;
};

}  // namespace isochron::data
