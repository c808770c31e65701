// Threads that make elements before the consumer asks for them.
//
// Slots stand in the order of delivery. Threads claim the oldest unclaimed part of a slot (a whole element, or some
// rows of a batch), make it, and the consumer takes the front when it is ready. The consumer helps where parts are
// cheap instead of sleeping, so the first batch needs no thread to wake; where user code makes them, only with the slot
// it waits for and the one behind it. Slots go on behind the end of a pass with the next one.
//
// How many threads and slots: when the consumer waits although all threads are at work, there are too few of them, up
// to the cores if they burn CPU (or would, if other processes left them any) and far beyond if they sleep or wait for a
// disk. When the window is what holds threads back, it grows within some megabytes, and further, within a budget of
// memory, only for threads that sleep: for others it could not gain anything.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "isochron/data/batch.h"
#include "isochron/data/run.h"

namespace isochron::data {

// However much they sleep.
inline constexpr int kMostThreads = 64;

struct RunAheadOptions {
  std::string name;  // for reports and thread names
  int max_threads = 1;
  int64_t window = -1;  // slots; -1: found while running
  bool ordered = true;
  bool user_code = false;  // may take any time: the consumer does not help before its cost is known
  bool next_pass = true;   // run on into the next pass
};

struct Slot {
  uint64_t epoch = 0;
  int64_t unit = 0;  // its number in the pass
  int64_t parts = 1, claimed = 0, done = 0;
  bool ready = false, end = false;
  Element element;
  std::exception_ptr error;  // nobody else's: who takes the slot takes it
  Fault fault;
  Assembly assembly;
};

struct Job {
  std::shared_ptr<Slot> slot;
  int64_t first = 0, last = 1;
  explicit operator bool() const { return slot != nullptr; }
};

class RunAhead : public Stream, public AheadProbe {
 public:
  RunAhead(Run& run, RunAheadOptions options);
  ~RunAhead() override;

  void begin(uint64_t epoch) override;
  bool next(Worker& worker, Element& out) override;
  void save(StateWriter& state) override;
  void restore(StateReader& state) override;
  AheadReport report() override;
  Waiting waiting() override;

 protected:
  // Called with the lock held: something to do, or nothing.
  virtual Job claim() = 0;
  // Called without: does it. finish() must be called once for it, without the lock.
  virtual void perform(Job& job, Worker& worker) = 0;
  // Parts of a slot have been made (or failed). True for the one who makes it complete: that one then calls publish().
  bool finish(Job& job, std::exception_ptr error, Worker& worker);
  void publish(const std::shared_ptr<Slot>& slot);
  // The pass starts anew at `epoch`, the slots are gone. With the lock held and, if quiet, no thread at work.
  virtual void reset(uint64_t epoch) = 0;
  virtual bool needs_quiet_reset() const { return false; }
  virtual int64_t most_delivered() const { return StateReader::kMostCount; }  // in one pass
  virtual void save_ring(StateWriter& state) = 0;
  virtual void restore_ring(StateReader& state) = 0;
  // Derived classes call it first in their destructors: threads use their members.
  void stop();
  // All threads stand still while this lives.
  class Quiet {
   public:
    explicit Quiet(RunAhead& ahead);
    ~Quiet();

   private:
    RunAhead& ahead_;
    std::unique_lock<std::mutex> lock_;
  };

  bool window_full() const { return static_cast<int64_t>(ring_.size()) >= window_; }
  void wake_threads();
  int64_t chunk(int64_t parts) const;
  void note_cost(int64_t part_ns);
  void note_completion(int64_t ns);
  void wake_consumer() { consumer_wakes_.notify_one(); }

  Run& run_;
  const RunAheadOptions options_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<Slot>> ring_;
  uint64_t epoch_ = 0;     // of the pass the consumer is in
  int64_t delivered_ = 0;  // of it
  bool ended_ = true;      // the consumer has seen its end
  bool closed_ = false;    // nothing more to claim before the next reset

 private:
  struct Thread {
    std::thread thread;
    int64_t cpu_seen_ns = 0;
    Worker* worker = nullptr;
  };
  void thread_main(Thread& self);
  void add_threads(int count);
  std::shared_ptr<Slot> take_ready();
  bool consumer_may_help() const;
  bool next_job_is_near() const;
  // Every millisecond of waiting.
  void tune(int64_t waited_ns);
  void tell_stuck(int64_t waited_ns);
  // As many slots as are wanted, if the bytes in them allow it.
  int64_t most_slots(bool sleeping, int64_t wanted = INT64_MAX) const;

  std::condition_variable consumer_wakes_, threads_wake_, quiet_;
  std::vector<std::unique_ptr<Thread>> threads_;
  int active_ = 0, idle_ = 0, paused_ = 0;
  bool stopping_ = false;
  int64_t window_ = 4;
  int asleep_before_ = 0;                             // readings in a row
  const int cpus_;                                    // asked once: reading the limits of a control group takes long
  int wanted_threads_ = 1;                            // at work at once; there may be more
  std::atomic<int64_t> part_ns_{0}, complete_ns_{0};  // what a part and the rest cost, smoothed; 0: unknown
  int64_t slot_bytes_ = 0, last_tune_ns_ = 0, next_warning_ns_ = 0;
  AheadReport report_;
  // Of the consumer, for others.
  std::atomic<int64_t> waiting_since_ns_{0}, waiting_for_{0};
  std::atomic<int> waiting_thread_{0};
};

// A stream pulled by one thread at a time, with `f` (if any) done by all of them.
using AheadFunction = std::function<Element(const Element&, const ElementContext&, Worker&)>;
std::unique_ptr<Stream> run_ahead(Run& run, std::unique_ptr<Stream> below, AheadFunction f, RunAheadOptions options);

}  // namespace isochron::data
