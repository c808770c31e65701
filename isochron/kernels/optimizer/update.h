// Optimizer updates in place: all parameters of a model in one call, or a block whose gradient is at hand.
//
//   const UpdateRule rule{.method = UpdateMethod::adam};
//   float scalars[kUpdateScalars] = {};                        // lr, betas, …: read at call time
//   TensorSlices<float> tensors[] = {{w, dw, m, v, nullptr, 784 * 128}, …};
//   update_tensors(rule, tensors, 4, scalars, thread, threads);   // called by every one of `threads` threads
//
// With g the gradient times kGradScale (plus weight decay times p when rule.coupled_decay), p first multiplied by
// 1 - lr * weight decay when decay is decoupled, and lr times the tensor's lr_scale, the methods are those of Keras 3:
//   sgd       s0 = beta1 s0 - lr g; p += s0           nesterov: p += beta1 s0 - lr g         beta1 0: p -= lr g
//   rmsprop   s0 = beta2 s0 + (1 - beta2) g^2         p -= lr g / sqrt(s0 + epsilon)
//             centered: s0 - s2^2 for s0, s2 = beta2 s2 + (1 - beta2) g; momentum: s1 = beta1 s1 + step, p -= s1
//   adam      s0 += (1 - beta1) (g - s0), s1 += (1 - beta2) (g^2 - s1), amsgrad: s2 = max(s2, s1) for s1
//             p -= lr sqrt(correction2) / correction1 * s0 / (sqrt(s1) + epsilon)
//   adamax    s0 as adam, s1 = max(beta2 s1, |g|)     p -= lr / correction1 * s0 / (s1 + epsilon)
//   nadam     s0, s1 as adam                          p -= lr (nadam_moment s0 + nadam_gradient g)
//                                                          / (sqrt(s1 / correction2) + epsilon)
//   radam     s0, s1 as adam                          p -= lr / correction1 * s0 * (rectifier > 0 ? rectifier
//                                                          sqrt(correction2) / (sqrt(s1) + epsilon) : 1)
//   adagrad   s0 += g^2                               p -= lr g / sqrt(s0 + epsilon)
//   adadelta  s0 = beta2 s0 + (1 - beta2) g^2         d = sqrt(s1 + epsilon) / sqrt(s0 + epsilon) * g, p -= lr d,
//                                                     s1 = beta2 s1 + (1 - beta2) d^2
//   lion      p -= lr sign(beta1 s0 + (1 - beta1) g)  s0 = beta2 s0 + (1 - beta2) g
// rule.pytorch changes them to PyTorch's: sgd s0 = beta1 s0 + one_minus_beta1 g (one_minus_beta1 is 1 - dampening, and
// 1 in the first step), p -= lr s0 or lr (g + beta1 s0); rmsprop and adagrad have sqrt(…) + epsilon; rmsprop's momentum
// is s1 = beta1 s1 + g / (…), p -= lr s1; adam has p -= lr / correction1 * s0 / (sqrt(s1) / sqrt(correction2) +
// epsilon); adamax has s1 = max(beta2 s1, |g| + epsilon).
//
// No synchronisation and no allocation inside; the split depends on sizes and thread count alone. T: float, double.
#pragma once

#include <cstdint>

namespace isochron::kernels {

enum class UpdateMethod : uint8_t { sgd, rmsprop, adam, adamax, nadam, radam, adagrad, adadelta, lion };

struct UpdateRule {
  UpdateMethod method = UpdateMethod::sgd;
  bool momentum = false;  // sgd and rmsprop keep one
  bool nesterov = false;
  bool centered = false;
  bool amsgrad = false;
  bool pytorch = false;
  bool coupled_decay = false;
};

// Indices into the block of scalars. Those a method does not name are not read. The complements are separate because
// 1 - 0.999f is off by 5e-5.
enum UpdateScalar {
  kLr,
  kGradScale,
  kBeta1,  // also the momentum of sgd and rmsprop
  kOneMinusBeta1,
  kBeta2,  // also rho
  kOneMinusBeta2,
  kEpsilon,
  kCorrection1,  // 1 - beta1^t, t = 1 in the first step
  kCorrection2,  // 1 - beta2^t
  kNadamMoment,
  kNadamGradient,
  kRectifier,  // of radam; 0 while the second moments are not trusted
  kUpdateScalars,
};

// A parameter, its gradient and its state; states a rule does not use may be null.
template <class T>
struct TensorSlices {
  T* param;
  const T* grad;
  T* s0;
  T* s1;
  T* s2;
  int64_t size;
  T weight_decay = 0;
  T lr_scale = 1;
};

template <class T>
void update_tensors(const UpdateRule& rule, const TensorSlices<T>* tensors, int64_t count, const T* scalars, int thread,
                    int threads);

// What the loops need, worked out once per tensor so that Keras's and PyTorch's forms share them.
template <class T>
struct UpdateConstants {
  T grad_scale, decay_into_grad;  // g = grad_scale * grad + decay_into_grad * p
  T keep;                         // p * keep is updated
  T beta1, one_minus_beta1, beta2, one_minus_beta2;
  T inner_epsilon, outer_epsilon;  // sqrt(x + inner) + outer
  T state_grad;                    // weight of g in the momentum
  T state_step, grad_step;         // p moves by state_step * state + grad_step * g
};

template <class T>
struct UpdateBlock;

// Updates of blocks of one tensor as their gradients become known; its constants are worked out once. The caller does
// the splitting between threads.
//
//   const BlockUpdate<float> update(rule, tensor, scalars);    // tensor.grad and tensor.size are not read
//   update.apply(row * n + col, n, rows, cols, tile, tile_ld); // a block of a parameter with n elements per row
template <class T>
class BlockUpdate {
 public:
  BlockUpdate(const UpdateRule& rule, const TensorSlices<T>& tensor, const T* scalars);
  // The block starts `offset` elements into the parameter; row_scale, where given, is a factor of each row's gradient.
  void apply(int64_t offset, int64_t param_ld, int64_t rows, int64_t cols, const T* grad, int64_t grad_ld,
             const T* row_scale = nullptr) const;

 private:
  TensorSlices<T> tensor_;
  void (*update_)(const UpdateConstants<T>& constants, const UpdateBlock<T>& block);
  UpdateConstants<T> constants_;
};

// A dense parameter (rows, cols) whose gradient is the outer product x (rows) dy (cols), which is never formed.
template <class T>
void update_outer_product(const UpdateRule& rule, const TensorSlices<T>& tensor, const T* scalars, int64_t rows,
                          int64_t cols, const T* x, const T* dy, int thread, int threads);

}  // namespace isochron::kernels
