// One running pipeline: its stages by number, what each did, and what every thread is doing now.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "isochron/data/stage.h"

namespace isochron::data {

// What one stage did, as far as one thread did it. Written by that thread alone, read by others at any time.
struct StageCounters {
  std::atomic<int64_t> elements{0}, busy_ns{0}, cpu_ns{0}, cpu_measured_ns{0}, bytes{0}, skipped{0}, retried{0};
  int64_t calls = 0;  // decides which calls are timed
  int64_t mask = 0;   // every (mask + 1)th is
  bool slow = true;   // the last one was so long that its CPU time is worth asking for
  StageCounters() = default;
  StageCounters(const StageCounters& other) { fold(other); }
  void fold(const StageCounters& other);
};
inline void add(std::atomic<int64_t>& counter, int64_t by) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

// Where an exception came from; see last_fault() in dataset.h.
struct Fault {
  std::string stage, message, file;
  int64_t element = -1;
};

// A thread of a running pipeline (the consumer's included).
class Worker {
 public:
  explicit Worker(Run& run);
  ~Worker();
  Worker(const Worker&) = delete;

  StageCounters& counters(int id) { return counters_[static_cast<size_t>(id)]; }
  // What it is doing, for the watchdog.
  std::atomic<int> stage{-1};
  std::atomic<int64_t> element{-1};
  // Where its last exception came from.
  int failed_stage = -1;
  int64_t failed_element = -1;
  std::string failed_file;

 private:
  friend class Run;
  Run& run_;
  std::vector<StageCounters> counters_;
};

class Run {
 public:
  struct Options {
    bool nested = false;  // inside flat_map and the like: no threads that run into the next pass
  };
  Run() = default;
  explicit Run(Options run_options) : options(run_options) {}

  // The number of a stage; its description for reports.
  int add(const Stage& stage);
  int stages() const { return static_cast<int>(names_.size()); }
  const std::string& name(int stage) const { return names_[static_cast<size_t>(stage)]; }
  // What runs `stage`: numbers where elements have them, else one after the other, with threads if it asks for them.
  std::unique_ptr<Stream> stream(const StagePtr& stage);
  std::unique_ptr<Indexed> indexed(const StagePtr& stage) { return stage->indexed(*this); }

  StageCounters totals(int stage);
  Fault fault_of(const Worker& worker, std::exception_ptr error) const;

  const Options options;

 private:
  friend class Worker;
  std::vector<std::string> names_;
  std::mutex mutex_;
  std::list<Worker*> workers_;
  std::vector<StageCounters> gone_;  // of threads that ended
};

// Marks user code: counts and times it, and remembers whose it was when it throws.
class UserCode {
 public:
  UserCode(Worker& worker, int stage, int64_t element);
  ~UserCode();
  UserCode(const UserCode&) = delete;

 private:
  Worker& worker_;
  StageCounters& counters_;
  const int stage_, before_;
  const int64_t element_;
  const int exceptions_;
  int64_t begin_ns_ = 0, cpu_ns_ = 0;
};

}  // namespace isochron::data
