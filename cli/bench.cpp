// isochron bench WORKLOAD: one workload, timed the way bench/run.py compares it with its peers.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "cli/bench.h"
#include "cli/bench_pipeline.h"
#include "cli/command.h"
#include "isochron/base/clock.h"
#include "isochron/base/files.h"
#include "isochron/base/joined.h"
#include "isochron/base/median.h"
#include "isochron/base/memory_info.h"
#include "isochron/base/names.h"
#include "isochron/base/rng.h"
#include "isochron/exec/plan_flops.h"
#include "isochron/isochron.h"
#include "isochron/profiler/machine_peak.h"

namespace isochron::cli {
namespace {

struct {
  std::string workload;
  int threads = 0;
  int epochs = 0;
  std::string folder;
  bool json = false;
  bool no_timeline = false;
  bool profile = false;
  std::string trace, record;
  bool estimate = false;
} options;
// While a workload is profiled.
std::unique_ptr<profiler::Profile> profile;

// Notes when the first step was done and how long each epoch took.
class Clock : public Callback {
 public:
  explicit Clock(BenchResult& result) : result_(result) {}
  void on_epoch_begin(int, const Logs&) override { epoch_start_ = monotonic_ns(); }
  void on_epoch_end(int, const Logs&) override {
    const int64_t now = monotonic_ns();
    result_.epochs_ms.push_back(seconds_between(epoch_start_, now) * 1e3);
    // Looking at every page takes half a millisecond and leaves little in the caches for the next epoch.
    constexpr int64_t kGapNs = 50'000'000;
    if (now - rss_read_ > kGapNs) {
      rss_ = static_cast<double>(exact_resident_bytes()) / (1 << 20);
      rss_read_ = now;
    }
    result_.rss_by_epoch.push_back(rss_);
  }
  void on_train_batch_end(int64_t, const Logs&) override {
    if (!result_.first_step_ns) result_.first_step_ns = monotonic_ns();
  }

 private:
  BenchResult& result_;
  int64_t epoch_start_ = 0, rss_read_ = 0;
  double rss_ = 0;
};

std::vector<BenchWorkload>& workloads() {
  static std::vector<BenchWorkload> all;
  return all;
}

std::vector<BenchStudy>& studies() {
  static std::vector<BenchStudy> all;
  return all;
}

}  // namespace

Tensor random_rows(const Shape& shape) {
  return initializers::random_uniform({.minval = 0, .maxval = 1, .seed = 1})(shape);  // by all threads
}

Tensor random_labels(int64_t rows, int64_t classes) {
  std::vector<int64_t> values(static_cast<size_t>(rows));
  fill_integers(values.data(), {.seed = 2, .stream = 0}, 0, rows, int64_t{0}, classes);
  return Tensor::from_buffer(std::move(values), {rows});
}

BenchResult bench_train(Model& model, const Tensor& x, const Tensor& y, int64_t batch, int epochs) {
  BenchResult result;
  // Lists that double would look like memory that grows.
  result.epochs_ms.reserve(static_cast<size_t>(epochs));
  result.rss_by_epoch.reserve(static_cast<size_t>(epochs));
  const int64_t steps = (x.shape()[0] + batch - 1) / batch;
  if (options.estimate) {
    const Estimate estimate = model.estimate(x, y, {.epochs = epochs, .batch_size = batch});
    if (estimate.epoch_seconds) result.estimated_step_us = *estimate.epoch_seconds * 1e6 / static_cast<double>(steps);
  }
  const History history = model.fit(x, y,
                                    {.epochs = epochs,
                                     .batch_size = batch,
                                     .verbose = 0,
                                     .callbacks = {std::make_shared<Clock>(result)},
                                     .timeline = !options.no_timeline,
                                     .profiler = profile.get(),
                                     .watchdog = {.action = options.no_timeline ? OnStall::off : OnStall::warn}});
  if (!options.record.empty()) history.save_record(options.record);
  const std::vector<double> later(result.epochs_ms.begin() + (result.epochs_ms.size() > 1 ? 1 : 0),
                                  result.epochs_ms.end());
  result.step_us = median_of(later) * 1e3 / static_cast<double>(steps);
  for (const Epoch& epoch : history.record().epochs)
    for (const Phase phase : {Phase::build, Phase::trace, Phase::compile})
      result.compile_ms += epoch.phases[static_cast<size_t>(phase)] * 1e3;
  return result;
}

RegisteredWorkloads::RegisteredWorkloads(std::initializer_list<BenchWorkload> some) {
  workloads().insert(workloads().end(), some);
}

RegisteredStudies::RegisteredStudies(std::initializer_list<BenchStudy> some) {
  studies().insert(studies().end(), some);
}

namespace {

BenchResult mlp(int64_t batch, int epochs) {
  Sequential model{Dense(128, {.activation = "relu"}), Dense(10)};
  model.compile({.optimizer = Adam(1e-3), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  return bench_train(model, random_rows({1000, 784}), random_labels(1000, 10), batch, epochs);
}

BenchResult linreg(int epochs) {
  Sequential model{Dense(1)};
  model.compile({.optimizer = SGD(0.01), .loss = "mse"});
  return bench_train(model, tensor({{1.f}, {2.f}, {3.f}}), tensor({{2.f}, {4.f}, {6.f}}), 3, epochs);
}

// Many narrow layers: what building and compiling costs.
BenchResult deep(int layers, int epochs) {
  Sequential model;
  for (int i = 0; i < layers; ++i) model.add(Dense(16, {.activation = "tanh"}));
  model.add(Dense(1));
  model.compile({.optimizer = Adam(1e-3), .loss = "mse"});
  return bench_train(model, random_rows({8, 16}), random_rows({8, 1}), 8, epochs);
}

const RegisteredWorkloads registered_workloads{{"mlp32", 12, [](int epochs) { return mlp(32, epochs); }},
                                               {"mlp1", 4, [](int epochs) { return mlp(1, epochs); }},
                                               {"linreg", 10, linreg},
                                               {"deep100", 3, [](int epochs) { return deep(100, epochs); }},
                                               {"deep300", 3, [](int epochs) { return deep(300, epochs); }},
                                               {"deep1000", 3, [](int epochs) { return deep(1000, epochs); }}};

std::vector<std::string_view> workload_names() {
  std::vector<std::string_view> names;
  for (const BenchWorkload& workload : workloads()) names.push_back(workload.name);
  for (const BenchPipeline& pipeline : pipelines()) names.push_back(pipeline.name);
  for (const BenchStudy& study : studies()) names.push_back(study.name);
  return names;
}

void add_options(Arguments& arguments) {
  arguments.value("WORKLOAD", options.workload, fmt::format("one of {}", joined(workload_names())), true)
      .value("--threads", options.threads, "threads (0: all CPUs)")
      .value("--epochs", options.epochs, "epochs, or passes of a pipeline (0: as many as the workload usually takes)")
      .value("--folder", options.folder, "where pipelines keep the files they make (default: a temporary folder)")
      .flag("--no-timeline", options.no_timeline,
            "keep no record of where the time goes and let nobody watch, to measure what both cost")
      .flag("--profile", options.profile, "profile the training and print what each op costs")
      .value("--trace", options.trace, "the same, and write a trace for chrome://tracing or Perfetto")
      .value("--record", options.record, "write the run record, for `isochron report` and `isochron compare`")
      .flag("--estimate", options.estimate, "first ask model.estimate(), to measure how near it comes")
      .flag("--json", options.json, "print one line of JSON")
      .footer(
          "step_us is the median over the epochs after the first of an epoch's time divided by its steps. The share of "
          "peak counts the operations of the model as written, whatever the kernels save, against multiply-adds in "
          "registers on as many threads.");
}

// Options that would change nothing are refused.
void check_options(bool by_fit, bool keeps_files) {
  const std::pair<const char*, bool> of_fit[] = {{"--no-timeline", options.no_timeline},
                                                 {"--profile", options.profile},
                                                 {"--trace", !options.trace.empty()},
                                                 {"--record", !options.record.empty()},
                                                 {"--estimate", options.estimate}};
  for (const auto& [name, given] : of_fit)
    if (given && !by_fit) fail<ValueError>("bench", "{} has no {}: it does not train by fit()", options.workload, name);
  if (!options.folder.empty() && !keeps_files)
    fail<ValueError>("bench", "{} has no --folder: it makes no files", options.workload);
}

int run() {
  if (options.threads > 0) set_num_threads(options.threads);
  for (const std::string& file : {options.trace, options.record})
    if (!file.empty()) check_writable(file);
  const std::string& w = options.workload;
  const TempFolder temporary;
  const std::string& folder = options.folder.empty() ? temporary.path() : options.folder;
  for (const BenchStudy& study : studies()) {
    if (study.name != w) continue;
    check_options(false, true);
    study.run(folder, options.epochs > 0 ? options.epochs : study.usual_epochs, options.json);
    return exit_code::success;
  }
  for (const BenchPipeline& pipeline : pipelines()) {
    if (pipeline.name != w) continue;
    check_options(false, true);
    print_pipeline(w, pipeline.run(folder, options.epochs > 0 ? options.epochs : pipeline.usual_passes), options.json);
    return exit_code::success;
  }
  const auto found = std::find_if(workloads().begin(), workloads().end(),
                                  [&](const BenchWorkload& workload) { return workload.name == w; });
  if (found == workloads().end())
    fail<ValueError>("bench", "unknown workload \"{}\"{}", w, did_you_mean(w, workload_names()));
  check_options(found->by_fit, false);
  if (options.profile || !options.trace.empty()) profile = std::make_unique<profiler::Profile>();
  const BenchResult result = found->run(options.epochs > 0 ? options.epochs : found->usual_epochs);
  const double rss = static_cast<double>(resident_bytes()) / (1 << 20);
  if (profile && !options.trace.empty()) profile->export_chrome_trace(options.trace);
  const double flops = largest_plan_flops(), peak = profiler::peak_flops();
  const double share = peak > 0 ? 100 * flops / (result.step_us * 1e-6) / peak : 0;
  if (options.json) {
    const auto list = [](const std::vector<double>& values) {
      std::string text;
      for (double value : values) text += fmt::format("{}{:.4f}", text.empty() ? "" : ", ", value);
      return "[" + text + "]";
    };
    std::string evaluated = result.evaluated_ns ? fmt::format(", \"accuracy\": {:.4f}, \"evaluated_monotonic_ns\": {}",
                                                              result.accuracy, result.evaluated_ns)
                                                : "";
    if (options.estimate) evaluated += fmt::format(", \"estimated_step_us\": {:.3f}", result.estimated_step_us);
    fmt::print(
        "{{\"workload\": \"{}\", \"threads\": {}, \"first_step_monotonic_ns\": {}, \"epochs_ms\": {}, \"step_us\": "
        "{:.3f}, \"compile_ms\": {:.3f}, \"rss_mb\": {:.2f}, \"rss_by_epoch_mb\": {}, \"step_gflop\": {:.4f}, "
        "\"peak_gflop_per_s\": {:.1f}, \"percent_of_peak\": {:.1f}{}}}\n",
        w, get_num_threads(), result.first_step_ns, list(result.epochs_ms), result.step_us, result.compile_ms, rss,
        list(result.rss_by_epoch), flops * 1e-9, peak * 1e-9, share, evaluated);
    return exit_code::success;
  }
  const std::vector<double> later(result.epochs_ms.begin() + 1, result.epochs_ms.end());
  fmt::print("{} on {} threads\n", w, get_num_threads());
  fmt::print("  process start to first step  {:9.2f} ms\n",
             seconds_between(process_start_ns(), result.first_step_ns) * 1e3);
  fmt::print("  first epoch                  {:9.2f} ms\n", result.epochs_ms.front());
  if (!later.empty()) fmt::print("  later epochs, median         {:9.2f} ms\n", median_of(later));
  fmt::print("  step                         {:9.1f} us", result.step_us);
  share > 0 ? fmt::print(", {:.1f} % of peak ({:.3f} of {:.1f} GFLOP/s)\n", share,
                         flops * 1e-3 / std::max(result.step_us, 1e-9), peak * 1e-9)
            : fmt::print("\n");
  if (options.estimate) fmt::print("  step as estimated            {:9.1f} us\n", result.estimated_step_us);
  fmt::print("  build, trace and compile     {:9.2f} ms\n", result.compile_ms);
  if (result.evaluated_ns)
    fmt::print("  process start to accuracy    {:9.2f} ms ({:.2f} %)\n",
               seconds_between(process_start_ns(), result.evaluated_ns) * 1e3, result.accuracy * 100);
  fmt::print("  resident memory              {:9.1f} MB\n", rss);
  if (profile) fmt::print("\n{}", profile->key_averages().table({.sort_by = "cpu_time_total", .row_limit = 25}));
  return exit_code::success;
}

const Registered registered{{"bench", "time one workload", add_options, run}};

}  // namespace
}  // namespace isochron::cli
