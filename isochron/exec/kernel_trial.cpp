#include "isochron/exec/kernel_trial.h"

#include <algorithm>

#include "isochron/base/error.h"

namespace isochron {
namespace {

// A plan that ran this often is likely to run as often again, and then the trial has paid.
constexpr int64_t kRunsBefore = 32;
constexpr int kTimesEach = 5;
// What a variant must save of a call to be taken instead of the model's choice; less may be noise.
constexpr double kLeastGain = 0.03;
constexpr int64_t kLeastGainNs = 500;

}  // namespace

KernelTrial::KernelTrial(std::vector<Candidate> candidates) : candidates_(std::move(candidates)) {
  for (const Candidate& candidate : candidates_) {
    ISO_CHECK(candidate.variants <= kMostVariants);
    rounds_ = std::max(rounds_, candidate.variants * kTimesEach);
  }
}

bool KernelTrial::timed() { return ++runs_ > kRunsBefore && !done(); }

void KernelTrial::ran(const PlanTimes& times) {
  for (Candidate& candidate : candidates_) {
    int64_t begin = INT64_MAX, end = 0;
    for (int thread = 0; thread < times.threads; ++thread) {
      if (times.end(thread, candidate.call) == 0) continue;
      begin = std::min(begin, times.begin(thread, candidate.call));
      end = std::max(end, times.end(thread, candidate.call));
    }
    int64_t& shortest = candidate.shortest[static_cast<size_t>(variant(candidate))];
    if (end) shortest = shortest == 0 ? end - begin : std::min(shortest, end - begin);
  }
  ++round_;
}

bool KernelTrial::done() const { return round_ >= rounds_; }

int KernelTrial::best(const Candidate& candidate) const {
  const auto& times = candidate.shortest;
  const auto quickest = std::min_element(times.begin(), times.begin() + candidate.variants);
  const int64_t gain = times[0] - *quickest;
  const bool worth = gain >= kLeastGainNs && static_cast<double>(gain) >= kLeastGain * static_cast<double>(times[0]);
  return worth ? static_cast<int>(quickest - times.begin()) : 0;
}

}  // namespace isochron
