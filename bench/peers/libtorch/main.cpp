// The libtorch peer: --workload W --threads N --epochs E, prints the same JSON line as `isochron bench`.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "models.h"

namespace {

int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

double resident_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmRSS:") {
      double kilobytes = 0;
      status >> kilobytes;
      return kilobytes / 1024;
    }
  return 0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// One pass over the shuffled rows; every loss is fetched, and the time of the very first kept.
void run_epoch(Work& work, int64_t* first_step_ns) {
  const torch::Tensor order = torch::randperm(work.rows());
  const torch::Tensor x = work.x.index_select(0, order);
  const torch::Tensor y = work.y.index_select(0, order);
  for (int64_t start = 0; start < work.rows(); start += work.batch) {
    work.optimizer->zero_grad();
    const torch::Tensor loss = work.loss(work.cut(x, start), y.slice(0, start, start + work.batch));
    loss.backward();
    work.optimizer->step();
    loss.item<float>();
    if (first_step_ns && start == 0) *first_step_ns = monotonic_ns();
  }
}

int run(const std::string& name, int threads, int epochs) {
  at::set_num_threads(threads);
  Work work = make_work(name);
  std::vector<double> epochs_ms;
  int64_t first_step_ns = 0;
  double first_step_ms = 0;
  for (int epoch = 0; epoch < (epochs ? epochs : work.default_epochs); ++epoch) {
    const int64_t start = monotonic_ns();
    run_epoch(work, epoch == 0 ? &first_step_ns : nullptr);
    epochs_ms.push_back(static_cast<double>(monotonic_ns() - start) / 1e6);
    if (epoch == 0) first_step_ms = static_cast<double>(first_step_ns - start) / 1e6;
  }
  std::vector<double> later(epochs_ms.begin() + (epochs_ms.size() > 1 ? 1 : 0), epochs_ms.end());
  const double step_ms = median(later) / static_cast<double>(work.steps());
  std::printf("{\"workload\": \"%s\", \"threads\": %d, \"first_step_monotonic_ns\": %ld, \"epochs_ms\": [",
              name.c_str(), threads, static_cast<long>(first_step_ns));
  for (size_t i = 0; i < epochs_ms.size(); ++i) std::printf("%s%.4f", i ? ", " : "", epochs_ms[i]);
  std::printf(
      "], \"step_us\": %.2f, \"compile_ms\": %.3f, \"rss_mb\": %.1f, \"peer\": \"libtorch\", \"version\": \"%s\"}\n",
      step_ms * 1000, std::max(0.0, first_step_ms - step_ms), resident_mb(), TORCH_VERSION);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string workload = "mlp32";
  int threads = 1, epochs = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--json") continue;  // the only output there is; accepted like ours
    if (++i == argc) {
      std::fprintf(stderr, "%s needs a value\n", option.c_str());
      return 2;
    }
    if (option == "--workload") workload = argv[i];
    if (option == "--threads") threads = std::atoi(argv[i]);
    if (option == "--epochs") epochs = std::atoi(argv[i]);
  }
  try {
    return run(workload, threads, epochs);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
