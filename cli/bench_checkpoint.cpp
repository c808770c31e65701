// isochron bench checkpoint: what saving a model of 400 MB (1.2 GB with Adam) costs the training that goes on, and how
// close the writer comes to what the disk can do.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/bench.h"
#include "isochron/base/clock.h"
#include "isochron/base/median.h"
#include "isochron/base/rng.h"

namespace isochron::cli {
namespace {

// As `dd conv=fsync` does: through the page cache, then synced. MB/s.
double disk_speed(const std::string& path, int64_t bytes) {
  std::vector<uint32_t> block(size_t{2} << 20);
  fill_bits(block.data(), {.seed = 3, .stream = 0}, 0, static_cast<int64_t>(block.size()));
  const int64_t begin = monotonic_ns();
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  int64_t done = 0;
  while (fd >= 0 && done < bytes) {
    const ssize_t written = ::write(fd, block.data(), block.size() * sizeof(uint32_t));
    if (written <= 0) break;
    done += written;
  }
  const bool good = fd >= 0 && done >= bytes && ::fsync(fd) == 0;
  const double seconds = seconds_between(begin, monotonic_ns());
  if (fd >= 0) ::close(fd);
  ::unlink(path.c_str());
  if (!good) fail<FileError>("bench", "{}: could not write {} bytes", path, bytes);
  return static_cast<double>(done) * 1e-6 / seconds;
}

// The time from the end of one step to the end of the next, saves between them included.
class StepClock : public Callback {
 public:
  std::vector<double> ms;  // by step
  void clear() {
    ms.clear();
    last_ = 0;
  }
  void between_steps(TrainRun& run) override {
    if (run.epoch_ended()) return;
    const int64_t now = monotonic_ns();
    if (last_) ms.push_back(seconds_between(last_, now) * 1e3);
    last_ = now;
  }

 private:
  int64_t last_ = 0;
};

void checkpoint(const std::string& folder, int saves, bool json) {
  Sequential model{Input({4096}), Dense(8192, {.activation = "relu"}), Dense(8192, {.activation = "relu"}), Dense(10)};
  model.compile({.optimizer = Adam(1e-4), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  const int64_t weights = model.count_params() * 4, bytes = 3 * weights;
  std::vector<double> disk{disk_speed(folder + "/raw", bytes)};
  const Tensor x = random_rows({16, 4096}), y = random_labels(16, 10);
  const auto clock = std::make_shared<StepClock>();
  model.fit(x, y, {.epochs = 6, .batch_size = 16, .verbose = 0, .callbacks = {clock}});
  // Steps between saves: enough for one to be written and for as many without any.
  const double write_ms = static_cast<double>(bytes) * 1e-3 / disk[0];
  const int every = std::clamp(static_cast<int>(2.5 * write_ms / median_of(clock->ms)), 8, 40);
  clock->clear();
  int64_t saved_bytes = 0;
  const auto saving = std::make_shared<ModelCheckpoint>(
      folder + "/state", ModelCheckpoint::Options{.save_freq = every, .on_saved = [&](const CheckpointInfo& info) {
                                                    saved_bytes = info.bytes;
                                                  }});
  // The clock comes first: what a save takes belongs to the step after it.
  const History history = model.fit(
      x, y, {.epochs = saves * every + every / 2, .batch_size = 16, .verbose = 0, .callbacks = {clock, saving}});
  disk.push_back(disk_speed(folder + "/raw", bytes));
  // clock->ms[i] ends with step i + 2; saves come after steps every, 2 every, …
  const auto half = static_cast<size_t>(every) / 2;
  std::vector<double> quiet, stalls, next, extra;
  for (size_t i = 1; i < clock->ms.size(); ++i)
    if ((i + 1) % static_cast<size_t>(every) >= half) quiet.push_back(clock->ms[i]);
  const double step_ms = median_of(quiet);
  for (size_t i = static_cast<size_t>(every) - 1; i + half < clock->ms.size(); i += static_cast<size_t>(every)) {
    double more = 0;
    for (size_t k = 0; k < half; ++k) more += clock->ms[i + k] - step_ms;
    extra.push_back(more);
    stalls.push_back(clock->ms[i] - step_ms);
    next.push_back(clock->ms[i + 1]);
  }
  const CheckpointSummary& summary = history.checkpoints();
  const double save_speed = static_cast<double>(summary.bytes) * 1e-6 / summary.write_seconds;
  // The first one may have to wait for the memory of the copy.
  const double stall_ms = median_of(stalls), first_ms = stalls.empty() ? 0 : stalls.front();
  const double copy_ms = summary.stall_seconds * 1e3 / static_cast<double>(std::max<int64_t>(1, summary.saved));
  const double disk_speed_median = median_of(disk);
  if (json) {
    fmt::print(
        "{{\"workload\": \"checkpoint\", \"save_mb_per_s\": {:.1f}, \"disk_mb_per_s\": {:.1f}, \"stall_ms\": {:.2f}, "
        "\"step_ms\": {:.2f}, \"next_step_ms\": {:.2f}, \"extra_ms\": {:.2f}, \"first_stall_ms\": {:.2f}, \"copy_ms\": "
        "{:.2f}, \"saves\": {}, \"state_mb\": {:.1f}, "
        "\"weights_mb\": {:.1f}}}\n",
        save_speed, disk_speed_median, stall_ms, step_ms, median_of(next), median_of(extra), first_ms, copy_ms,
        summary.saved, static_cast<double>(saved_bytes) * 1e-6, static_cast<double>(weights) * 1e-6);
    return;
  }
  fmt::print("{} saves of {:.0f} MB (weights {:.0f} MB, Adam) on {} threads\n", summary.saved,
             static_cast<double>(saved_bytes) * 1e-6, static_cast<double>(weights) * 1e-6, get_num_threads());
  fmt::print("  step                         {:9.1f} ms\n", step_ms);
  fmt::print("  training stands for a save   {:9.1f} ms\n", stall_ms);
  fmt::print("  of it for the copy           {:9.1f} ms\n", copy_ms);
  fmt::print("  for the first one            {:9.1f} ms\n", first_ms);
  fmt::print("  the step after that          {:9.1f} ms\n", median_of(next));
  fmt::print("  all a save adds to training  {:9.1f} ms\n", median_of(extra));
  fmt::print("  written, fsync included      {:9.0f} MB/s\n", save_speed);
  fmt::print("  the disk alone, like dd      {:9.0f} MB/s\n", disk_speed_median);
}

const RegisteredStudies registered{{"checkpoint", 4, checkpoint}};

}  // namespace
}  // namespace isochron::cli
