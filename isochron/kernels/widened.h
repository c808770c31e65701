// Ops on 16-bit floats by the kernels of float32: operands are widened into working memory, results rounded on their
// way back. So sums are float32, what is stored is half as large, and the float32 copies live only while the op runs.
#pragma once

#include "isochron/kernels/kernel.h"

namespace isochron {

// The kernel that the node would have in float32, between conversions; null, with the reason, when no operand is a
// 16-bit float or none takes it.
KernelPtr make_widened(const KernelRequest& request, std::string& why_not);

}  // namespace isochron
