#include "cli/bench_pipeline.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "isochron/base/clock.h"
#include "isochron/base/error.h"
#include "isochron/base/memory_info.h"
#include "isochron/base/threads.h"

namespace isochron::cli {
namespace {

std::vector<BenchPipeline>& registered() {
  static std::vector<BenchPipeline> all;
  return all;
}

double mega(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// What lies ready, and the batch in the consumer's hands.
int64_t buffer_bytes(const data::PipelineReport& report, int64_t batch_bytes) {
  int64_t bytes = 2 * batch_bytes;
  for (const data::ThreadsReport& group : report.threads) bytes += group.window * group.slot_bytes;
  return bytes;
}

double ms_since(int64_t start) { return seconds_between(start, monotonic_ns()) * 1e3; }

}  // namespace

RegisteredPipelines::RegisteredPipelines(std::initializer_list<BenchPipeline> some) {
  registered().insert(registered().end(), some);
}
const std::vector<BenchPipeline>& pipelines() { return registered(); }

PipelineResult time_passes(int passes, const std::function<data::Dataset()>& make, int64_t kept_bytes) {
  PipelineResult result;
  const int64_t before = exact_resident_bytes();
  int64_t batch_bytes = 0, pass_bytes = 0;
  int64_t start = monotonic_ns();
  const data::Dataset dataset = make();
  for (int pass = 0; pass < passes; ++pass) {
    if (pass > 0) start = monotonic_ns();
    int64_t elements = 0;
    for (const data::Element& batch : dataset) {
      if (pass == 0 && elements == 0) result.first_batch_ms = ms_since(start);
      elements += batch[0].shape()[0];
      batch_bytes = std::max(batch_bytes, batch.bytes());
      if (pass == 0) pass_bytes += batch.bytes();
    }
    result.passes_ms.push_back(ms_since(start));
    result.elements = elements;
  }
  result.rss_mb = mega(peak_resident_bytes());
  result.expected_mb =
      mega(before + (kept_bytes < 0 ? pass_bytes : kept_bytes) + buffer_bytes(dataset.report(), batch_bytes));
  return result;
}

void print_pipeline(std::string_view name, const PipelineResult& result, bool json) {
  std::vector<double> sorted = result.passes_ms;
  std::sort(sorted.begin(), sorted.end());
  const double per_second = static_cast<double>(result.elements) / (sorted[sorted.size() / 2] / 1e3);
  if (json) {
    fmt::print(
        "{{\"workload\": \"{}\", \"threads\": {}, \"first_batch_ms\": {:.3f}, \"passes_ms\": [{:.3f}], "
        "\"elements_per_s\": {:.1f}, \"rss_mb\": {:.1f}, \"expected_mb\": {:.1f}}}\n",
        name, get_num_threads(), result.first_batch_ms, fmt::join(result.passes_ms, ", "), per_second, result.rss_mb,
        result.expected_mb);
    return;
  }
  fmt::print("{} on {} threads\n", name, get_num_threads());
  fmt::print("  first batch      {:10.2f} ms\n", result.first_batch_ms);
  fmt::print("  passes           {:10.1f} ms\n", fmt::join(result.passes_ms, ", "));
  fmt::print("  elements a second{:10.0f}\n", per_second);
  fmt::print("  resident memory  {:10.1f} MB at most ({:.1f} for program, data and buffers)\n", result.rss_mb,
             result.expected_mb);
}

}  // namespace isochron::cli
