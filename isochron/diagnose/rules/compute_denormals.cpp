// Arithmetic on numbers too small for the CPU's fast path: the same operations on the same sizes, many times slower.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::rules {
namespace {

// Operations whose cost depends on the values: on some CPUs square roots, logarithms and divisions only.
bool value_dependent(std::string_view name) {
  for (const std::string_view part : {"sqrt", "div", "log", "exp", "mul", "add", "pow", "lerp", "sigmoid", "tanh",
                                      "Sqrt", "Div", "Log", "Mul", "Add"})
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

double per_call(const ProfileOp& op) {
  return op_seconds(op) / static_cast<double>(std::max<int64_t>(op_count(op), 1));
}

bool by_profiles(const Case& patient, Finding& finding) {
  const auto windows = early_and_late(patient.run);
  if (!windows) return false;
  double slower = 0, others_early = 0, others_late = 0;
  const ProfileOp* worst = nullptr;
  double worst_ratio = 0;
  for (const ProfileOp& late : windows->late->ops) {
    const ProfileOp* early = find_op(*windows->early, late.name);
    if (!early || op_count(*early) == 0 || op_seconds(late) < 1e-4) continue;
    const double ratio = per_call(late) / std::max(per_call(*early), 1e-9);
    const bool same_size = late.elements.empty() || early->elements.empty() ||
                           std::abs(op_elements(late) / static_cast<double>(op_count(late)) /
                                        (op_elements(*early) / static_cast<double>(op_count(*early))) -
                                    1) < 0.1;
    if (value_dependent(late.name) && same_size && ratio > 2.5) {
      slower += (per_call(late) - per_call(*early)) * static_cast<double>(op_count(late));
      if (!worst || op_seconds(late) > op_seconds(*worst)) {
        worst = &late;
        worst_ratio = ratio;
      }
    } else {
      others_early += per_call(*early) * static_cast<double>(op_count(late));
      others_late += op_seconds(late);
    }
  }
  // Everything slower alike is the machine, not the numbers.
  if (!worst || slower < 0.2 * steps_total(*windows->late) || others_late > 2 * others_early) return false;
  const double steps = static_cast<double>(windows->late->steps.size());
  const double longer = steps_total(*windows->late) / steps -
                        steps_total(*windows->early) / static_cast<double>(windows->early->steps.size());
  finding.seconds = patient.shape.extra_total * std::clamp(slower / steps / std::max(longer, 1e-9), 0.3, 1.0);
  finding.confidence = 0.9;
  finding.evidence.push_back(
      fmt::format("{} takes {:.1f}x as long per call in the late trace as in the early one, on inputs of the same size",
                  worst->name, worst_ratio));
  finding.evidence.push_back(
      fmt::format("all other operations take {:.2f}x as long", others_early > 0 ? others_late / others_early : 1.0));
  return true;
}

// One trace only: a square root costs a few times a multiplication per element, not dozens.
bool by_one_profile(const Case& patient, Finding& finding) {
  for (const Profile& profile : patient.run.profiles) {
    double cheap_seconds = 0, cheap_elements = 0;
    for (const char* name : {"aten::mul_", "aten::add_", "aten::mul", "aten::addcmul_", "aten::lerp_"})
      if (const ProfileOp* op = find_op(profile, name); op && !op->elements.empty()) {
        cheap_seconds += op_seconds(*op);
        cheap_elements += op_elements(*op);
      }
    const ProfileOp* root = find_op(profile, "aten::sqrt");
    if (!root || root->elements.empty() || cheap_elements <= 0 || op_elements(*root) < 1e4) continue;
    const double ratio = op_seconds(*root) / op_elements(*root) / (cheap_seconds / cheap_elements);
    const double share = op_seconds(*root) / std::max(steps_total(profile), 1e-9);
    if (ratio < 15 || share < 0.2) continue;
    finding.seconds = patient.shape.extra_total * std::min(1.0, share * 1.2);
    finding.confidence = 0.6;
    finding.evidence.push_back(fmt::format(
        "aten::sqrt takes {:.0f}x as long per element as multiplications and additions, and {} of the traced time",
        ratio, percent_text(share)));
    return true;
  }
  return false;
}

// Watched: slow epochs compute longer, and places in memory that held other numbers are full of tiny ones.
bool by_memory(const Case& patient, Finding& finding) {
  constexpr double kLeastShare = 0.002;  // of the memory looked at
  const auto share = [&](size_t i) { return patient.average(sample_key::subnormal_share, i); };
  const auto computed = [&](size_t i) { return patient.growth(sample_key::cpu_seconds, i); };
  const auto slow = patient.slow_epochs();
  // Usual epochs may be too short for a look of their own: then the last one before the slow ones tells.
  const auto within = patient.usually(share), usual_cpu = patient.usually(computed);
  const auto usual = within ? within : patient.latest(sample_key::subnormal_share, patient.epoch(slow.front()).start);
  const auto last = share(slow.back()), last_cpu = computed(slow.back());
  if (!usual || !last || *last - *usual < kLeastShare || *last < 2 * *usual) return false;
  if (!usual_cpu || !last_cpu || *last_cpu < 1.3 * *usual_cpu) return false;
  // Numbers become tiny where they are. What fills ever more memory is new, and small integers look the same.
  constexpr double kMuchMemory = 20e6;
  if (const auto memory = memory_by_epoch(patient);
      memory_rises_on(patient) && memory.back() - memory.front() > kMuchMemory)
    return false;
  finding.seconds = 0.85 * patient.shape.extra_total;
  finding.confidence = 0.88;
  finding.evidence.push_back(
      fmt::format("{:.1f} % of the memory looked at in a slow epoch holds floats below 1e-38 and nothing else, {:.1f} "
                  "% in a usual one",
                  100 * *last, 100 * *usual));
  finding.evidence.push_back(
      fmt::format("a slow epoch used {} of CPU time, a usual one {}", time_text(*last_cpu), time_text(*usual_cpu)));
  return true;
}

bool by_counters(const Case& patient, Finding& finding) {
  const auto assists = [&](size_t i) { return patient.growth(sample_key::fp_assists, i); };
  const auto slow = patient.slow_epochs();
  const auto usual = patient.usually(assists);
  if (usual && assists(slow.back()) && *assists(slow.back()) > 1e5 && *assists(slow.back()) > 10 * *usual) {
    finding.seconds = 0.8 * patient.shape.extra_total;
    finding.confidence = 0.9;
    finding.evidence.push_back(fmt::format("{:.0f} floating-point assists in a slow epoch, {:.0f} in a usual one",
                                           *assists(slow.back()), *usual));
    return true;
  }
  // The same instructions in more cycles, while the training thread has its core.
  const auto cycles_per = [&](size_t i) -> std::optional<double> {
    const auto instructions = patient.growth(sample_key::instructions, i),
               cycles = patient.growth(sample_key::cycles, i);
    return instructions && cycles && *instructions > 0 ? std::optional<double>(*cycles / *instructions) : std::nullopt;
  };
  const auto usual_cycles = patient.usually(cycles_per), slow_cycles = cycles_per(slow.back());
  const auto instructions = [&](size_t i) { return patient.growth(sample_key::instructions, i); };
  if (!usual_cycles || !slow_cycles || *slow_cycles < 1.5 * *usual_cycles) return false;
  if (*instructions(slow.back()) > 1.2 * patient.usually(instructions).value_or(0)) return false;
  finding.seconds = 0.8 * patient.shape.extra_total;
  finding.confidence = 0.6;
  finding.evidence.push_back(
      fmt::format("as many instructions as before take {:.1f}x the cycles", *slow_cycles / *usual_cycles));
  return true;
}

}  // namespace

void compute_denormals(const Case& patient, std::vector<Finding>& findings) {
  if (patient.shape.symptom != Symptom::slower_later && patient.shape.symptom != Symptom::slowing) return;
  Finding finding{Cause::compute_denormals};
  if (!by_profiles(patient, finding) && !by_one_profile(patient, finding) && !by_memory(patient, finding) &&
      !by_counters(patient, finding))
    return;
  finding.summary = "arithmetic became slow on numbers close to zero (denormals)";
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
