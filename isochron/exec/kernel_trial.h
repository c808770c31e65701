// Finds the quickest variant of each kernel of a plan while the plan runs. Variants give the same bits, so a run that
// tries them is a step like any other: it costs what the slower variants cost more, and nothing is computed twice.
// Plans that run a few times never try.
//
//   if (trial.timed()) calls run with trial.variant(i), and are timed
//   trial.ran(times);
//   if (trial.done()) trial.best(i)
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isochron/exec/plan_observer.h"

namespace isochron {

inline constexpr int kMostVariants = 4;

class KernelTrial {
 public:
  struct Candidate {
    size_t call;  // in the plan
    int variants;
    std::string key;
    std::array<int64_t, kMostVariants> shortest = {};  // ns of a call by variant; 0: not run yet
  };
  explicit KernelTrial(std::vector<Candidate> candidates);

  // Counts a run, and says whether its calls are to be timed.
  bool timed();
  std::span<const Candidate> candidates() const { return candidates_; }
  int variant(const Candidate& candidate) const { return round_ % candidate.variants; }
  void ran(const PlanTimes& times);
  bool done() const;
  int best(const Candidate& candidate) const;

 private:
  std::vector<Candidate> candidates_;
  int64_t runs_ = 0;
  int round_ = 0, rounds_ = 0;
};

}  // namespace isochron
