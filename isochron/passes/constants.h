// Numbers known while compiling. A splat is a tensor of one number: a constant, or one broadcast to a shape.
#pragma once

#include <optional>
#include <span>

#include "isochron/passes/rewriter.h"

namespace isochron {

// The one number all elements of a value have, rounded to its dtype; nullopt when they are not known to be equal.
std::optional<double> splat_of(const Graph& graph, ValueId v);

// A value of this spec whose elements are all `number`.
ValueId add_splat(Rewriter& rewriter, double number, const TensorSpec& spec, ValueId like);

// The number as the dtype stores it.
double rounded(double number, DType dtype);

// What the op's kernel gives for these numbers of dtype `in`, as a number of dtype `out`. Only for ops whose result
// IEEE or integer arithmetic fixes to the last bit; nullopt for others, and for integers a double can't hold.
std::optional<double> fold(const Op& op, std::span<const double> numbers, DType in, DType out);

}  // namespace isochron
