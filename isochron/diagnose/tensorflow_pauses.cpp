#include "isochron/diagnose/tensorflow_pauses.h"

#include <fmt/core.h>

#include <cmath>

namespace isochron {
namespace {

bool ends_with_a_pause(const Epoch& epoch) {
  constexpr double kFirst = 0.01, kOff = 0.025;  // seconds, and the share by which a time may miss
  constexpr double kShortest = 6;                // pauses: 0.63 s
  const double power = std::round(std::log2(epoch.seconds / kFirst + 1));
  const double expected = kFirst * (std::exp2(power) - 1);
  // Whole seconds of a log meet every value.
  return power >= kShortest && epoch.resolution <= kOff * expected &&
         std::abs(epoch.seconds - expected) <= kOff * expected;
}

}  // namespace

std::optional<TensorflowPauses> tensorflow_pauses(const Case& patient) {
  if (!patient.tensorflow() || patient.shape.symptom == Symptom::healthy ||
      patient.shape.symptom == Symptom::slow_first)
    return std::nullopt;
  TensorflowPauses pauses;
  std::string times;
  for (const size_t i : patient.slow_epochs()) {
    ++pauses.slow;
    if (!ends_with_a_pause(patient.epoch(i))) continue;
    pauses.epochs.push_back(i);
    pauses.seconds += patient.shape.extra[i];
    times += fmt::format("{}{:.2f}", times.empty() ? "" : ", ", patient.epoch(i).seconds);
  }
  // One epoch in fifteen meets such a value by chance; most of several do not.
  if (pauses.epochs.size() < 2 || pauses.epochs.size() * 3 < pauses.slow * 2) return std::nullopt;
  pauses.evidence =
      fmt::format("{} of {} slow epochs take {} s, which are 0.01 * (2^k - 1): the pauses of tf.data's autotune thread",
                  pauses.epochs.size(), pauses.slow, times);
  return pauses;
}

}  // namespace isochron
