// Checks that run inside a plan and stop it before any variable is updated.
//
//   Tensor loss = check_finite(mean(losses), "the loss of step 12");
#pragma once

#include <string>

#include "isochron/ops/operand.h"

namespace isochron {

// x itself. When it holds a NaN or an infinity, the evaluation that computes it throws NumericError naming `what`, and
// variables keep the values they had. It must be among the values computed.
Tensor check_finite(const Operand& x, const std::string& what);

}  // namespace isochron
