#include "isochron/train/slowdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "isochron/base/median.h"
#include "isochron/diagnose/diagnose.h"

namespace isochron {
namespace {

// Fewer epochs or shorter ones are noise.
constexpr size_t kLeastEpochs = 5;
constexpr double kWorthNaming = 1.25, kLeastSeconds = 0.05;

// The last third of the epochs against the first third; the first epoch of all is a case of its own.
bool became_slower(const std::vector<Epoch>& epochs) {
  if (epochs.size() < kLeastEpochs) return false;
  const size_t third = (epochs.size() - 1) / 3;
  std::vector<double> early, late;
  for (size_t i = 1; i < epochs.size(); ++i) {
    if (i <= third) early.push_back(epochs[i].seconds);
    if (i >= epochs.size() - third) late.push_back(epochs[i].seconds);
  }
  const double before = median_of(early), after = median_of(late);
  return after > kWorthNaming * before && after - before > kLeastSeconds;
}

}  // namespace

std::string note_slowdown(RunRecord& run) {
  if (!became_slower(run.epochs)) return "";
  const std::vector<Verdict> verdicts = diagnose(run);
  const Verdict& first = verdicts.front();
  if (first.symptom == Symptom::healthy || first.symptom == Symptom::slow_first) return "";
  std::string text = fmt::format("epochs became slower ({}): {}", name_of(first.cause), first.summary);
  if (!first.fix.empty()) text += ". " + first.fix;
  run.facts.push_back({"slowdown", text, "diagnose", {}, 0});
  return text;
}

}  // namespace isochron
