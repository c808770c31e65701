// Elementwise ops with NumPy broadcasting.
//
//   Tensor y = relu(x * 2 + bias);
//   Tensor z = where(x > 0, x, 0.1 * x);
//
// Operands of different dtypes meet by promotion (bool < uint8 < int32 < int64 < float16/bfloat16 <
// float32 < float64); plain numbers adapt to the tensor. Functions of real numbers turn integers into
// float32. Shapes that do not broadcast throw ShapeError, dtypes an op does not take DTypeError, and whole numbers
// beyond the integers they meet ValueError; comparisons take any number.
#pragma once

#include "isochron/ops/operand.h"

namespace isochron {

Tensor add(const Operand& a, const Operand& b);
Tensor sub(const Operand& a, const Operand& b);
Tensor mul(const Operand& a, const Operand& b);
Tensor div(const Operand& a, const Operand& b);        // true division: integers give float32
Tensor floor_div(const Operand& a, const Operand& b);  // rounds towards minus infinity; of integers by 0 it is 0
Tensor mod(const Operand& a, const Operand& b);        // sign of the divisor, as in NumPy; of integers by 0 it is 0
Tensor pow(const Operand& a, const Operand& b);
Tensor minimum(const Operand& a, const Operand& b);
Tensor maximum(const Operand& a, const Operand& b);

Tensor neg(const Operand& x);
Tensor abs(const Operand& x);
Tensor sign(const Operand& x);
Tensor floor(const Operand& x);
Tensor ceil(const Operand& x);
Tensor round(const Operand& x);  // halves to even
Tensor square(const Operand& x);
Tensor sqrt(const Operand& x);
Tensor rsqrt(const Operand& x);
Tensor reciprocal(const Operand& x);
Tensor exp(const Operand& x);
Tensor log(const Operand& x);
Tensor log1p(const Operand& x);
Tensor expm1(const Operand& x);
Tensor sin(const Operand& x);
Tensor cos(const Operand& x);
Tensor tanh(const Operand& x);
Tensor sigmoid(const Operand& x);
Tensor erf(const Operand& x);
Tensor relu(const Operand& x);
Tensor leaky_relu(const Operand& x, double negative_slope = 0.2);
Tensor elu(const Operand& x, double alpha = 1.0);
Tensor selu(const Operand& x);
Tensor gelu(const Operand& x, bool approximate = false);
Tensor silu(const Operand& x);
Tensor softplus(const Operand& x);
// Integers become float32 between bounds that are not whole; those beyond their range are its ends.
Tensor clip(const Operand& x, double low, double high);

Tensor equal(const Operand& a, const Operand& b);
Tensor not_equal(const Operand& a, const Operand& b);
Tensor less(const Operand& a, const Operand& b);
Tensor less_equal(const Operand& a, const Operand& b);
Tensor greater(const Operand& a, const Operand& b);
Tensor greater_equal(const Operand& a, const Operand& b);
Tensor logical_and(const Operand& a, const Operand& b);
Tensor logical_or(const Operand& a, const Operand& b);
Tensor logical_xor(const Operand& a, const Operand& b);
Tensor logical_not(const Operand& x);
Tensor is_nan(const Operand& x);
Tensor is_inf(const Operand& x);
Tensor is_finite(const Operand& x);

Tensor where(const Operand& condition, const Operand& a, const Operand& b);
Tensor cast(const Operand& x, DType dtype);
// The same value; gradients do not flow through it.
Tensor stop_gradient(const Operand& x);

inline Tensor operator+(const Operand& a, const Operand& b) { return add(a, b); }
inline Tensor operator-(const Operand& a, const Operand& b) { return sub(a, b); }
inline Tensor operator*(const Operand& a, const Operand& b) { return mul(a, b); }
inline Tensor operator/(const Operand& a, const Operand& b) { return div(a, b); }
inline Tensor operator%(const Operand& a, const Operand& b) { return mod(a, b); }
inline Tensor operator-(const Operand& x) { return neg(x); }
inline Tensor operator!(const Operand& x) { return logical_not(x); }
// Element by element, as all of these: `if (same_elements(a, b))` compares tensors as a whole.
inline Tensor operator==(const Operand& a, const Operand& b) { return equal(a, b); }
inline Tensor operator!=(const Operand& a, const Operand& b) { return not_equal(a, b); }
inline Tensor operator<(const Operand& a, const Operand& b) { return less(a, b); }
inline Tensor operator<=(const Operand& a, const Operand& b) { return less_equal(a, b); }
inline Tensor operator>(const Operand& a, const Operand& b) { return greater(a, b); }
inline Tensor operator>=(const Operand& a, const Operand& b) { return greater_equal(a, b); }
// The handle gets the new value; a variable is assigned it, under NoGradGuard also by handles of it that are Tensors.
Tensor& replace_value(Tensor& a, const Tensor& value);
inline Tensor& operator+=(Tensor& a, const Operand& b) { return replace_value(a, add(Operand(a, b.where()), b)); }
inline Tensor& operator-=(Tensor& a, const Operand& b) { return replace_value(a, sub(Operand(a, b.where()), b)); }
inline Tensor& operator*=(Tensor& a, const Operand& b) { return replace_value(a, mul(Operand(a, b.where()), b)); }
inline Tensor& operator/=(Tensor& a, const Operand& b) { return replace_value(a, div(Operand(a, b.where()), b)); }
inline void operator+=(const Variable& a, const Operand& b) { a.assign(add(Operand(a, b.where()), b)); }
inline void operator-=(const Variable& a, const Operand& b) { a.assign(sub(Operand(a, b.where()), b)); }
inline void operator*=(const Variable& a, const Operand& b) { a.assign(mul(Operand(a, b.where()), b)); }
inline void operator/=(const Variable& a, const Operand& b) { a.assign(div(Operand(a, b.where()), b)); }

// The sum of `gradient` over the axes along which `shape` was broadcast: its gradient.
Tensor sum_to(const Tensor& gradient, const Shape& shape);

}  // namespace isochron
