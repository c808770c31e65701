#include "isochron/diagnose/steps_as_epochs.h"

#include <algorithm>

namespace isochron {
namespace {

// `stride`: so many steps one reading stands for.
StepParts in_parts(const RunRecord& run, const std::vector<Step>& steps, size_t most, double stride = 1) {
  StepParts parts{.run = run, .unit = {.word = "step"}, .readings = steps.size()};
  const size_t group = parts.together = (steps.size() + most - 1) / most;
  double start = 0;
  for (size_t i = 0; i < steps.size(); i += group) {
    Epoch part;
    part.index = static_cast<int>(parts.run.epochs.size()) + 1;
    part.start = start;
    double input = 0, count = 0;
    for (size_t k = i; k < std::min(i + group, steps.size()); ++k) {
      part.seconds += stride * steps[k].seconds;
      input += stride * steps[k].input_seconds.value_or(0);
      ++count;
    }
    // The last group may be smaller; all parts stand for as many steps.
    part.seconds *= static_cast<double>(group) / count;
    if (input > 0) part.input_seconds = input * static_cast<double>(group) / count;
    start += part.seconds;
    parts.run.epochs.push_back(part);
  }
  return parts;
}

// So many steps lie between two readings, if it is always the same number.
double stride_of(const std::vector<Step>& readings) {
  const int64_t stride = readings[1].index - readings[0].index;
  const auto other = [&](const Step& a, const Step& b) { return b.index - a.index != stride; };
  const bool even = std::adjacent_find(readings.begin(), readings.end(), other) == readings.end();
  return even && stride > 0 ? static_cast<double>(stride) : 1;
}

// How long they waited for input the rules ask the traces.
std::vector<Step> traced_steps(const RunRecord& run) {
  std::vector<const Profile*> profiles;
  for (const Profile& profile : run.profiles) profiles.push_back(&profile);
  std::stable_sort(profiles.begin(), profiles.end(),
                   [](const Profile* a, const Profile* b) { return a->start < b->start; });
  std::vector<Step> steps;
  for (const Profile* profile : profiles)
    for (const Step& step : profile->steps) {
      steps.push_back(step);
      steps.back().input_seconds.reset();
    }
  return steps;
}

}  // namespace

std::optional<StepParts> parts_of_log(const RunRecord& run) {
  constexpr size_t kFewest = 6, kMost = 12;  // readings of a log stand for many steps each
  if (run.steps.size() < kFewest) return std::nullopt;
  const double stride = stride_of(run.steps);
  StepParts parts = in_parts(run, run.steps, kMost, stride);
  parts.unit.count = static_cast<double>(parts.together) * stride;
  for (size_t i = 0; i < parts.run.epochs.size(); ++i)
    parts.run.epochs[i].index = static_cast<int>(run.steps[i * parts.together].index);
  return parts;
}

std::optional<StepParts> parts_of_traces(const RunRecord& run) {
  constexpr size_t kMost = 50;  // a trace shows every step, the first may be special
  const std::vector<Step> steps = traced_steps(run);
  if (steps.empty()) return std::nullopt;
  StepParts parts = in_parts(run, steps, kMost);
  parts.unit.traced = true;
  if (parts.together > 1) parts.unit.word = "part";
  return parts;
}

}  // namespace isochron
