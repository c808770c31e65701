// Reductions over axes (all of them when none are given); negative axes count from the end.
//
//   mean(x);  sum(x, 0);  max(x, {-2, -1}, /*keepdims=*/true);
#pragma once

#include <vector>

#include "isochron/ops/operand.h"

namespace isochron {

using Axes = std::vector<int64_t>;  // for a list that is made up step by step

// Sums and products of integers and bools are int64.
Tensor sum(const Operand& x, const AxisList& axes = {}, bool keepdims = false);
Tensor mean(const Operand& x, const AxisList& axes = {}, bool keepdims = false);
Tensor prod(const Operand& x, const AxisList& axes = {}, bool keepdims = false);
Tensor max(const Operand& x, const AxisList& axes = {}, bool keepdims = false);
Tensor min(const Operand& x, const AxisList& axes = {}, bool keepdims = false);
Tensor any(const Operand& x, const AxisList& axes = {}, bool keepdims = false);
Tensor all(const Operand& x, const AxisList& axes = {}, bool keepdims = false);
// Index (int64) of the first largest or smallest element along one axis.
Tensor argmax(const Operand& x, int64_t axis = -1, bool keepdims = false);
Tensor argmin(const Operand& x, int64_t axis = -1, bool keepdims = false);

// Population variance; `correction` 1 gives the sample variance.
Tensor var(const Operand& x, const AxisList& axes = {}, bool keepdims = false, double correction = 0);
Tensor std(const Operand& x, const AxisList& axes = {}, bool keepdims = false, double correction = 0);
Tensor logsumexp(const Operand& x, const AxisList& axes = {}, bool keepdims = false);
// The p-norm of the elements; p may be infinite, and 0 counts those that are not 0.
Tensor norm(const Operand& x, double p = 2, const AxisList& axes = {}, bool keepdims = false);

}  // namespace isochron
