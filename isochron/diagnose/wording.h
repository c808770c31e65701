// The sentences of verdicts that no single rule writes: the shape of a run, a healthy one, and what is not explained.
#pragma once

#include <string>

#include "isochron/diagnose/case.h"
#include "isochron/diagnose/verdict.h"

namespace isochron {

// "epoch 1 took 17 s, 51.1x the 324 ms of the next ones": how the epochs lie, as a symptom sees them.
std::string shape_text(const Case& patient, Symptom symptom);

// Nothing is wrong, or there is nothing to judge by (Verdict::undecided).
Verdict healthy_verdict(const Case& patient);

// What no rule explains: its share of the extra time, where it lies, and which command would find out.
Verdict unknown_verdict(const Case& patient, Symptom symptom, double share);

}  // namespace isochron
