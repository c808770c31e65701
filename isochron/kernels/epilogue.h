// Bias and activation that a pass has put into the node of a product, as its kernels see them.
#pragma once

#include "isochron/kernels/gemm/gemm.h"
#include "isochron/kernels/kernel.h"

namespace isochron {

// Inputs of such a node: two operands, and the bias if there is one. Its second output, if there is one, is the value
// before the activation.
struct Epilogue {
  bool bias = false, pre_activation = false;
  kernels::GemmActivation activation = kernels::GemmActivation::none;
  double alpha = 0;
};

Epilogue epilogue_of(const KernelRequest& request);

}  // namespace isochron
