// Files that came from the disk in the first epoch and from memory afterwards.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::rules {
namespace {

// What reading itself costs the CPU (page faults, copies), where the kernel's part of it is not known.
constexpr double kBytesPerCpuSecond = 1e9;

// Seconds of input that only the first epoch took, where every epoch read the same bytes and only the first had them
// from storage: whatever else it computed meanwhile (threads that spin do), the program did the same with them.
double of_same_reads(const Case& patient, double from_storage) {
  constexpr double kAlike = 1.5, kMost = 0.5;
  const auto asked = [&](size_t i) { return patient.growth(sample_key::read_chars, i); };
  const auto first = asked(0), usual = patient.usually(asked);
  if (!first || !usual || *first > kAlike * *usual || *usual > kAlike * *first || from_storage < kMost * *first)
    return 0;
  return patient.explained_by({Phase::input}).value_or(0);
}

}  // namespace

void input_cold_read(const Case& patient, std::vector<Finding>& findings) {
  if (patient.shape.symptom != Symptom::slow_first || !patient.watched()) return;
  const auto read = [&](size_t i) { return patient.growth(sample_key::read_bytes, i); };
  const auto first = read(0), later = patient.usually(read);
  if (!first || *first < 4e6 || *first < 4 * later.value_or(0)) return;
  const auto waited = [&](size_t i) { return patient.growth(sample_key::io_wait_seconds, i); };
  const double extra = patient.shape.extra_total;
  double seconds = std::max(patient.explained(waited), of_same_reads(patient, *first));
  double confidence = 0.85;
  if (seconds < 0.1 * extra) {
    // Delay accounting is often off. An idle CPU while bytes came from the disk says the same.
    const auto computing = [&](size_t i) { return computed_seconds(patient, i); };
    const auto cpu = computing(0), usual_cpu = patient.usually(computing);
    if (!cpu || !usual_cpu) return;
    const bool split = patient.growth(sample_key::system_seconds, size_t{0}).has_value();
    const double computed = std::max(0.0, *cpu - *usual_cpu - (split ? 0 : *first / kBytesPerCpuSecond));
    if (computed > 0.5 * extra) return;
    seconds = extra - computed;
    // A program that has no core is idle as well: somebody must have waited for the disk, or the kernel have copied.
    const auto pressed = [&](size_t i) { return patient.growth(sample_key::pressure_io_seconds, i); };
    if (const auto pressure = pressed(0)) {
      const auto kernel = [&](size_t i) { return patient.growth(sample_key::system_seconds, i); };
      const double copied = kernel(0).value_or(0) - patient.usually(kernel).value_or(0);
      seconds = std::min(seconds, *pressure - patient.usually(pressed).value_or(0) + std::max(copied, 0.0));
      if (seconds < 0.1 * extra) return;
    }
    confidence = 0.8;
  }
  Finding finding{Cause::input_cold_read, std::min(seconds, extra), confidence};
  finding.summary = fmt::format("epoch 1 read {} from disk, later epochs read from memory", bytes_text(*first));
  finding.evidence.push_back(fmt::format("{} read from storage in the first epoch, {} in a later one",
                                         bytes_text(*first), bytes_text(later.value_or(0))));
  if (const auto wait = waited(0))
    finding.evidence.push_back(fmt::format("{} spent waiting for block I/O in the first epoch", time_text(*wait)));
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
