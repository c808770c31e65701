// Ops that only passes make.
//   fused            a group of elementwise nodes: `body` says what is done to one element
//   fused_reduce     the same, and the last output is reduced (attributes reduce, begin, end)
//   matmul_epilogue  activation(a b + bias + residual); with pre_activation=true the values before it are a second
//                    output, with column_sums=true the sums of b's columns; residual=true: another input is added;
//                    gate=true: 0 where the last input is not above 0
//   conv_epilogue    the same of a convolution
#pragma once

#include "isochron/ops/op.h"

namespace isochron {

const Op& fused_op();
const Op& fused_reduce_op();
const Op& matmul_epilogue_op();
const Op& conv_epilogue_op();

}  // namespace isochron
