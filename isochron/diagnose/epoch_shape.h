// The shape of a run's epoch times: even, a slow first one, a trend, a step up, or some that stand out.
//
//   EpochShape shape = shape_of({16.6, 0.32, 0.33, 0.35});
//   shape.symptom;         // Symptom::slow_first
//   shape.usual;           // 0.33: what an epoch costs without the trouble
//   shape.extra[0];        // 16.3 s more than usual
//
// Looks at durations only; what they were spent on is the rules' business. Where the first epoch is shorter than
// the later ones the shape is slower_later (or slowing): no start-up cost can explain it.
#pragma once

#include <cstddef>
#include <vector>

#include "isochron/diagnose/verdict.h"

namespace isochron {

struct EpochShape {
  Symptom symptom = Symptom::healthy;  // healthy, slow_first, slowing, slower_later or uneven
  double usual = 0;
  std::vector<double> extra;  // above usual, by epoch; zero where it is none
  double extra_total = 0;
  size_t change = 0;           // slower_later: position of the first slow epoch
  double ratio = 1;            // slow epochs against usual ones
  double first_overhead = 0;   // the first epoch against the later usual ones, whatever the symptom; may be negative
  bool first_is_slow = false;  // true beside another symptom as well

  bool slow(size_t position) const { return position < extra.size() && extra[position] > 0; }
};

// `resolution`: by so much each of the times may be off; empty: they are exact.
EpochShape shape_of(const std::vector<double>& seconds, const std::vector<double>& resolution = {});

}  // namespace isochron
