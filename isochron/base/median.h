// The middle of some measurements: what is usual, whatever a few outliers did.
#pragma once

#include <vector>

namespace isochron {

// The mean of the two in the middle when their number is even; 0 of none.
double median_of(std::vector<double> values);

}  // namespace isochron
