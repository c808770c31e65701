// Epochs that take longer because they do more: more steps, examples, tokens, or larger inputs.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::rules {
namespace {

std::optional<double> tokens_of(const Case& patient, size_t i) {
  const auto metric = patient.epoch(i).metrics.find("tokens");
  return metric == patient.epoch(i).metrics.end() ? std::nullopt : std::optional<double>(metric->second);
}

// "img_size=72", "seq_len 512", "res: 160": the side of an image, or the length of a sequence, of which attention costs
// the square as well. Other things have sizes, too.
bool names_length(const std::string& metric) {
  const auto words = words_of(metric);
  const auto any = [&](std::initializer_list<std::string_view> wanted) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return std::find(wanted.begin(), wanted.end(), word) != wanted.end();
    });
  };
  return any({"len", "length", "seqlen", "maxlen", "size", "imgsz", "res", "resolution", "px", "pixels", "crop",
              "side"}) &&
         !any({"batch", "buffer", "replay", "memory", "queue", "vocab", "model", "file", "cache", "loss", "grad"});
}
std::optional<double> size_by_length(const Case& patient, size_t i) {
  for (const auto& [name, value] : patient.epoch(i).metrics)
    if (names_length(name)) return value * value;
  return std::nullopt;
}
std::optional<double> as_number(const std::optional<int64_t>& count) {
  return count ? std::optional<double>(static_cast<double>(*count)) : std::nullopt;
}

struct WorkUnit {
  const char* name;
  std::optional<double> (*of)(const Case& patient, size_t epoch);
};
// What says most about the work of an epoch comes first.
constexpr WorkUnit kWorkUnits[] = {
    {"tokens", tokens_of},
    {"examples", [](const Case& patient, size_t i) { return as_number(patient.epoch(i).examples); }},
    {"steps", [](const Case& patient, size_t i) { return as_number(patient.epoch(i).steps); }},
    {"elements in an example", size_by_length},
    {"elements in an example", told_size},
};

// Early and late windows with the same operations on larger inputs.
bool work_by_profiles(const Case& patient, Finding& finding) {
  const auto windows = early_and_late(patient.run);
  if (!windows) return false;
  double early_elements = 0, late_elements = 0, early_count = 0, late_count = 0;
  for (const ProfileOp& late : windows->late->ops) {
    const ProfileOp* early = find_op(*windows->early, late.name);
    if (!early) continue;
    early_count += static_cast<double>(op_count(*early));
    late_count += static_cast<double>(op_count(late));
    if (late.elements.empty() || early->elements.empty()) continue;
    early_elements += op_elements(*early);
    late_elements += op_elements(late);
  }
  const double early_steps = static_cast<double>(windows->early->steps.size()),
               late_steps = static_cast<double>(windows->late->steps.size());
  const double grown = early_elements > 0 ? late_elements / late_steps / (early_elements / early_steps) : 0;
  const double calls = early_count > 0 ? late_count / late_steps / (early_count / early_steps) : 0;
  const double slower = steps_total(*windows->late) / late_steps / (steps_total(*windows->early) / early_steps);
  if (grown < 1.3 || calls > 1.5 || calls < 0.6 || slower < 1.2) return false;
  finding.seconds = patient.shape.extra_total * std::clamp(std::log(grown) / std::log(slower), 0.3, 0.95);
  finding.confidence = 0.85;
  finding.evidence.push_back(
      fmt::format("between the two traces a step runs the same operations ({:.2f}x as many) on inputs {:.1f}x as large "
                  "and takes {:.1f}x as long",
                  calls, grown, slower));
  return true;
}

// Watched: forward and backward passes grow alike, in CPU time too. From epoch to epoch only work does; at once numbers
// close to zero do as well, and others on the cores, for which there are rules of their own.
bool by_growing_steps(const Case& patient, Finding& finding) {
  const Symptom symptom = patient.shape.symptom;
  const bool gradual = symptom == Symptom::slowing;
  if ((!gradual && symptom != Symptom::slower_later) || !forward_grows_alike(patient)) return false;
  const auto steps = patient.explained_by({Phase::forward, Phase::backward, Phase::update});
  const auto cpu = [&](size_t i) { return patient.growth(sample_key::cpu_seconds, i); };
  const auto first = gradual ? cpu(0) : patient.usually(cpu), last = cpu(patient.epochs().size() - 1);
  if (!steps || *steps < 0.6 * patient.shape.extra_total || !first || !last || *last < 1.5 * *first) return false;
  finding.seconds = *steps;
  finding.confidence = gradual ? 0.75 : 0.6;
  finding.evidence.push_back(
      fmt::format("forward and backward passes grow alike; the last epoch used {} of CPU time, {} {}", time_text(*last),
                  gradual ? "the first" : "a usual one", time_text(*first)));
  return true;
}

// Watched: from one epoch on the backward pass takes longer, and the forward pass as long as before. Slower numbers and
// slower cores would show in both; more of the model is trained.
bool by_longer_backward(const Case& patient, Finding& finding) {
  constexpr double kLeast = 0.05, kAsBefore = 1.35, kLonger = 2;  // kLeast: seconds, below which looks are too few
  if (patient.shape.symptom != Symptom::slower_later) return false;
  const auto slow = patient.slow_epochs();
  struct Pass {
    double usual, late = 0;
  };
  const auto pass = [&](Phase which) -> std::optional<Pass> {
    const auto usual = patient.usually([&](size_t i) { return patient.phase(i, which).value_or(0); });
    if (!usual) return std::nullopt;
    Pass out{*usual};
    for (const size_t i : slow) out.late += patient.phase(i, which).value_or(0) / static_cast<double>(slow.size());
    return out;
  };
  const auto forward = pass(Phase::forward), backward = pass(Phase::backward);
  const auto longer = patient.explained_by({Phase::backward});
  if (!forward || !backward || !longer || *longer < 0.6 * patient.shape.extra_total) return false;
  if (forward->usual < kLeast || forward->late > kAsBefore * forward->usual) return false;
  if (backward->late < kLonger * std::max(kLeast, backward->usual)) return false;
  finding.seconds = *longer;
  finding.confidence = 0.7;
  finding.evidence.push_back(fmt::format(
      "backward passes take {} an epoch, usually {}, and forward passes {}, usually {}: more of the model is "
      "trained, as when layers are unfrozen",
      time_text(backward->late), time_text(backward->usual), time_text(forward->late), time_text(forward->usual)));
  return true;
}

}  // namespace

void compute_more_work(const Case& patient, std::vector<Finding>& findings) {
  const Symptom symptom = patient.shape.symptom;
  if (symptom == Symptom::healthy || patient.shape.extra_total <= 0) return;
  Finding finding{Cause::compute_more_work};
  work_by_profiles(patient, finding);
  for (const WorkUnit& unit : kWorkUnits) {
    const auto usual = patient.usually([&](size_t i) { return unit.of(patient, i); });
    // A trend has no usual epochs but its first.
    const auto base = symptom == Symptom::slowing || !usual ? unit.of(patient, 0) : usual;
    if (!base || *base <= 0) continue;
    double seconds = 0, slow_work = 0;
    size_t slow = 0;
    for (const size_t i : patient.slow_epochs()) {
      const auto work = unit.of(patient, i);
      if (!work) continue;
      seconds += std::clamp((*work / *base - 1) * patient.shape.usual, 0.0, patient.shape.extra[i]);
      slow_work += *work;
      ++slow;
    }
    if (slow == 0 || seconds < 0.25 * patient.shape.extra_total) continue;
    finding.seconds = std::max(finding.seconds, seconds);
    finding.confidence = 0.9;
    finding.evidence.push_back(fmt::format("slow epochs have {:.0f} {} on average, {:.1f}x as many as usual",
                                           slow_work / static_cast<double>(slow), unit.name,
                                           slow_work / static_cast<double>(slow) / *base));
    break;
  }
  if (finding.evidence.empty() && symptom == Symptom::slower_later) {
    for (const Fact* fact : patient.facts("work.changed")) {
      const int changed = patient.epoch(patient.shape.change).index;
      if (fact->epoch != changed && fact->epoch != changed - 1 && !(fact->epoch == 0 && fact->time)) continue;
      if (fact->epoch == 0 && fact->time &&
          std::abs(*fact->time - patient.epoch(patient.shape.change).start) > patient.shape.usual)
        continue;
      finding.seconds = 0.6 * patient.shape.extra_total;
      finding.confidence = 0.5;
      if (const auto computed = patient.explained_by({Phase::forward, Phase::backward, Phase::update});
          computed && *computed > 0.5 * patient.shape.extra_total) {
        finding.seconds = *computed;
        finding.confidence = 0.88;
        finding.evidence.push_back(
            fmt::format("slow epochs spend {} more on the steps themselves", time_text(*computed)));
      }
      finding.evidence.push_back(
          fmt::format("where the epochs become slower the log says \"{}\" ({})", fact->value, fact->source));
      break;
    }
  }
  if (finding.evidence.empty() && !by_growing_steps(patient, finding)) by_longer_backward(patient, finding);
  if (finding.evidence.empty()) return;
  finding.summary = fmt::format("the slow epochs do more work, which explains {} of the extra time",
                                percent_text(std::min(1.0, finding.seconds / patient.shape.extra_total)));
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
