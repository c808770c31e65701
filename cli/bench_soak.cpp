// isochron bench soak: a long training with logs and checkpoints, and what it takes epoch by epoch.
// isochron bench overhead: what the timeline, the watchdog and the progress line cost, and what the profiler does.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "cli/bench.h"
#include "isochron/base/clock.h"
#include "isochron/base/median.h"
#include "isochron/base/memory_info.h"

namespace isochron::cli {
namespace {

namespace fs = std::filesystem;

Sequential mlp() {
  Sequential model{Dense(128, {.activation = "relu"}), Dense(10)};
  model.compile({.optimizer = Adam(1e-3), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  return model;
}

double entries_of(const char* folder) {
  std::error_code error;
  return static_cast<double>(std::distance(fs::directory_iterator(folder, error), fs::directory_iterator()));
}

// Files and folders may go meanwhile: old checkpoints do.
double bytes_below(const fs::path& folder) {
  double bytes = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    if (entry->is_directory(gone))
      bytes += bytes_below(entry->path());
    else if (const auto size = entry->file_size(gone); !gone)
      bytes += static_cast<double>(size);
  }
  return bytes;
}

// What the process holds after each epoch. All memory is taken at the start, so that looking adds nothing.
class Ledger : public Callback {
 public:
  Ledger(std::string folder, int epochs) : folder_(std::move(folder)) {
    for (auto* list : {&epochs_ms, &rss_mb, &open_files, &threads, &disk_bytes}) {
      list->assign(static_cast<size_t>(epochs), 0);
      list->clear();
    }
  }
  void on_epoch_begin(int, const Logs&) override { begin_ns_ = monotonic_ns(); }
  void on_epoch_end(int, const Logs&) override {
    epochs_ms.push_back(seconds_between(begin_ns_, monotonic_ns()) * 1e3);
    rss_mb.push_back(static_cast<double>(exact_resident_bytes()) / (1 << 20));
    open_files.push_back(entries_of("/proc/self/fd") - 1);  // without the one that looks
    threads.push_back(entries_of("/proc/self/task"));
    disk_bytes.push_back(bytes_below(folder_));
  }
  std::vector<double> epochs_ms, rss_mb, open_files, threads, disk_bytes;

 private:
  std::string folder_;
  int64_t begin_ns_ = 0;
};

std::string list_text(const std::vector<double>& values, int digits) {
  std::string text;
  for (const double value : values) text += fmt::format("{}{:.{}f}", text.empty() ? "" : ", ", value, digits);
  return "[" + text + "]";
}

// Medians of the first tenth (without the first epoch) and of the last.
void print_trend(const char* what, const std::vector<double>& values, const char* unit) {
  if (values.size() < 3) return;
  const size_t part = std::max<size_t>(1, values.size() / 10);
  const double early = median_of({values.begin() + 1, values.begin() + 1 + static_cast<ptrdiff_t>(part)});
  const double late = median_of({values.end() - static_cast<ptrdiff_t>(part), values.end()});
  fmt::print("  {:<12} {:>12.3f} {:<3} at first, {:>12.3f} {:<3} at the end\n", what, early, unit, late, unit);
}

void soak(const std::string& folder, int epochs, bool json) {
  Sequential model = mlp();
  const auto ledger = std::make_shared<Ledger>(folder, epochs);
  model.fit(random_rows({1000, 784}), random_labels(1000, 10),
            {.epochs = epochs,
             .verbose = 0,
             .callbacks = {std::make_shared<CSVLogger>(folder + "/log.csv"),
                           std::make_shared<TensorBoard>(TensorBoard::Options{.log_dir = folder + "/tensorboard"}),
                           std::make_shared<ModelCheckpoint>(folder + "/checkpoints/{epoch:04d}",
                                                             ModelCheckpoint::Options{.period = 5, .keep_last = 3}),
                           ledger}});
  if (json) {
    fmt::print(
        "{{\"workload\": \"soak\", \"epochs_ms\": {}, \"rss_mb\": {}, \"open_files\": {}, \"threads\": {}, "
        "\"disk_bytes\": {}}}\n",
        list_text(ledger->epochs_ms, 4), list_text(ledger->rss_mb, 3), list_text(ledger->open_files, 0),
        list_text(ledger->threads, 0), list_text(ledger->disk_bytes, 0));
    return;
  }
  fmt::print("soak, {} epochs\n", epochs);
  print_trend("epoch", ledger->epochs_ms, "ms");
  print_trend("memory", ledger->rss_mb, "MB");
  print_trend("open files", ledger->open_files, "");
  print_trend("threads", ledger->threads, "");
  print_trend("on disk", ledger->disk_bytes, "B");
}

// While it lives, standard output leads nowhere.
class Silence {
 public:
  Silence() : kept_(::dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nowhere, STDOUT_FILENO);
    ::close(nowhere);
  }
  ~Silence() {
    std::fflush(stdout);
    ::dup2(kept_, STDOUT_FILENO);
    ::close(kept_);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  int kept_;
};

// Rounds of a few epochs in turn: bare, with everything that is on by default, and with the profiler as well. Each is
// compared with the bare one of its own round, by their fastest epochs: what other programs add is not ours. The order
// changes from round to round, and the median of all rounds counts.
void overhead(const std::string&, int rounds, bool json) {
  constexpr int kEpochs = 12, kSteps = 32;
  const Tensor x = random_rows({1000, 784}), y = random_labels(1000, 10);
  Sequential model = mlp();
  profiler::Profile profile({.max_events = 100'000});
  profile.stop();
  const std::array<FitOptions, 3> kinds{
      FitOptions{.verbose = 0, .timeline = false, .watchdog = {.action = OnStall::off}},
      FitOptions{.verbose = 1},
      FitOptions{.verbose = 1, .profiler = &profile},
  };
  std::vector<double> bare, services_of, profiler_of;  // by round: microseconds, shares of that
  {
    const Silence silence;
    const auto fastest_step = [&](FitOptions options) {
      options.epochs = kEpochs;
      int64_t begin = 0;
      double fastest = INFINITY;
      LambdaCallback::Hooks hooks;
      hooks.on_epoch_begin = [&](int, const Logs&) { begin = monotonic_ns(); };
      hooks.on_epoch_end = [&](int epoch, const Logs&) {
        if (epoch > 0) fastest = std::min(fastest, seconds_between(begin, monotonic_ns()) * 1e6 / kSteps);
      };
      options.callbacks = {std::make_shared<LambdaCallback>(std::move(hooks))};
      model.fit(x, y, std::move(options));
      return fastest;
    };
    for (size_t round = 0; round < static_cast<size_t>(rounds); ++round) {
      std::array<double, 3> step;
      for (size_t turn = 0; turn < kinds.size(); ++turn) {
        const size_t kind = (round + turn) % kinds.size();
        step[kind] = fastest_step(kinds[kind]);
      }
      bare.push_back(step[0]);
      services_of.push_back(step[1] / step[0] - 1);
      profiler_of.push_back((step[2] - step[1]) / step[0]);
    }
  }
  const double base = median_of(bare), services = median_of(services_of), profiler = median_of(profiler_of);
  if (json) {
    fmt::print(
        "{{\"workload\": \"overhead\", \"step_us\": {:.3f}, \"services_percent\": {:.3f}, \"profiler_percent\": "
        "{:.3f}}}\n",
        base, 100 * services, 100 * profiler);
    return;
  }
  fmt::print("mlp32, {} rounds of {} epochs in turn\n", rounds, kEpochs);
  fmt::print("  bare step                    {:9.1f} us\n", base);
  fmt::print("  services                     {:+9.2f} %   timeline, watchdog and progress\n", 100 * services);
  fmt::print("  profiler                     {:+9.2f} %\n", 100 * profiler);
}

const RegisteredStudies registered{{"soak", 1000, soak}, {"overhead", 60, overhead}};

}  // namespace
}  // namespace isochron::cli
