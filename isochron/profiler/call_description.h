// One call of a plan in a reader's words: "fused(greater, where) + sum" rather than "fused_reduce".
#pragma once

#include <string>

#include "isochron/exec/executable.h"

namespace isochron::profiler {

struct CallDescription {
  std::string name;
  std::string shapes;  // of the inputs: "[[32, 784], [784, 128], [128]]"
  std::string implementation;
  Phase phase = Phase::other;
  double flops = 0, bytes = 0;  // of one call
};

CallDescription describe_call(const Executable& plan, size_t call);

}  // namespace isochron::profiler
