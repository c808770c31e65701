#include "isochron/kernels/optimizer/update.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "isochron/kernels/optimizer/update_loops.h"
#include "isochron/kernels/share.h"

namespace isochron::kernels {
namespace {

constexpr int64_t kGrain = 1024;

template <class T>
UpdateConstants<T> constants_for(const UpdateRule& rule, const TensorSlices<T>& tensor, const T* s) {
  const T lr = s[kLr] * tensor.lr_scale;
  UpdateConstants<T> k{};
  k.grad_scale = s[kGradScale];
  k.decay_into_grad = rule.coupled_decay ? tensor.weight_decay : 0;
  k.keep = rule.coupled_decay ? T{1} : 1 - tensor.weight_decay * lr;
  k.beta1 = s[kBeta1];
  k.one_minus_beta1 = s[kOneMinusBeta1];
  k.beta2 = s[kBeta2];
  k.one_minus_beta2 = s[kOneMinusBeta2];
  k.inner_epsilon = rule.pytorch ? 0 : s[kEpsilon];
  k.outer_epsilon = rule.pytorch ? s[kEpsilon] : 0;
  k.state_grad = 1;
  k.state_step = -1;
  k.grad_step = -lr;
  const T root2 = std::sqrt(s[kCorrection2]);  // a / (sqrt(v / c) + e) is sqrt(c) a / (sqrt(v) + sqrt(c) e)
  switch (rule.method) {
    case UpdateMethod::sgd:
      k.state_grad = rule.pytorch ? s[kOneMinusBeta1] : -lr;
      k.state_step = (rule.pytorch ? -lr : 1) * (rule.nesterov ? s[kBeta1] : 1);
      k.grad_step = rule.nesterov || !rule.momentum ? -lr : 0;
      break;
    case UpdateMethod::rmsprop:
      k.state_grad = rule.momentum && rule.pytorch ? 1 : lr;
      k.state_step = rule.momentum && rule.pytorch ? -lr : -1;
      break;
    case UpdateMethod::adam:
      k.outer_epsilon = s[kEpsilon] * (rule.pytorch ? root2 : 1);
      k.state_step = -lr * root2 / s[kCorrection1];
      break;
    case UpdateMethod::adamax:
      std::swap(k.inner_epsilon, k.outer_epsilon);
      k.state_step = -lr / s[kCorrection1];
      break;
    case UpdateMethod::nadam:
      k.outer_epsilon = s[kEpsilon] * root2;
      k.state_step = -lr * root2 * s[kNadamMoment];
      k.grad_step = -lr * root2 * s[kNadamGradient];
      break;
    case UpdateMethod::radam:
      k.outer_epsilon = s[kEpsilon];
      k.state_step = -lr * root2 * s[kRectifier] / s[kCorrection1];
      k.grad_step = s[kRectifier] > 0 ? 0 : -lr / s[kCorrection1];
      break;
    case UpdateMethod::adadelta:
      k.inner_epsilon = s[kEpsilon];
      break;
    case UpdateMethod::adagrad:
    case UpdateMethod::lion:
      break;
  }
  return k;
}

}  // namespace

template <class T>
BlockUpdate<T>::BlockUpdate(const UpdateRule& rule, const TensorSlices<T>& tensor, const T* scalars)
    : tensor_(tensor), update_(update_function<T>(rule)), constants_(constants_for(rule, tensor, scalars)) {}

template <class T>
void BlockUpdate<T>::apply(int64_t offset, int64_t param_ld, int64_t rows, int64_t cols, const T* grad, int64_t grad_ld,
                           const T* row_scale) const {
  const auto at = [offset](T* state) { return state ? state + offset : nullptr; };
  if (cols == param_ld && cols == grad_ld && !row_scale) {
    cols *= rows;
    rows = 1;
  }
  update_(constants_, {.p = tensor_.param + offset,
                       .g = grad,
                       .s0 = at(tensor_.s0),
                       .s1 = at(tensor_.s1),
                       .s2 = at(tensor_.s2),
                       .rows = rows,
                       .cols = cols,
                       .param_ld = param_ld,
                       .grad_ld = grad_ld,
                       .row_scale = row_scale});
}

template <class T>
void update_tensors(const UpdateRule& rule, const TensorSlices<T>* tensors, int64_t count, const T* scalars, int thread,
                    int threads) {
  // A thread keeps to its part of a tensor, the one whose gradient it worked out; small tensors are dealt in turn.
  int next = 0;
  for (int64_t i = 0; i < count; ++i) {
    const TensorSlices<T>& t = tensors[i];
    Share mine = share_of(t.size, kGrain, thread, threads);
    if (t.size < threads * kGrain) {
      mine = next == thread ? Share{0, t.size} : Share{0, 0};
      next = (next + 1) % threads;
    }
    const int64_t size = mine.end - mine.begin;
    if (size > 0) BlockUpdate<T>(rule, t, scalars).apply(mine.begin, size, 1, size, t.grad + mine.begin, size);
  }
}

template <class T>
void update_outer_product(const UpdateRule& rule, const TensorSlices<T>& t, const T* scalars, int64_t rows,
                          int64_t cols, const T* x, const T* dy, int thread, int threads) {
  const Share mine = share_of(rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, cols)), thread, threads);
  if (mine.empty()) return;
  const BlockUpdate<T> update(rule, t, scalars);
  // Rows that hold no block of vectors are formed, some at a time, and updated as one.
  constexpr int64_t kNarrow = 64;
  if (cols >= kNarrow) return update.apply(mine.begin * cols, cols, mine.end - mine.begin, cols, dy, 0, x + mine.begin);
  T formed[16 * kNarrow];
  const int64_t most = static_cast<int64_t>(std::size(formed)) / cols;
  for (int64_t row = mine.begin; row < mine.end; row += most) {
    const int64_t count = std::min(most, mine.end - row);
    for (int64_t r = 0; r < count; ++r)
      for (int64_t c = 0; c < cols; ++c) formed[r * cols + c] = x[row + r] * dy[c];
    update.apply(row * cols, cols, count, cols, formed, cols);
  }
}

#define ISO_INSTANTIATE(T)                                                                                            \
  template class BlockUpdate<T>;                                                                                      \
  template void update_tensors(const UpdateRule&, const TensorSlices<T>*, int64_t, const T*, int, int);               \
  template void update_outer_product(const UpdateRule&, const TensorSlices<T>&, const T*, int64_t, int64_t, const T*, \
                                     const T*, int, int);
ISO_INSTANTIATE(float)
ISO_INSTANTIATE(double)
#undef ISO_INSTANTIATE

}  // namespace isochron::kernels
