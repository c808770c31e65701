// TensorFlow waits for its own autotune thread at the end of epochs.
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/tensorflow_pauses.h"

namespace isochron::rules {

void tensorflow_padding(const Case& patient, std::vector<Finding>& findings) {
  const auto pauses = tensorflow_pauses(patient);
  if (!pauses) return;
  Finding finding{Cause::wait_lock, pauses->seconds, pauses->epochs.size() >= 3 ? 0.75 : 0.55};
  finding.summary = "TensorFlow waits for its own autotune thread at the end of epochs";
  finding.evidence.push_back(pauses->evidence);
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
