// Weights initialised inside the first step, expensively.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"

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

// Watched: a line of the model itself, on which forward passes of the first epoch spent most of the time that later
// ones do not need, and which those never reach: what a layer does when it is first called.
bool by_line_of_first_pass(const Case& patient, std::vector<Finding>& findings) {
  std::map<std::string, double> first;
  for (const OwnLine& line : own_lines(patient, "forward"))
    if (line.epoch == patient.epoch(0).index) first[line.place] += line.seconds;
  for (const OwnLine& line : own_lines(patient, "forward"))
    if (line.epoch != patient.epoch(0).index) first.erase(line.place);
  const auto most = std::max_element(first.begin(), first.end(), [](auto& a, auto& b) { return a.second < b.second; });
  if (most == first.end() || most->second < 0.5 * patient.shape.extra_total) return false;
  Finding finding{Cause::startup_init, std::min(most->second, patient.shape.extra_total), 0.65};
  finding.summary = fmt::format("the first forward pass prepared something for {}", time_text(most->second));
  finding.evidence.push_back(
      fmt::format("{} of forward passes at {}, which no later epoch reached", time_text(most->second), most->first));
  findings.push_back(std::move(finding));
  return true;
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
  if (patient.torch() && by_line_of_first_pass(patient, findings)) return;
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
