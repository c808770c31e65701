// TensorFlow 2.x may wait, at an epoch's end, for its autotune thread to wake up: such epochs end 10 ms * (2^k - 1)
// after they began, whatever they did.
#include <fmt/core.h>

#include <cmath>

#include "isochron/diagnose/rules.h"

namespace isochron::rules {

void tensorflow_padding(const Case& patient, std::vector<Finding>& findings) {
  if (!patient.tensorflow() || patient.shape.symptom == Symptom::healthy ||
      patient.shape.symptom == Symptom::slow_first)
    return;
  const auto slow = patient.slow_epochs();
  size_t padded = 0;
  double seconds = 0;
  std::string values;
  for (const size_t i : slow) {
    const double time = patient.epoch(i).seconds;
    const double power = std::round(std::log2(time / 0.01 + 1));
    const double expected = 0.01 * (std::exp2(power) - 1);
    if (power < 6 || std::abs(time - expected) > 0.025 * expected + patient.epoch(i).resolution) continue;
    ++padded;
    seconds += patient.shape.extra[i];
    values += fmt::format("{}{:.2f}", values.empty() ? "" : ", ", time);
  }
  // One epoch in thirty meets such a value by chance; most of several do not.
  if (padded < 2 || padded * 3 < slow.size() * 2) return;
  Finding finding{Cause::wait_lock, seconds, padded >= 3 ? 0.75 : 0.55};
  finding.summary = "TensorFlow waits for its own autotune thread at the end of epochs";
  finding.evidence.push_back(
      fmt::format("{} of {} slow epochs take {} s, which are 0.01 * (2^k - 1): the pauses of tf.data's autotune thread",
                  padded, slow.size(), values));
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
