// How much work the plans of this process hold.
#pragma once

namespace isochron {

// Float operations of one run of the largest plan compiled so far, as the ops' costs say: those of the model as
// written, whatever kernels save. A training step is the largest plan of a training program.
double largest_plan_flops();

}  // namespace isochron
