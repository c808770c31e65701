// Graphs that grow: backward passes that walk those of earlier steps too, sessions of TensorFlow 1 whose graph gets
// more ops in every step.
#include <fmt/core.h>

#include <algorithm>

#include "isochron/diagnose/profile_view.h"
#include "isochron/diagnose/rules.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron::rules {
namespace {

// The nodes of autograd are named after what they differentiate: "EmbeddingBackward0".
bool is_backward_node(const ProfileOp& op) {
  const size_t at = op.name.find("Backward");
  return at != std::string::npos && at > 0 && op.name.find("evaluate_function") == std::string::npos &&
         op.name.find("::") == std::string::npos;
}

bool by_profiles(const Case& patient, Finding& finding) {
  for (const Profile& profile : patient.run.profiles) {
    if (profile.steps.size() < 3) continue;
    std::vector<double> nodes(profile.steps.size(), 0);
    const ProfileOp* most = nullptr;
    for (const ProfileOp* op : ops_where(profile, is_backward_node)) {
      for (size_t i = 0; i < nodes.size(); ++i) nodes[i] += static_cast<double>(op->counts[i]);
      if (growth_of({op->counts.begin(), op->counts.end()}).steady && (!most || op_count(*op) > op_count(*most)))
        most = op;
    }
    const Growth growth = growth_of(nodes);
    if (!growth.steady || growth.first < 1 || !most) continue;
    if (patient.unit.traced && !growth.even) continue;  // batches of different lengths
    // A step of its own would have as many nodes as the growth per step; all above are other steps'.
    const double own = (growth.last - growth.first) / static_cast<double>(nodes.size() - 1);
    if (own < 1 || growth.last < 2 * own) continue;
    finding.seconds = patient.shape.extra_total * std::clamp(1 - own / growth.last, 0.3, 0.97);
    finding.confidence = 0.93;
    finding.evidence.push_back(
        fmt::format("backward nodes per step grow from {:.0f} to {:.0f} within {} traced steps ({}: {} to {})",
                    growth.first, growth.last, nodes.size(), most->name, most->counts.front(), most->counts.back()));
    return true;
  }
  return false;
}

// A session goes through its graph before it runs a part of it that is new.
bool by_sessions(const Case& patient, Finding& finding) {
  const std::vector<OwnLine> runs = own_lines(patient, "session.run");
  const auto spent = patient.explained_by({Phase::forward});
  if (runs.empty() || !spent || *spent < 0.6 * patient.shape.extra_total || work_grows(patient)) return false;
  const auto most = std::max_element(runs.begin(), runs.end(),
                                     [](const OwnLine& a, const OwnLine& b) { return a.seconds < b.seconds; });
  finding.seconds = *spent;
  finding.confidence = 0.8;
  finding.evidence.push_back(fmt::format("session.run takes {} more than at first for as many steps, most of it at {}",
                                         time_text(*spent), most->place));
  finding.summary = "ops are added to the graph while it trains, and session.run goes through all of them";
  return true;
}

}  // namespace

void memory_graph_growth(const Case& patient, std::vector<Finding>& findings) {
  if (patient.shape.symptom != Symptom::slowing && patient.shape.symptom != Symptom::slower_later) return;
  Finding finding{Cause::memory_graph_growth};
  if (patient.shape.symptom == Symptom::slowing && by_sessions(patient, finding)) {
    findings.push_back(std::move(finding));
    return;
  }
  if (!by_profiles(patient, finding)) {
    // What is kept grows from epoch to epoch; a jump, and level after it, is more work.
    const auto slow = patient.slow_epochs();
    std::vector<double> seconds;
    for (const size_t i : slow) seconds.push_back(patient.epoch(i).seconds);
    const Growth growth = growth_of(seconds);
    if (patient.shape.symptom == Symptom::slower_later && !(growth.steady && growth.last > 1.2 * growth.first)) return;
    const auto backward = patient.explained_by({Phase::backward});
    if (!backward || *backward < 0.5 * patient.shape.extra_total || work_grows(patient)) return;
    if (forward_grows_alike(patient)) return;
    // Graphs that are kept need memory: without more of it, from the first epoch's end on, only the machine got slower.
    const Epoch &first = patient.epochs().front(), &last = patient.epochs().back();
    const auto memory = patient.growth(sample_key::rss_bytes, first.start + first.seconds, last.start + last.seconds);
    constexpr double kLeastGrowth = 2e6;
    if (memory && *memory < kLeastGrowth) return;
    finding.seconds = *backward;
    finding.confidence = 0.85;
    finding.evidence.push_back(fmt::format("the backward pass alone took {} more than at first", time_text(*backward)));
    if (memory && *memory > 20e6) finding.evidence.push_back(fmt::format("memory grew by {}", bytes_text(*memory)));
  }
  finding.summary = "each backward pass goes through the graphs of earlier steps as well";
  findings.push_back(std::move(finding));
}

}  // namespace isochron::rules
