// Bias and activation that a pass has put into the node of a product, as its kernels see them.
#pragma once

#include "isochron/kernels/gemm/gemm.h"
#include "isochron/kernels/kernel.h"

namespace isochron {

// Inputs of such a node: two operands, then as there are: the bias, what is added besides, the gate. Its second output,
// if there is one, is the value before the activation, or the sums of the second operand's columns.
struct Epilogue {
  bool bias = false, residual = false, gate = false, pre_activation = false, column_sums = false;
  kernels::GemmActivation activation = kernels::GemmActivation::none;
  double alpha = 0;
};

Epilogue epilogue_of(const KernelRequest& request);

}  // namespace isochron
