// Checks that run inside a plan and stop it before any variable is updated.
//
//   Tensor loss = check_finite(mean(losses), "the loss of step 12");
//   loss = check_finite(loss, "loss", {{gradient, "the gradient of w"}});
#pragma once

#include <string>
#include <vector>

#include "isochron/ops/operand.h"

namespace isochron {

// A tensor that is looked at, and what errors call it.
struct Watched {
  Tensor tensor;
  std::string what;
};

// x itself. When it, or one of `also`, holds a NaN or an infinity, the evaluation that computes it throws NumericError
// naming what it was, and variables keep the values they had. It must be among the values computed. Of a product among
// `also` the factor computed last may be looked at in its place (passes: watched_factors).
Tensor check_finite(const Operand& x, const std::string& what, const std::vector<Watched>& also = {});

}  // namespace isochron
