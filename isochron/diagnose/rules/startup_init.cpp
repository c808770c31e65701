// Weights initialised inside the first step, expensively.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"

namespace isochron::rules {
namespace {

bool initialises(const ProfileOp& op) {
  for (const std::string_view part :
       {"linalg_qr", "geqrf", "orgqr", "orthogonal", "normal_", "uniform_", "erfinv", "linalg_svd", "triu", "tril",
        "RandomStandardNormal", "RandomUniform", "StatelessRandomNormal", "StatelessRandomUniform",
        "StatelessTruncatedNormal", "TruncatedNormal", "Qr"})
    if (op.name.find(part) != std::string::npos) return true;
  return op.phase == Phase::init;
}

}  // namespace

void startup_init(const Case& patient, std::vector<Finding>& findings) {
  if (patient.shape.symptom != Symptom::slow_first) return;
  const double extra = patient.shape.extra_total;
  if (const auto seconds = patient.explained_by({Phase::init}); seconds && *seconds > 0.1 * extra) {
    Finding finding{Cause::startup_init, *seconds, 0.9};
    finding.summary = fmt::format("initialising weights took {} of the first epoch", time_text(*seconds));
    finding.evidence.push_back(
        fmt::format("{} of the first epoch were spent initialising, none of the later ones", time_text(*seconds)));
    for (std::string& line : patient.spans_text({Phase::init})) finding.evidence.push_back(std::move(line));
    findings.push_back(std::move(finding));
    return;
  }
  for (const Profile& profile : patient.run.profiles) {
    if (!starts_cold(profile)) continue;
    double seconds = 0;
    const ProfileOp* largest = nullptr;
    for (const ProfileOp* op : ops_where(profile, initialises)) {
      if (op->seconds[0] < 0.5 * op_seconds(*op)) continue;  // dropout draws random numbers in every step
      seconds += op->seconds[0];
      if (!largest || op->seconds[0] > largest->seconds[0]) largest = op;
    }
    if (!largest || seconds < 0.2 * profile.steps[0].seconds) continue;
    // The copies and temporaries around it belong to it, as far as the first step is longer than the others.
    const double copies = find_op(profile, "aten::copy_") ? find_op(profile, "aten::copy_")->seconds[0] : 0;
    Finding finding{Cause::startup_init, std::min(seconds + copies, extra), 0.9};
    finding.summary = fmt::format("the first step initialised weights for {} ({})", time_text(seconds), largest->name);
    finding.evidence.push_back(fmt::format("{} took {} in the first traced step and {} in all others together",
                                           largest->name, time_text(largest->seconds[0]),
                                           time_text(op_seconds(*largest) - largest->seconds[0])));
    finding.evidence.push_back(fmt::format("the first traced step took {}, the next {}",
                                           time_text(profile.steps[0].seconds), time_text(profile.steps[1].seconds)));
    findings.push_back(std::move(finding));
    return;
  }
}

}  // namespace isochron::rules
