// What the doctor says: a symptom, its causes by the time they explain, evidence, and the way out.
//
//   for (const Verdict& v : diagnose(run)) fmt::print("{}: {}\n", name_of(v.cause), v.summary);
//
// The ids (name_of) are stable: they stand in JSON, in docs/causes.md and in the labelled runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isochron {

enum class Symptom : uint8_t { healthy, slow_first, slowing, slower_later, uneven, slow_overall, stuck, died };
inline constexpr int kSymptomCount = static_cast<int>(Symptom::died) + 1;

enum class Cause : uint8_t {
  none,
  unknown,
  startup_import,
  startup_graph,
  startup_init,
  input_cold_read,
  input_shuffle_fill,
  input_cache_fill,
  input_worker_start,
  input_bound,
  compute_retrace,
  compute_more_work,
  compute_denormals,
  compute_profiler,
  memory_graph_growth,
  memory_leak,
  memory_swap,
  memory_oversized,
  disk_checkpoint,
  disk_temp_growth,
  disk_full,
  disk_logging,
  machine_contention,
  machine_throttled,
  machine_clock,
  wait_worker,
  wait_lock,
  wait_io,
  wait_peer,
  resume_skip,
  train_validation,
  train_callback,
};
inline constexpr int kCauseCount = static_cast<int>(Cause::train_callback) + 1;

std::string_view name_of(Symptom symptom);  // "slow-first", …
std::string_view name_of(Cause cause);      // "startup.graph", …
std::optional<Symptom> symptom_from_name(std::string_view name);
std::optional<Cause> cause_from_name(std::string_view name);

struct Verdict {
  Symptom symptom = Symptom::healthy;
  Cause cause = Cause::none;
  double share = 0;  // of the extra time (slow-overall: of all time), 0 to 1; the shares of all verdicts add up to <= 1
  double confidence = 0;              // 0 to 1
  std::string summary;                // one sentence with numbers
  std::vector<std::string> evidence;  // lines that can be checked; never empty, except for Cause::unknown
  std::string fix;                    // what to do, for the framework at hand

  // Healthy for want of anything else: no epoch with a time, and no error.
  bool undecided() const { return symptom == Symptom::healthy && confidence == 0; }
};

std::string_view tag_of(const Verdict& verdict);  // its symptom, or that it is undecided

}  // namespace isochron
