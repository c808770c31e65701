// TensorFlow 2.x may wait, at an epoch's end, for its autotune thread to wake up: such epochs end 10 ms * (2^k - 1)
// after they began, whatever they did. It comes and goes by chance, in healthy runs, too.
//
//   if (const auto pauses = tensorflow_pauses(patient)) …
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isochron/diagnose/case.h"

namespace isochron {

struct TensorflowPauses {
  std::vector<size_t> epochs;  // by position: slow ones that end when such a pause does
  size_t slow = 0;             // epochs in all
  double seconds = 0;          // beyond the usual
  std::string evidence;
};
// nullopt: another framework, or most slow epochs end at other times.
std::optional<TensorflowPauses> tensorflow_pauses(const Case& patient);

}  // namespace isochron
