#include "isochron/diagnose/own_time.h"

#include <algorithm>

#include "isochron/diagnose/case.h"
#include "isochron/diagnose/whole_run.h"
#include "isochron/timeline/sample_keys.h"

namespace isochron {
namespace {

constexpr double kBusy = 0.3;   // share of the cores that others use in usual epochs
constexpr double kWaits = 0.1;  // share of the epochs' time without a core, below which nothing is to be mended

// Epochs shrink to their own time; what lies between them keeps its length.
class Warp {
 public:
  Warp(const RunRecord& run, const std::vector<double>& factors) {
    double cut = 0;
    for (size_t i = 0; i < run.epochs.size(); ++i) {
      const Epoch& epoch = run.epochs[i];
      const double begin = std::max(epoch.start, pieces_.empty() ? epoch.start : pieces_.back().end);
      const double end = std::max(begin, epoch.start + epoch.seconds);
      pieces_.push_back({begin, end, begin - cut, factors[i]});
      cut += (end - begin) * (1 - factors[i]);
    }
  }
  double operator()(double time) const {
    const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), time,
                                        [](double t, const Piece& piece) { return t < piece.begin; });
    if (after == pieces_.begin()) return time;
    const Piece& piece = *std::prev(after);
    return piece.to + (std::min(time, piece.end) - piece.begin) * piece.factor + std::max(0.0, time - piece.end);
  }

 private:
  struct Piece {
    double begin, end, to, factor;
  };
  std::vector<Piece> pieces_;
};

}  // namespace

std::optional<RunRecord> in_own_time(const RunRecord& run) {
  const Case patient(run);
  const auto others = cores_of_others(patient);
  const double cpus = patient.highest(sample_key::cpus, 0, 1e18).value_or(2);
  if (!patient.watched() || !others || *others < kBusy * cpus) return std::nullopt;
  std::vector<double> factors;
  double waited = 0;
  for (size_t i = 0; i < run.epochs.size(); ++i) {
    const auto still = standing_still(patient, i);
    if (!still) return std::nullopt;
    factors.push_back(1 - *still);
    waited += *still * run.epochs[i].seconds;
  }
  if (waited < kWaits * patient.total) return std::nullopt;
  const Warp warp(run, factors);
  RunRecord own = run;
  for (size_t i = 0; i < own.epochs.size(); ++i) {
    Epoch& epoch = own.epochs[i];
    epoch.start = warp(epoch.start);
    epoch.seconds *= factors[i];
    for (double& seconds : epoch.phases) seconds *= factors[i];
    for (std::optional<double>* part :
         {&epoch.validation_seconds, &epoch.first_step_seconds, &epoch.input_seconds, &epoch.tail_seconds})
      if (*part) **part *= factors[i];
  }
  for (Sample& sample : own.samples) {
    sample.time = warp(sample.time);
    for (const char* key : {sample_key::run_delay_seconds, sample_key::other_cpu_seconds}) sample.values.erase(key);
  }
  for (Span& span : own.spans) {
    const double end = warp(span.start + span.seconds);
    span.start = warp(span.start);
    span.seconds = end - span.start;
  }
  for (Fact& fact : own.facts)
    if (fact.time) fact.time = warp(*fact.time);
  return own;
}

}  // namespace isochron
