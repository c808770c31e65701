// In-place changes of variables: when their bytes may be overwritten, and what becomes of those who hold the old ones.
#pragma once

#include "isochron/tensor/tensor.h"

namespace isochron {

// A variable whose pending value was computed gets a leaf with it.
void become_leaf(TensorState& variable);
// Computes what the variable was assigned, also where another thread did and left it pending.
void settle(const std::shared_ptr<TensorState>& variable);

// Bytes of the variable that may be overwritten: its own if nobody else can see them, a copy put in their place
// otherwise.
void* writable_bytes(TensorState& variable);
// The variable's bytes were overwritten: values built from the old ones can't be computed any more.
void bytes_overwritten(TensorState& variable);

// Gives a variable, and the gradient that backward() left it, another floating dtype. backward() refuses to
// go on from what was computed before, and plans that were traced with it fit no more (TracedPlan).
void convert(const Variable& variable, DType dtype);
// How many there were: plans from before the last one must look at their variables.
int64_t conversions_of_variables();

// Gives a variable the value of a tensor of its spec, at once.
void overwrite(const Variable& variable, const Tensor& value);

}  // namespace isochron
