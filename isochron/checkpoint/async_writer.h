// Writes states of a run in a thread of its own, from one spare copy in memory.
//
//   AsyncWriter writer;
//   writer.reserve(bytes);                                        // once the size is known
//   writer.submit(state.tensors(), {{.path = "run/ckpt-0005"}});  // copies, and returns while it is being written
//   for (const SaveOutcome& outcome : writer.take_outcomes()) …   // later: what became of it
//   writer.finish();
//
// Memory is bounded by that one copy: submit() waits while an earlier one is being written (busy() tells). A save that
// fails (disk full, read-only, broken) stays in memory and is tried again every few seconds until it succeeds or a
// newer one takes its place. When there is no memory for a copy the writing itself happens inside submit().
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "isochron/checkpoint/snapshot.h"
#include "isochron/checkpoint/store.h"

namespace isochron {

struct SaveTarget {
  std::string path = {};
  CheckpointInfo info = {};
  int64_t id = 0;  // given back in the outcome
  // Not empty: a file of weights in the format its name tells, of these tensors (name in the state, name in the file).
  std::vector<std::pair<std::string, std::string>> weights = {};
  // Not empty: a safetensors file of them with this beside them, whatever its name.
  std::map<std::string, std::string> metadata = {};
};

struct SaveOutcome {
  int64_t id = 0;
  CheckpointInfo info;
  bool saved = false;
  bool again = false;                      // saved after it had failed
  std::string problem;                     // when it was not
  int64_t need_bytes = 0, free_bytes = 0;  // when it was not: in whole blocks of the disk
  int64_t written_bytes = 0;
  double seconds = 0;
};

class AsyncWriter {
 public:
  explicit AsyncWriter(double retry_seconds = 2);
  // Waits for the write under way.
  ~AsyncWriter();
  AsyncWriter(const AsyncWriter&) = delete;
  AsyncWriter& operator=(const AsyncWriter&) = delete;

  void reserve(int64_t bytes);
  bool busy() const;
  // False: there was no memory for a copy, and training waited.
  bool submit(const NamedTensors& state, std::vector<SaveTarget> targets);
  // Checkpoints and files of weights that are not wanted any more.
  void remove(std::vector<std::string> paths);
  std::vector<SaveOutcome> take_outcomes();
  // Waits until everything is written, failed saves after one more attempt.
  void finish();

 private:
  struct Pending {
    SaveTarget target;
    bool failed = false;
  };
  void start();
  void loop();
  void write_all(std::unique_lock<std::mutex>& lock);
  SaveOutcome write(const SaveTarget& target);
  bool fresh() const;  // there is something that has not been tried

  const double retry_seconds_;
  mutable std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::thread thread_;
  Snapshot snapshot_;  // the writer's while writing_, the caller's otherwise
  int64_t reserve_bytes_ = 0;
  std::vector<Pending> pending_;
  std::vector<std::string> unwanted_;
  std::vector<SaveOutcome> outcomes_;
  bool writing_ = false, removing_ = false, retry_now_ = false, stop_ = false;
};

}  // namespace isochron
